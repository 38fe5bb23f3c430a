// One term: what it is called, how rare it is, where it is strongest, and its neighbours.
import { Element, define, html } from "../elements/base.js";
import "../elements/heat-map.js";
import "../elements/marked-text.js";
import "../elements/state-note.js";
import * as api from "../lib/api.js";
import { about, accent } from "../lib/fields.js";
import { count, fixed, percent, titled } from "../lib/format.js";
import { around } from "../lib/places.js";
import { href } from "../lib/router.js";

class TermView extends Element {
  #answer = null;
  #problem = null;
  #key = "";

  changed() {
    const { state, info } = this;
    if (!state || !info) return;
    const key = JSON.stringify([state.c, state.field, state.term]);
    if (key === this.#key) return;
    this.#key = key;
    this.#answer = this.#problem = null;
    this.#load(key);
  }

  async #load(key) {
    const { c, field, term } = this.state;
    try {
      const answer = await api.term(c, field, term);
      if (key === this.#key) this.#answer = answer;
    } catch (problem) {
      if (key === this.#key) this.#problem = problem;
    }
    this.update();
  }

  template() {
    if (this.#problem) return html`<zf-state-note .problem=${this.#problem} @zf-again=${() => this.#load(this.#key)}></zf-state-note>`;
    if (!this.#answer) return html`<zf-state-note .waiting=${"Looking the term up"}></zf-state-note>`;
    const { term, field, documents, neighbours, n } = this.#answer;
    const own = accent(field, this.info);
    const kind = this.info.fields.find((one) => one.name === field)?.kind;
    return html`<div class="view-head ${own}"><p class="crumb"><a href=${href({ view: "vocabulary", term: "", field })}>Vocabulary</a> / <i class="dot"></i>${field} <small>${about(kind)}</small></p>
        <h1>${term.label}</h1></div>
      <dl class="snapshot">
        <div><dt>documents</dt><dd>${count(term.df)} <small>${n ? `of ${count(n)}, ${percent(term.df / n)}` : ""}</small></dd></div>
        ${term.idf !== null ? html`<div><dt>idf</dt><dd>${fixed(term.idf, 3)}</dd></div>` : ""}
        ${term.kind ? html`<div><dt>kind</dt><dd>${term.kind}</dd></div>` : ""}
        ${String(term.term) !== term.label ? html`<div><dt>number</dt><dd>${term.term}</dd></div>` : ""}
      </dl>
      <div class="term-page ${own}">
        <section><h2>Where it is strongest</h2>
          ${documents.length ? html`<ol class=${documents.every((one) => one.picture) ? "patches" : "examples"}>${documents.map((one) => this.#document(one, own))}</ol>` : html`<p class="fine">No document has it.</p>`}</section>
        ${neighbours.length
          ? html`<section><h2>Neighbours</h2><ol class="terms ${own}">${neighbours.map(
              (one) => html`<li><a href=${href({ view: "term", field, term: String(one.term) })}>${one.label}</a>
                <span class="gauge" aria-hidden="true"><span .style=${`width:${100 * Math.max(0, one.similarity)}%`}></span></span><small>${fixed(one.similarity, 2)}</small></li>`,
            )}</ol></section>`
          : ""}
      </div>`;
  }

  #document({ id, text, start, places, picture, weight }, own) {
    const marks = places.filter((place) => "start" in place && place.mark !== false).map((place) => ({ ...place, start: place.start - start, end: place.end - start, accent: own }));
    const cells = places.filter((place) => "row" in place);
    return html`<li>
      ${picture ? html`<zf-heat-map .src=${api.thumbnail(this.state.c, id, 480)} .alt=${text || id} .patches=${cells} .accent=${own}></zf-heat-map>` : ""}
      <p class="facts"><a href=${href({ view: "search", q: "", picture: "", like: id, field: "", term: "" })}><code>${id}</code></a><span>weight ${fixed(weight, 1)}</span></p>
      ${text && !picture ? this.#passage(text, marks.filter((mark) => mark.start >= 0), start) : text ? html`<p class="fine">${titled(text, 70)}</p>` : ""}
    </li>`;
  }

  #passage(text, marks, start) {
    const seen = around(text, marks.filter((mark) => mark.start < [...text].length));
    return html`<p class="passage">${seen.before || start ? "… " : ""}<zf-marked-text .text=${seen.text} .marks=${marks} .from=${seen.start}></zf-marked-text>${seen.after ? " …" : ""}</p>`;
  }
}

define("zf-term", TermView, { state: null, info: null });
