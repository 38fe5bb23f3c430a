// Documents as sparse vectors, ranked by their product with the query's: terms are switched, ranks move.
import { Element, define, html } from "./base.js";
import "./score-bar.js";
import { fixed, score } from "../lib/format.js";

class DotRanking extends Element {
  template() {
    const { terms, documents, off } = this;
    const on = terms.filter((term) => !off.has(term.key));
    const before = new Map(rank(documents, terms).map((one, n) => [one.id, n]));
    const now = rank(documents, on);
    const scale = Math.max(...rank(documents, terms).map((one) => one.total), 1e-9);
    return html`<div class="switches" role="group" aria-label="Terms of the query">
        ${terms.map((term) => html`<button class="switch ${term.accent}" title=${term.label} aria-pressed=${!off.has(term.key)} @click=${() => this.#switch(term.key)}>${term.label}</button>`)}
      </div>
      ${this.vectors ? html`<p class="vector">q = [${joined(terms.map((term) => (off.has(term.key) ? "0" : html`<b>1</b>`)))}]</p>` : ""}
      <ol class="ranking" aria-label="Documents by their product with the query">
        ${now.slice(0, this.shown).map((one, n) => this.#row(one, n, before.get(one.id) - n, on, scale))}
      </ol>`;
  }

  #row(one, n, moved, on, scale) {
    const parts = on.filter((term) => one.weights[term.key]).map((term) => ({ label: term.label, value: one.weights[term.key], accent: term.accent, key: term.key }));
    return html`<li data-id=${one.id}><div class="hit-head"><span class="rank">${n + 1}</span><h3>${one.title}</h3>
        ${moved ? html`<span class="change ${moved > 0 ? "up" : "down"}">${moved > 0 ? "▲" : "▼"} ${Math.abs(moved)}</span>` : ""}<output class="score">${score(one.total)}</output></div>
      <zf-score-bar .parts=${parts} .value=${one.total} .scale=${scale}></zf-score-bar>
      ${this.vectors ? html`<p class="vector">[${joined(this.terms.map((term) => (one.weights[term.key] ? html`<b>${fixed(one.weights[term.key], 2)}</b>` : "0")))}]</p>` : ""}
      ${parts.length === 1 ? "" : html`<p class="fine">${parts.length ? `${parts.map((part) => fixed(part.value, 2)).join(" + ")} = ${fixed(one.total, 2)}` : "nothing shared: 0"}</p>`}</li>`;
  }

  #switch(key) {
    const next = new Set(this.off);
    if (!next.delete(key)) next.add(key);
    this.off = next;
  }
}

const joined = (items) => items.flatMap((item, n) => (n ? [", ", item] : [item]));

function rank(documents, on) {
  return documents
    .map((one) => ({ ...one, total: on.reduce((sum, term) => sum + (one.weights[term.key] ?? 0), 0) }))
    .sort((a, b) => b.total - a.total);
}

// terms: [{key, label, accent}]; documents: [{id, title, weights: {key: value}}]; off: keys that are switched off.
define("zf-dot-ranking", DotRanking, { terms: [], documents: [], off: new Set(), shown: 8, vectors: false });
