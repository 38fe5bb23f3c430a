// A hit: its score as a bar, what it is, where it matched. A text is a row, a picture a tile.
import { Element, define, html } from "./base.js";
import "./heat-map.js";
import "./marked-text.js";
import "./score-bar.js";
import { thumbnail } from "../lib/api.js";
import { accent } from "../lib/fields.js";
import { plain, score, titled } from "../lib/format.js";

/** What each field gave, largest first. */
export function shares(hit, info) {
  return Object.entries(hit.fields ?? {})
    .filter(([, field]) => field.share)
    .map(([name, field]) => ({ label: name, value: field.share, accent: accent(name, info) }))
    .sort((a, b) => b.value - a.value);
}

class HitCard extends Element {
  template() {
    return this.tile ? this.#tile() : this.#row();
  }

  #row() {
    const { hit } = this;
    return html`<div class="hit-head">
        <span class="rank">${hit.rank}</span>
        <h2>${titled(hit.text) || hit.id}</h2>
        ${this.#change()}
        <output class="score">${score(hit.score, this.like ?? hit.score)}</output>
      </div>
      ${this.#bar()}
      <div class="hit-body">
        ${hit.picture ? this.#picture(160) : ""}
        <p class="passage">${this.#passage()}</p>
      </div>
      <div class="hit-foot">${this.#facts()}<span class="spring"></span>${this.#actions()}</div>`;
  }

  #tile() {
    const { hit } = this;
    return html`<button class="tile-picture" @click=${() => this.say("zf-why", hit.id)} aria-label="Why ${hit.id} is here">${this.#picture(480)}</button>
      <div class="hit-head">
        <span class="rank">${hit.rank}</span>
        <h2 title=${hit.id}>${titled(hit.text, 60) || hit.id.split("/").at(-1)}</h2>
        ${this.#change()}
        <output class="score">${score(hit.score, this.like ?? hit.score)}</output>
      </div>
      ${this.#bar()}
      <div class="hit-foot">${this.#actions()}</div>`;
  }

  #bar() {
    const parts = shares(this.hit, this.info);
    return html`<zf-score-bar .parts=${parts} .value=${this.hit.score} .scale=${this.scale}></zf-score-bar>
      <p class="sum" aria-hidden="true">
        ${parts.map((part, n) => html`<span>${n && part.value >= 0 ? "+ " : ""}<i class="dot ${part.accent}"></i>${part.label} <b>${score(part.value, this.like ?? this.hit.score)}</b></span>`)}
      </p>`;
  }

  #picture(side) {
    return html`<zf-heat-map .src=${thumbnail(this.collection, this.hit.id, side)} .alt=${this.hit.text || this.hit.id}></zf-heat-map>`;
  }

  #passage() {
    const [snippet] = this.hit.snippets ?? [];
    if (!snippet) return titled((this.hit.text ?? "").trimStart().split("\n").slice(1).join(" "), 240);
    const marks = snippet.marks.map(([start, end]) => ({ start, end }));
    return html`${snippet.more_before ? "… " : ""}<zf-marked-text .text=${snippet.text} .marks=${marks} .from=${snippet.start}></zf-marked-text>${snippet.more_after ? " …" : ""}`;
  }

  #facts() {
    const shown = Object.entries(this.hit.metadata ?? {}).slice(0, 4);
    return html`<span class="facts"><span title="how likely it is a right answer">${Math.round(100 * this.hit.confidence)} % sure</span><code>${this.hit.id}</code>${shown.map(([name, value]) => html`<span title=${name}>${plain(value)}</span>`)}</span>`;
  }

  #actions() {
    return html`${this.hit.exact_match ? html`<span class="exact">exact match</span>` : ""}
      <button class="quiet" @click=${() => this.say("zf-like", this.hit.id)}>More like this</button>
      <button class="quiet strong" aria-expanded=${this.open} @click=${() => this.say("zf-why", this.hit.id)}>Why${this.open ? " ▴" : " ▾"}</button>`;
  }

  #change() {
    if (!this.change) return "";
    const [name, words] = { new: ["new", "only here"], up: ["up", `▲ ${this.moved}`], down: ["down", `▼ ${this.moved}`] }[this.change] ?? ["same", "="];
    return html`<span class="change ${name}" title="compared with the other side">${words}</span>`;
  }
}

define("zf-hit-card", HitCard, { hit: {}, info: null, collection: "", scale: 0, tile: false, open: false, change: "", moved: 0, like: null });
