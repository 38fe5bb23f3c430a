// A slider with its name, its value and what its ends mean.
import { Element, define, html } from "./base.js";

class Dial extends Element {
  template() {
    const { name, value, from, to, step, low, high, digits } = this;
    return html`<label class="dial"><span>${name}<output>${value.toFixed(digits)}</output></span>
      <input type="range" min=${from} max=${to} step=${step} .value=${String(value)} @input=${(event) => this.say("zf-turn", Number(event.target.value))} />
      <small><span>${low}</span><span>${high}</span></small></label>`;
  }
}

define("zf-dial", Dial, { name: "", value: 0, from: 0, to: 1, step: 0.05, low: "", high: "", digits: 2 });
