// Three simulations with the numbers of the text they come from, then the same on the reader's own collection.
import { Element, define, html } from "../elements/base.js";
import "./play-length.js";
import "./play-own.js";
import "./play-saturation.js";
import "./play-vector.js";

class Playground extends Element {
  template() {
    return html`<div class="view-head"><h1>Playground</h1><p class="lead">What BM25 does, one number at a time.</p></div>
      <zf-play-saturation></zf-play-saturation><zf-play-length></zf-play-length><zf-play-vector></zf-play-vector>
      <zf-play-own .state=${this.state} .info=${this.info}></zf-play-own>`;
  }
}

define("zf-playground", Playground, { state: null, info: null });
