// The same three on the reader's own collection: k1 and b moved in the live search, query terms switched on and off.
import { Element, define, html } from "../elements/base.js";
import "../elements/dial.js";
import "../elements/dot-ranking.js";
import "../elements/state-note.js";
import { search } from "../lib/asking.js";
import { accent } from "../lib/fields.js";
import { plural, score, seconds, titled } from "../lib/format.js";
import { go, settings } from "../lib/router.js";
import { byField } from "../lib/tree.js";

const DEPTH = 20;

class Own extends Element {
  #base = null;
  #now = null;
  #problem = null;
  #key = "";
  #k1 = null;
  #b = null;
  #timer = 0;
  #asked = 0;

  changed() {
    const { state, info } = this;
    if (!state || !info) return;
    const key = JSON.stringify([state.c, state.q, this.#field?.name]);
    if (key === this.#key) return;
    this.#key = key;
    this.#base = this.#now = this.#problem = null;
    [this.#k1, this.#b] = [this.state.left.k1, this.state.left.b];
    if (state.q && this.#field) this.#load();
  }

  get #fields() {
    return this.info.fields.filter((field) => field.scoring?.kind === "bm25" && field.takes === "text");
  }

  get #field() {
    return this.#fields.find((field) => field.name === this.state.field) ?? this.#fields[0];
  }

  async #load() {
    const asked = ++this.#asked;
    const own = this.#field;
    const ask = (k1, b) => search({ ...this.state, picture: "", like: "" }, settings({ fields: [own.name], k: DEPTH, k1, b }), this.info);
    try {
      const base = this.#base ?? (await ask(null, null));
      const now = this.#k1 === null && this.#b === null ? base : await ask(this.#k1, this.#b);
      if (asked === this.#asked) [this.#base, this.#now, this.#problem] = [base, now, null];
    } catch (problem) {
      if (asked === this.#asked) this.#problem = problem;
    }
    this.update();
  }

  template() {
    return html`<section class="play own" aria-labelledby="own-heading">
      <header><h2 id="own-heading">On ${this.state.c}</h2><p>Your own documents. k1 and b go to the live search; the stored frequencies are scored anew, nothing is indexed again.</p>
        <form class="find" role="search" @submit=${this.#submit}><label for="own-q">Query</label><input id="own-q" name="q" type="search" .value=${this.state.q} placeholder="ask something" autocomplete="off" /></form></header>
      ${this.#content()}
    </section>`;
  }

  #content() {
    const own = this.#field;
    if (!own) return html`<zf-state-note .heading=${"No field here is scored by BM25 from words"} .text=${"Choose a collection of texts above."}></zf-state-note>`;
    if (!this.state.q) return html`<zf-state-note .heading=${"Ask something"} .text=${"Its hits can be moved here."}></zf-state-note>`;
    if (this.#problem) return html`<zf-state-note .problem=${this.#problem} @zf-again=${() => this.#load()}></zf-state-note>`;
    if (!this.#now) return html`<zf-state-note .waiting=${"Searching"}></zf-state-note>`;
    if (!this.#now.hits.length) return html`<zf-state-note .heading=${"Nothing shares a term"} .text=${"Ask in other words."}></zf-state-note>`;
    const moved = this.#now.hits.filter((hit) => this.#before(hit) !== hit.rank).length;
    return html`<div>
        <div class="tabs" role="group" aria-label="Field">${this.#fields.map((field) => html`<button class=${accent(field.name, this.info)} aria-pressed=${field === own} @click=${() => go({ field: field.name }, { replace: true })}><i class="dot"></i>${field.name}</button>`)}</div>
        <zf-dial data-name="own-k1" .name=${"k1"} .value=${this.#k1 ?? own.scoring.k1} .from=${0} .to=${Math.max(10, own.scoring.k1 * 2)} .step=${0.1} .low=${"0, present or not"} .high=${"higher ceiling"} @zf-turn=${(event) => this.#turn({ k1: event.detail })}></zf-dial>
        <zf-dial data-name="own-b" .name=${"b"} .value=${this.#b ?? own.scoring.b} .from=${0} .to=${1} .step=${0.05} .low=${"0, length is ignored"} .high=${"1, in full"} @zf-turn=${(event) => this.#turn({ b: event.detail })}></zf-dial>
        <p class="fine" role="status">${plural(moved, "hit")} moved · ${seconds(this.#now.timings.total)}</p>
        <p><button class="quiet" @click=${() => this.#turn({ k1: null, b: null })}>As it was: k1 ${own.scoring.k1}, b ${own.scoring.b}</button></p>
        <p><button class="quiet strong" @click=${() => go({ view: "search", left: settings({ fields: [own.name], k1: this.#k1, b: this.#b }), why: "" })}>Use these in the search</button></p>
      </div>
      <div>${this.#ranking(own)}</div>`;
  }

  #ranking(own) {
    const terms = new Map();
    const documents = this.#now.hits.map((hit) => {
      const weights = {};
      for (const part of hit.explanation ? byField(hit.explanation).flatMap((group) => group.parts) : []) {
        if (part.kind !== "term") continue;
        const key = String(part.term);
        weights[key] = part.value;
        terms.set(key, { key, label: part.label, accent: accent(own.name, this.info), most: Math.max(part.value, terms.get(key)?.most ?? 0) });
      }
      const before = this.#before(hit);
      const moved = before === null ? "new" : before === hit.rank ? "" : `was ${before}`;
      return { id: hit.id, title: `${titled(hit.text, 90) || hit.id}${moved ? ` (${moved})` : ""}`, weights };
    });
    const sorted = [...terms.values()].sort((a, b) => b.most - a.most).slice(0, 16);
    return html`<p class="fine">Terms of the query, over the best ${documents.length}: switch them.</p>
      <zf-dot-ranking .terms=${sorted} .documents=${documents} .shown=${10}></zf-dot-ranking>`;
  }

  #before(hit) {
    return this.#base.hits.find((one) => one.id === hit.id)?.rank ?? null;
  }

  #turn(patch) {
    if ("k1" in patch) this.#k1 = patch.k1;
    if ("b" in patch) this.#b = patch.b;
    this.update();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      go({ left: settings({ ...this.state.left, k1: this.#k1, b: this.#b }) }, { replace: true });
      this.#load();
    }, 120);
  }

  #submit(event) {
    event.preventDefault();
    go({ q: new FormData(event.target).get("q").trim() });
  }
}

define("zf-play-own", Own, { state: null, info: null });
