// A term and what it gave. Pointing at it lights its places; it links to its page; it can be muted and boosted.
import { Element, define, html, nothing } from "./base.js";
import { name } from "../lib/tree.js";
import { signed } from "../lib/format.js";

class TermChip extends Element {
  template() {
    const { part, factor } = this;
    const isTerm = part.kind === "term";
    const light = (on) => () => this.say("zf-light", on ? this.key : "");
    const state = factor === 0 ? "muted" : factor > 1 ? "boosted" : "";
    return html`<span class="chip ${this.accent} ${state} ${isTerm ? "" : "plain"} ${this.lit ? "lit" : ""}" @mouseenter=${light(true)} @mouseleave=${light(false)}
      @focusin=${light(true)} @focusout=${light(false)}>
      ${isTerm
        ? html`<a class="label" href=${this.href} title=${this.#title()}>${name(part)}</a>`
        : html`<span class="label" tabindex=${part.evidence?.length ? 0 : nothing}>${name(part)}</span>`}
      <span class="value">${factor === 0 ? "muted" : signed(part.value, this.like ?? part.value)}${factor > 1 ? html` <small>×${factor}</small>` : ""}</span>
      ${isTerm && this.adjustable
        ? html`<button class="tiny" aria-pressed=${factor === 0} aria-label="Mute ${name(part)}" title="Mute: search without it"
              @click=${() => this.#adjust(factor === 0 ? 1 : 0)}>${icon.mute}</button
            ><button class="tiny" aria-pressed=${factor > 1} aria-label="Boost ${name(part)}" title="Boost: count it double"
              @click=${() => this.#adjust(factor > 1 ? 1 : 2)}>${icon.boost}</button>`
        : ""}
    </span>`;
  }

  #title() {
    const { tf, df, idf, from } = this.part.details ?? {};
    const facts = [
      from && `from “${from}”`, df !== undefined && `in ${df} documents`,
      idf !== undefined && `idf ${idf.toFixed(2)}`, tf !== undefined && `weight here ${Math.round(100 * tf) / 100}`,
    ];
    return facts.filter(Boolean).join(" · ");
  }

  #adjust(factor) {
    this.say("zf-adjust", { field: this.part.field, term: String(this.part.term), factor });
  }
}

const icon = {
  mute: html`<svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.5" /><path d="M4.5 11.5l7-7" /></svg>`,
  boost: html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M8 13V3.5M4 7.5l4-4 4 4" /></svg>`,
};

define("zf-term-chip", TermChip, { part: { label: "", value: 0 }, key: "", accent: "", href: "#", factor: 1, adjustable: true, lit: false, like: null });
