// One answer: hits with the reasons of the one that is opened, what was chosen, and what is missing.
import { Element, define, html } from "../elements/base.js";
import "../elements/hit-card.js";
import "../elements/state-note.js";
import "./why-view.js";
import { methodName, presetName } from "../lib/fields.js";
import { count, plural, score, seconds } from "../lib/format.js";
import { shares } from "../elements/hit-card.js";

class ResultList extends Element {
  template() {
    const { answer, s } = this;
    if (this.problem) return html`<zf-state-note .problem=${this.problem}></zf-state-note>`;
    if (!answer) return html`<zf-state-note .waiting=${"Searching"}></zf-state-note>`;
    const hits = answer.hits.filter((hit) => s.min === null || hit.score >= s.min);
    const tiles = hits.length > 0 && hits.every((hit) => hit.picture);
    const scale = Math.max(...hits.map((hit) => shares(hit, this.info).reduce((sum, part) => sum + Math.max(0, part.value), 0)), 0);
    return html`${this.#summary(hits)}
      ${hits.length ? "" : this.#none()}
      <ol class=${tiles ? "tiles" : "rows"} aria-label="Hits" aria-busy=${this.stale}>
        ${hits.map((hit) => this.#hit(hit, tiles, scale))}
      </ol>`;
  }

  #hit(hit, tile, scale) {
    const open = this.state.why === hit.id && this.side === (this.state.whySide ?? this.side);
    const { change, moved } = this.#change(hit);
    return html`<li class="hit ${open ? "open" : ""} ${change}" data-id=${hit.id}>
        <zf-hit-card .hit=${hit} .info=${this.info} .collection=${this.state.c} .scale=${scale} .like=${this.answer.hits[0].score} .tile=${tile} .open=${open} .change=${change} .moved=${moved}></zf-hit-card>
        ${open && !tile ? this.#why(hit) : ""}
      </li>
      ${open && tile ? html`<li class="wide">${this.#why(hit)}</li>` : ""}`;
  }

  #why(hit) {
    return html`<zf-why-view .state=${this.state} .s=${this.s} .info=${this.info} .hit=${hit} .hits=${this.answer.hits}></zf-why-view>`;
  }

  #summary(hits) {
    const { answer, s } = this;
    const { method, fields, left_out: left } = answer.settings;
    const names = Array.isArray(fields) ? fields : Object.keys(fields ?? {});
    const below = answer.hits.length - hits.length;
    const margin = hits.length > 1 ? ` · first ahead by ${score(hits[0].score - hits[1].score, hits[0].score)}` : "";
    return html`<p class="summary" role="status">
      <b>${plural(hits.length, "hit")}</b>${below ? ` (${count(below)} below the cut-off)` : ""} in <b>${seconds(answer.timings?.total ?? answer.time)}</b>
      · ${s.preset ? presetName(s.preset) : methodName(method ?? "")}${names.length && names[0] !== method ? ` over ${names.join(", ")}` : ""}${margin}
      ${left?.length ? ` · left out: ${[left].flat().map((one) => one.field ?? one).join(", ")}` : ""}
      ${(answer.notes ?? []).map((note) => html`<span class="remark">${note}</span>`)}</p>`;
  }

  #none() {
    const filtered = Object.values(this.state.where).some((values) => values.length);
    if (this.answer.hits.length) return html`<zf-state-note .heading=${"All hits are below the cut-off"} .text=${"Lower “score at least” to see them."}></zf-state-note>`;
    return html`<zf-state-note .heading=${"Nothing shares a term"}
      .text=${filtered ? "No document that the facets allow has anything of this query. Untick a facet, or ask in other words." : "No document has a word, a meaning or a patch of this query. Ask in other words, or look what the vocabulary has."}></zf-state-note>`;
  }

  /** How a hit moved against the other side. */
  #change(hit) {
    if (!this.other) return { change: "", moved: 0 };
    const there = this.other.hits.find((one) => one.id === hit.id);
    if (!there) return { change: "new", moved: 0 };
    const moved = there.rank - hit.rank;
    return { change: moved > 0 ? "up" : moved < 0 ? "down" : "same", moved: Math.abs(moved) };
  }
}

define("zf-result-list", ResultList, { state: null, s: null, info: null, answer: null, other: null, problem: null, side: "left", stale: false });
