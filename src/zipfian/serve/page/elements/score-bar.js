// A score as a bar: segments that sum to the number printed beside it. What takes away is hatched over the end.
import { Element, define, html } from "./base.js";
import { score } from "../lib/format.js";

class ScoreBar extends Element {
  template() {
    const parts = this.parts.filter((part) => part.value);
    const up = parts.filter((part) => part.value > 0);
    const gained = up.reduce((sum, part) => sum + part.value, 0);
    const lost = parts.reduce((sum, part) => sum - Math.min(0, part.value), 0);
    const scale = Math.max(this.scale || 0, gained, lost) || 1;
    let at = 0;
    const share = (value) => `${(100 * value) / scale}%`;
    return html`<div class="bar" role="img" aria-label=${this.#told(parts)}>
      ${up.map((part) => {
        const left = at;
        at += part.value;
        return html`<span class="segment ${part.accent} ${part.key && part.key === this.lit ? "lit" : ""}" title="${part.label} ${score(part.value, this.value)}"
          data-key=${part.key ?? ""} @mouseenter=${() => part.key && this.say("zf-light", part.key)} @mouseleave=${() => part.key && this.say("zf-light", "")} .style=${`left:${share(left)};width:${share(part.value)}`}></span>`;
      })}
      ${lost ? html`<span class="lost" title="less ${score(lost, this.value)}" .style=${`left:${share(Math.max(0, gained - lost))};width:${share(lost)}`}></span>` : ""}
    </div>`;
  }

  #told(parts) {
    const total = score(this.value ?? parts.reduce((sum, part) => sum + part.value, 0));
    const most = parts.slice(0, 8).map((part) => `${part.label} ${score(part.value, this.value)}`);
    return `${total} = ${most.join(" + ")}${parts.length > 8 ? ` + ${parts.length - 8} more` : ""}`.replaceAll("+ −", "− ");
  }
}

// parts: [{label, value, accent, key}]; value: their sum, as printed; scale: what a full bar stands for.
define("zf-score-bar", ScoreBar, { parts: [], value: null, scale: 0, lit: "" });
