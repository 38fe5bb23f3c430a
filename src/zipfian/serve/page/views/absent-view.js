// Why a document is not among the hits.
import { Element, define, html } from "../elements/base.js";
import "../elements/state-note.js";
import "../elements/why-panel.js";
import * as api from "../lib/api.js";
import { explain } from "../lib/asking.js";
import { accent } from "../lib/fields.js";
import { score, titled } from "../lib/format.js";
import { go } from "../lib/router.js";

class AbsentView extends Element {
  #answer = null;
  #document = null;
  #problem = null;
  #key = "";

  changed() {
    const { state, s } = this;
    if (!state || !s) return;
    const key = state.absent ? JSON.stringify([state.c, state.q, state.picture, state.where, s, state.absent]) : "";
    if (key === this.#key) return;
    this.#key = key;
    this.#answer = this.#problem = null;
    if (key) this.#load(key);
  }

  async #load(key) {
    const { state, s, info } = this;
    try {
      const [answer, document] = await Promise.all([explain(state, s, info, state.absent), api.documentOf(state.c, state.absent)]);
      if (key === this.#key) [this.#answer, this.#document] = [answer, document];
    } catch (problem) {
      if (key === this.#key) this.#problem = problem;
    }
    this.update();
  }

  template() {
    const { state } = this;
    return html`<section class="absent" aria-labelledby="absent-heading">
      <form @submit=${this.#submit}>
        <label id="absent-heading" for="absent">Missing a document?</label>
        <input id="absent" name="id" placeholder="its id" .value=${state.absent} autocomplete="off" />
        <button class="quiet strong">Why is it not here?</button>
      </form>
      ${this.#problem ? html`<zf-state-note .problem=${this.#problem}></zf-state-note>` : ""} ${this.#answer ? this.#reasons() : ""}
    </section>`;
  }

  #reasons() {
    const { rank, missing, explanation, cutoff, lacking } = this.#answer;
    return html`<div class="why" role="status">
      <h3>${titled(this.#document?.text, 100) || this.state.absent}</h3>
      ${rank
        ? html`<p>It is here: hit ${rank}.</p>`
        : html`${this.#missing(missing, lacking)}
            ${cutoff !== null && cutoff !== undefined
              ? html`<p class="equation">It scores <b>${score(explanation.value)}</b>; the last hit has <b>${score(cutoff)}</b>.</p>`
              : ""}`}
      <zf-why-panel .tree=${explanation} .info=${this.info} .collection=${this.state.c} .id_=${this.state.absent} .text=${this.#document?.text ?? ""}
        .picture=${this.#document?.picture ?? false} .adjustable=${false}></zf-why-panel>
    </div>`;
  }

  #missing(missing, lacking = {}) {
    const said = missing.filter((one) => !one.startsWith("it scores") && !Object.keys(lacking).some((field) => one.startsWith(`${field}:`)));
    return html`<ul class="missing">${said.map((one) => html`<li>${one}</li>`)}</ul>
      ${Object.entries(lacking).map(
        ([field, terms]) => html`<p class="lacking ${accent(field, this.info)}"><i class="dot"></i>${field} lacks ${terms.slice(0, 6).map((term, n) => html`${n ? " · " : ""}<b>${term}</b>`)}${terms.length > 6 ? ` and ${terms.length - 6} more` : ""}</p>`,
      )}`;
  }

  #submit(event) {
    event.preventDefault();
    go({ absent: new FormData(event.target).get("id").trim() });
  }
}

define("zf-absent-view", AbsentView, { state: null, s: null, info: null });
