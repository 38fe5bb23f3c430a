// Simulation 2: what the length of a document does.
import { Element, define, html } from "../elements/base.js";
import "../elements/chart.js";
import "../elements/dial.js";
import { penalty } from "../lib/bm25.js";

const MEAN = 600;

class Length extends Element {
  #length = 1200;
  #b = 0.75;

  template() {
    const [length, b] = [this.#length, this.#b];
    const ratio = length / MEAN;
    const factor = penalty(b, ratio);
    const xs = [100, 600, 1200, 1800, 2400, 3000];
    const series = [
      { points: xs.map((x) => [x, 1]), accent: "f-other", dashed: true },
      { points: xs.map((x) => [x, penalty(b, x / MEAN)]), accent: "f-latent" },
      { points: [[length, factor]], kind: "spot", accent: "f-latent" },
    ];
    const word = ratio > 1 ? "longer than" : ratio < 1 ? "shorter than" : "as long as";
    return html`<section class="play">
      <header><h2>Long documents say more by chance</h2><p>The length of a document, against the mean, enters the denominator. b says how much: 0 not at all, 1 in full.</p>
        <p class="formula">1 − b + b · |D| / mean</p></header>
      <div>
        <zf-dial data-name="length" .name=${"Length |D|"} .value=${length} .from=${100} .to=${3000} .step=${50} .digits=${0} .low=${"100 words"} .high=${"3,000 words"} @zf-turn=${(event) => this.#turn({ length: event.detail })}></zf-dial>
        <zf-dial data-name="b" .name=${"b"} .value=${b} .from=${0} .to=${1} .step=${0.05} .low=${"0, length is ignored"} .high=${"1, in full"} @zf-turn=${(event) => this.#turn({ b: event.detail })}></zf-dial>
        <dl class="readings">
          <div><dt>Mean length</dt><dd>${MEAN}</dd></div>
          <div><dt>Ratio |D| / mean</dt><dd>${ratio.toFixed(2)} ×</dd></div>
          <div><dt>Denominator</dt><dd data-reading="denominator">${factor.toFixed(2)}</dd></div>
        </dl>
      </div>
      <div><zf-chart .height=${300} .series=${series} .lines=${[{ x: MEAN, name: "mean 600" }]} .x=${{ from: 0, to: 3000, name: "words in the document" }} .y=${{ from: 0, to: 5, name: "" }}
        .told=${`A document of ${length} words, ${ratio.toFixed(2)} times the mean, with b ${b.toFixed(2)}: its frequencies are divided as if by ${factor.toFixed(2)}`}></zf-chart>
        <p class="insight">This document is ${word} the mean. ${Math.abs(factor - 1) < 0.005 ? "Its words count as they are." : factor > 1 ? html`It needs <b>${factor.toFixed(2)} times</b> the occurrences for the same share of the ceiling.` : html`<b>${factor.toFixed(2)} times</b> the occurrences are enough for the same share of the ceiling.`}</p></div>
    </section>`;
  }

  #turn({ length = this.#length, b = this.#b }) {
    [this.#length, this.#b] = [length, b];
    this.update();
  }
}

define("zf-play-length", Length);
