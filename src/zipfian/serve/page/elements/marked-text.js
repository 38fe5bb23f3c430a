// A text with what matched marked, each mark in its field's accent; the lit term stands out.
import { Element, define, html } from "./base.js";
import { runs } from "../lib/places.js";

class MarkedText extends Element {
  template() {
    return html`${runs(this.text ?? "", this.marks, this.from).map((run) => this.#run(run))}`;
  }

  #run({ text, marks }) {
    if (!marks.length) return text;
    const lit = marks.find((mark) => mark.key === this.lit && this.lit);
    const shown = lit ?? marks[0];
    return html`<mark class="${shown.accent ?? ""} ${lit ? "lit" : this.lit ? "dim" : ""}">${text}</mark>`;
  }
}

// marks: [{start, end, key, accent}], offsets of the whole text; from: where this passage begins in it.
define("zf-marked-text", MarkedText, { text: "", marks: [], from: 0, lit: "" });
