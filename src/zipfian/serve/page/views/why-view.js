// The reasons of one document: fetched with their places when it is opened; and why it stands above another.
import { Element, define, html } from "../elements/base.js";
import "../elements/state-note.js";
import "../elements/versus-panel.js";
import "../elements/why-panel.js";
import { explain } from "../lib/asking.js";
import * as api from "../lib/api.js";
import { titled } from "../lib/format.js";
import { addressOf } from "../lib/pictures.js";
import { go, settings } from "../lib/router.js";
import { byField } from "../lib/tree.js";

class WhyView extends Element {
  #answer = null;
  #versus = null;
  #document = null;
  #beside = null;
  #problem = null;
  #asked = "";
  #key = "";

  changed() {
    const { state, s, hit } = this;
    if (!state || !s || !hit) return;
    const key = JSON.stringify([state.c, state.q, state.picture, state.like, state.above, s, hit.id]);
    if (key === this.#key) return;
    this.#key = key;
    this.#load(key);
  }

  async #load(key) {
    const { state, s, info, hit } = this;
    const still = () => this.#key === key;
    this.#problem = null;
    try {
      const [answer, document, versus, asked] = await Promise.all([
        state.like ? null : explain(state, s, info, hit.id),
        hit.text_cut || hit.text === undefined ? api.documentOf(state.c, hit.id) : hit,
        state.above && !state.like ? explain(state, s, info, state.above) : null,
        state.picture ? addressOf(state.picture) : state.like ? api.thumbnail(state.c, state.like, 640) : "",
      ]);
      if (still()) [this.#answer, this.#document, this.#versus, this.#asked, this.#beside] = [answer, document, versus, asked, null];
      if (still() && answer) await this.#look(answer.explanation, still);
    } catch (problem) {
      if (still()) this.#problem = problem;
    }
    this.update();
  }

  /** Vectors have no places. Where they alone made a score, the visual words that both pictures share are shown beside it. */
  async #look(tree, still) {
    const visual = this.info.fields.find((field) => field.patches && field.takes === "image");
    if (!visual || !this.hit.picture || !this.state.picture || byField(tree).some((group) => group.field === visual.name)) return;
    this.update();
    const beside = await explain(this.state, settings({ fields: [visual.name], k: this.s.k }), this.info, this.hit.id);
    if (still()) this.#beside = beside;
  }

  template() {
    const { state, hit, info } = this;
    if (this.#problem) return html`<zf-state-note .problem=${this.#problem} @zf-again=${() => this.#load(this.#key)}></zf-state-note>`;
    const tree = this.#answer?.explanation ?? hit.explanation;
    if (!tree) return html`<zf-state-note .waiting=${"Taking the score apart"}></zf-state-note>`;
    return html`<section class="why" aria-label="Why ${hit.id}">
      <zf-why-panel .tree=${tree} .info=${info} .collection=${state.c} .id_=${hit.id} .text=${this.#document?.text ?? hit.text ?? ""} .picture=${hit.picture ?? false}
        .asked=${this.#asked} .adjust=${this.s.adjust} .adjustable=${!state.like} .silent=${Boolean(this.#beside)} .queryPlaces=${this.#answer?.query_places}></zf-why-panel>
      ${this.#beside ? this.#aside() : ""}
      ${state.like ? "" : this.#above()}
    </section>`;
  }

  #aside() {
    return html`<div class="aside"><p class="fine">Vectors say how much, not where. These visual words stand in both pictures; they are not part of the score above.</p>
      <zf-why-panel .tree=${this.#beside.explanation} .queryPlaces=${this.#beside.query_places} .info=${this.info} .collection=${this.state.c} .id_=${this.hit.id} .picture=${true} .asked=${this.#asked} .adjustable=${false}></zf-why-panel></div>`;
  }

  #above() {
    const { hit, hits, state, info } = this;
    const others = hits.filter((one) => one.id !== hit.id);
    if (!others.length) return "";
    return html`<div class="above">
      <label>Compare with <select @change=${(event) => go({ above: event.target.value })}>
        <option value="">…</option>
        ${others.map((one) => html`<option value=${one.id} ?selected=${one.id === state.above}>${one.rank}. ${titled(one.text, 60) || one.id}</option>`)}
      </select></label>
      ${this.#versus ? html`<zf-versus-panel .tree=${this.#answer.explanation} .other=${this.#versus.explanation} .info=${info} .a=${hit.id} .b=${state.above}></zf-versus-panel>` : ""}
    </div>`;
  }
}

define("zf-why-view", WhyView, { state: null, s: null, info: null, hit: null, hits: [] });
