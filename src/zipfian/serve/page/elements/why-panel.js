// Why a document has its score: by field, then by term, with the places in its text or picture.
import { Element, define, html } from "./base.js";
import "./heat-map.js";
import "./marked-text.js";
import "./score-bar.js";
import "./term-chip.js";
import { thumbnail } from "../lib/api.js";
import { about, accent } from "../lib/fields.js";
import { score } from "../lib/format.js";
import { asked, inText, patches } from "../lib/places.js";
import { href } from "../lib/router.js";
import { byField, keyOf, name, sharesNothing, speaks } from "../lib/tree.js";

const CHIPS = 12;

class WhyPanel extends Element {
  #all = new Set();

  connectedCallback() {
    super.connectedCallback();
    this.addEventListener("zf-light", (event) => (this.lit = event.detail));
  }

  /** The first place of the term that is pointed at comes into view, within the text's own frame. */
  drawn() {
    const frame = this.lit && this.querySelector(".document");
    if (!frame) return;
    queueMicrotask(() => {
      const mark = frame.querySelector("mark.lit");
      if (!mark) return;
      const [at, seen] = [mark.getBoundingClientRect(), frame.getBoundingClientRect()];
      if (at.top < seen.top || at.bottom > seen.bottom) frame.scrollTop += at.top - seen.top - frame.clientHeight / 3;
    });
  }

  template() {
    const tree = this.tree;
    if (sharesNothing(tree)) return html`<p class="nothing">Nothing shares a term: no word, no meaning and no patch of this document is in the query.</p>`;
    const groups = byField(tree);
    const parts = groups.flatMap((group) => group.parts.map((part) => ({ ...part, accent: accent(group.field, this.info) })));
    return html`${groups.length > 1 ? this.#total(groups) : ""} ${this.picture && !this.silent ? this.#pictures(parts) : ""}
      ${groups.map((group) => this.#field(group, groups.length))} ${this.text ? this.#text(parts) : ""}`;
  }

  #total(groups) {
    const parts = groups.map((one) => ({ label: one.field || "other", value: one.value, accent: accent(one.field, this.info) }));
    return html`<p class="equation"><b>${score(this.tree.value)}</b> =
      ${parts.map((part, n) => html`${n ? (part.value < 0 ? " " : " + ") : ""}<span><i class="dot ${part.accent}"></i>${part.label} ${score(part.value, this.tree.value)}</span>`)}</p>`;
  }

  #field(group, many) {
    const own = accent(group.field, this.info);
    const parts = group.parts.filter(speaks);
    const shown = this.#all.has(group.field) ? parts : parts.slice(0, CHIPS);
    const kind = this.info.fields.find((one) => one.name === group.field);
    const { length, mean_length: mean, rank } = group.node?.details ?? {};
    return html`<section class="why-field ${own}">
      <h3><i class="dot"></i>${group.field || "other"} <small>${about(kind?.kind)}</small><output>${score(group.value, this.tree.value)}</output></h3>
      <zf-score-bar .parts=${parts.map((part) => ({ label: name(part), value: part.value, accent: own, key: keyOf(part) }))} .value=${group.value} .scale=${many > 1 ? this.#scale() : 0} .lit=${this.lit}></zf-score-bar>
      <ul class="chips">
        ${shown.map((part) => html`<li>${this.#chip(part, own, kind)}</li>`)}
        ${parts.length > shown.length
          ? html`<li><button class="quiet" @click=${() => (this.#all.add(group.field), this.update())}>${parts.length - shown.length} more,
              ${score(parts.slice(shown.length).reduce((sum, part) => sum + part.value, 0), this.tree.value)} together</button></li>`
          : ""}
      </ul>
      ${length !== undefined && mean
        ? html`<p class="fine">${rank ? `${ordinal(rank)} of this field · ` : ""}length ${Math.round(length)}, ${(length / mean).toFixed(2)} × the mean</p>`
        : ""}
    </section>`;
  }

  /** Fields of one hit share a scale, so that their bars can be compared. */
  #scale() {
    return Math.max(...byField(this.tree).map((one) => one.parts.reduce((sum, part) => sum + Math.max(0, part.value), 0)));
  }

  #chip(part, own, kind) {
    return html`<zf-term-chip .part=${part} .key=${keyOf(part)} .like=${this.tree.value} .accent=${own} .lit=${this.lit === keyOf(part)} .adjustable=${Boolean(kind?.terms) && this.adjustable}
      .factor=${this.adjust[part.field]?.[String(part.term)] ?? 1}
      .href=${part.kind === "term" ? href({ view: "term", field: part.field, term: String(part.term) }) : "#"}></zf-term-chip>`;
  }

  #strong(part) {
    const places = inText(part);
    if (keyOf(part) === this.lit) return places;
    const most = Math.max(...places.map((place) => place.strength ?? 0));
    const weak = Math.abs(part.value) < 0.1 * Math.abs(this.tree.value);
    return places.filter((place) => place.strength === undefined || (!weak && place.strength >= FAINT * most));
  }

  #pictures(parts) {
    const seen = parts.filter((part) => patches(part).length);
    const lit = parts.find((part) => keyOf(part) === this.lit);
    return html`<div class="pair">
      ${this.asked ? html`<zf-heat-map .src=${this.asked} .patches=${lit ? asked(lit, this.queryPlaces) : []} .alt=${"Picture asked with"} .caption=${"asked with"}></zf-heat-map>` : ""}
      <zf-heat-map .src=${thumbnail(this.collection, this.id_, 640)} .patches=${lit ? patches(lit) : []} .alt=${this.text || this.id_}
        .caption=${seen.length ? (lit ? name(lit) : "point at a term to see its patches") : ""}></zf-heat-map>
    </div>`;
  }

  #text(parts) {
    const found = parts.filter((part) => inText(part).length);
    if (!found.length) return "";
    const marks = found.flatMap((part) => this.#strong(part).map((place) => ({ ...place, key: keyOf(part), accent: part.accent })));
    return html`<div class="document" tabindex="0" role="region" aria-label="Text"><zf-marked-text .text=${this.text} .marks=${marks} .lit=${this.lit}></zf-marked-text></div>`;
  }
}

/** A learned term answers faintly to much: of what is not pointed at, only the strong places are marked. */
const FAINT = 0.6;

const ordinal = (n) => (n === 1 ? "best" : `${n}${["th", "st", "nd", "rd"][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? "th"}`);

define("zf-why-panel", WhyPanel, {
  tree: null, info: null, collection: "", id_: "", text: "", picture: false, asked: "", adjust: {}, adjustable: true, lit: "", silent: false, queryPlaces: null,
});
