// The vocabulary: how often terms occur (Zipf's law), the most and least frequent, and a search by label.
import { Element, define, html } from "../elements/base.js";
import "../elements/chart.js";
import "../elements/state-note.js";
import * as api from "../lib/api.js";
import { about, accent } from "../lib/fields.js";
import { count, plural } from "../lib/format.js";
import { go, href } from "../lib/router.js";

const LISTED = 14;
const MOST_OFFSET = 10_000; // of the service

class VocabularyView extends Element {
  #curves = null;
  #lists = null;
  #found = null;
  #problem = null;
  #key = "";
  #asked = 0;

  changed() {
    const { state, info } = this;
    if (!state || !info) return;
    if (state.c !== this.#key) {
      this.#key = state.c;
      this.#curves = this.#lists = this.#problem = null;
      this.#load(state.c);
    }
    this.#look();
  }

  get #fields() {
    return this.info.fields.filter((field) => field.terms);
  }

  get #field() {
    return this.#fields.find((field) => field.name === this.state.field) ?? this.#fields.find((field) => field.labels) ?? this.#fields[0];
  }

  async #load(c) {
    try {
      const names = this.#fields.map((field) => field.name);
      const curves = await Promise.all(names.map((name) => api.vocabulary(c, name)));
      const lists = Object.fromEntries(await Promise.all(curves.map(async (one) => [one.field, await ends(c, one)])));
      if (c === this.#key) [this.#curves, this.#lists] = [curves, lists];
    } catch (problem) {
      if (c === this.#key) this.#problem = problem;
    }
    this.update();
  }

  async #look() {
    const { label, c } = this.state;
    const asked = ++this.#asked;
    if (!label) return (this.#found = null);
    try {
      const answer = await api.terms(c, { label, limit: 40 });
      if (asked === this.#asked) this.#found = answer.fields;
    } catch (problem) {
      if (asked === this.#asked) this.#problem = problem;
    }
    this.update();
  }

  template() {
    return html`<div class="view-head"><h1>Vocabulary</h1><p class="lead">A few terms are everywhere, most are rare: words and learned terms alike.</p></div> ${this.#content()}`;
  }

  #content() {
    if (this.#problem) return html`<zf-state-note .problem=${this.#problem} @zf-again=${() => ((this.#problem = null), this.#load(this.#key))}></zf-state-note>`;
    if (!this.#fields.length) return html`<zf-state-note .heading=${"No field with terms"} .text=${"This collection holds vectors only."}></zf-state-note>`;
    return html`<form class="find" role="search" @submit=${this.#submit}><label for="label">Find a term</label>
        <input id="label" name="label" type="search" placeholder="part of its label" .value=${this.state.label} autocomplete="off" @input=${(event) => this.#type(event.target.value)} /></form>
      ${this.state.label ? this.#matches() : ""} ${this.#curves ? html`${this.#zipf()} ${this.#ends()}` : html`<zf-state-note .waiting=${"Counting"}></zf-state-note>`}`;
  }

  #zipf() {
    const most = Math.max(...this.#curves.map((one) => one.curve[0]?.df ?? 1), 2);
    const longest = Math.max(...this.#curves.map((one) => one.terms), 2);
    const series = this.#curves.map((one) => ({ points: one.curve.map((point) => [point.rank, point.df]), accent: accent(one.field, this.info) }));
    const told = this.#curves.map((one) => `${one.field}: ${count(one.terms)} terms, the most frequent in ${count(one.curve[0]?.df ?? 0)} documents`).join("; ");
    return html`<figure class="zipf"><figcaption>Documents that have a term, by the term’s rank <small>both axes logarithmic</small></figcaption>
      <p class="key">${this.#curves.map((one) => html`<span class=${accent(one.field, this.info)}><i class="dot"></i>${one.field} <small>${count(one.terms)} terms</small></span>`)}</p>
      <zf-chart .height=${340} .series=${series} .x=${{ from: 1, to: longest, log: true, name: "rank of the term" }} .y=${{ from: 1, to: most * 1.2, log: true, name: "documents" }} .told=${told}></zf-chart></figure>`;
  }

  #ends() {
    const own = this.#field;
    const info = this.#curves.find((one) => one.field === own.name);
    const kinds = Object.entries(info.kinds ?? {}).sort((a, b) => b[1] - a[1]);
    const { head, tail } = this.#lists[own.name];
    return html`<div class="tabs" role="group" aria-label="Field">
        ${this.#fields.map((field) => html`<button class="${accent(field.name, this.info)}" aria-pressed=${field === own} @click=${() => go({ field: field.name }, { replace: true })}><i class="dot"></i>${field.name}</button>`)}
        <small>${about(own.kind)}</small></div>
      ${kinds.length ? html`<p class="kinds">${kinds.map(([kind, n]) => html`<span><b>${count(n)}</b> ${kind}</span>`)}</p>` : ""}
      <div class="ends">${this.#list("Head: the most frequent", head, own.name)} ${this.#list("Tail: the rarest", tail, own.name)}</div>`;
  }

  #list(heading, terms, field) {
    const most = Math.log(this.info.documents + 1);
    return html`<section><h2>${heading}</h2><ol class="terms ${accent(field, this.info)}">${terms.map((term) => this.#term(term, field, most))}</ol></section>`;
  }

  #term(term, field, most) {
    return html`<li><a href=${href({ view: "term", field, term: String(term.term) })}>${term.label}</a>
      <span class="gauge" aria-hidden="true"><span .style=${`width:${(100 * Math.log(term.df + 1)) / most}%`}></span></span><small>${plural(term.df, "document")}</small></li>`;
  }

  #matches() {
    if (!this.#found) return html`<zf-state-note .waiting=${"Looking"}></zf-state-note>`;
    const found = this.#found.filter((one) => one.terms.length);
    if (!found.length) return html`<zf-state-note .heading=${"No term is called that"} .text=${"Labels are English words, most of them in lower case. Try a shorter part."}></zf-state-note>`;
    return html`<div class="ends found" role="status">${found.map((one) => this.#list(`${one.field}: ${plural(one.found, "match", "matches")}`, one.terms.slice(0, 20), one.field))}</div>`;
  }

  #submit(event) {
    event.preventDefault();
    go({ label: new FormData(event.target).get("label").trim() });
  }

  #type(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => go({ label: text.trim() }, { replace: true }), 250);
  }
}

async function ends(c, { field, terms }) {
  const from = Math.min(Math.max(0, terms - LISTED), MOST_OFFSET);
  const [head, tail] = await Promise.all([api.terms(c, { field, limit: LISTED }), api.terms(c, { field, limit: LISTED, offset: from })]);
  return { head: head.fields[0]?.terms ?? [], tail: (tail.fields[0]?.terms ?? []).toReversed() };
}

define("zf-vocabulary", VocabularyView, { state: null, info: null });
