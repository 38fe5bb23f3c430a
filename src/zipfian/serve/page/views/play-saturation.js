// Simulation 1: a frequency that counts for less and less, against one that counts without end.
import { Element, define, html } from "../elements/base.js";
import "../elements/chart.js";
import "../elements/dial.js";
import { saturated } from "../lib/bm25.js";

const MOST = 25;

class Saturation extends Element {
  #k1 = 1.5;
  #tf = 5;
  #wide = false;

  template() {
    const [k1, tf] = [this.#k1, this.#tf];
    const ceiling = k1 + 1;
    const value = saturated(tf, k1);
    const xs = Array.from({ length: 2 * MOST + 1 }, (_, n) => n / 2);
    const top = Math.max(6, ceiling * 1.35);
    const series = [
      { points: xs.filter((x) => x <= top).map((x) => [x, x]), accent: "f-other", dashed: true },
      { points: xs.map((x) => [x, saturated(x, k1)]), accent: "f-words" },
      { points: [[tf, value]], kind: "spot", accent: "f-words" },
    ];
    return html`<section class="play">
      <header><h2>A word ten times is not ten times the word</h2><p>Linear counting rewards repetition without end. BM25 saturates: each further occurrence adds less, up to k1 + 1.</p>
        <p class="formula">tf · (k1 + 1) / (tf + k1)</p></header>
      <div>
        <zf-dial data-name="tf" .name=${"Occurrences, tf"} .value=${tf} .from=${1} .to=${MOST} .step=${1} .digits=${0} .low=${"1"} .high=${String(MOST)} @zf-turn=${(event) => this.#turn({ tf: event.detail })}></zf-dial>
        <zf-dial data-name="k1" .name=${"k1"} .value=${k1} .from=${this.#wide ? 0 : 0.5} .to=${this.#wide ? 20 : 3} .step=${0.1} .low=${this.#wide ? "0" : "0.5, tight"} .high=${this.#wide ? "20" : "3.0, high ceiling"}
          @zf-turn=${(event) => this.#turn({ k1: event.detail })}></zf-dial>
        <button class="quiet" aria-pressed=${this.#wide} @click=${() => ((this.#wide = !this.#wide), this.#turn({ k1: this.#wide ? k1 : Math.min(3, Math.max(0.5, k1)) }))}>${this.#wide ? "0.5 to 3" : "Wider range"}</button>
        <dl class="readings">
          <div><dt>Linear</dt><dd>${tf.toFixed(2)}</dd></div>
          <div><dt>Saturated</dt><dd data-reading="saturated">${value.toFixed(2)}</dd></div>
          <div><dt>Ceiling, k1 + 1</dt><dd>${ceiling.toFixed(2)}</dd></div>
        </dl>
      </div>
      <div><zf-chart .height=${300} .series=${series} .lines=${[{ y: ceiling, name: `ceiling ${ceiling.toFixed(2)}` }]} .x=${{ from: 0, to: MOST, name: "occurrences" }} .y=${{ from: 0, to: top, name: "" }}
        .told=${`With k1 ${k1.toFixed(2)}, ${tf} occurrences count ${value.toFixed(2)} instead of ${tf}; the ceiling is ${ceiling.toFixed(2)}`}></zf-chart>
        <p class="insight">${tf} occurrences count <b>${value.toFixed(2)}</b>, ${Math.round((100 * value) / ceiling)} % of the most that any number of them can.</p></div>
    </section>`;
  }

  #turn({ k1 = this.#k1, tf = this.#tf }) {
    [this.#k1, this.#tf] = [k1, tf];
    this.update();
  }
}

define("zf-play-saturation", Saturation);
