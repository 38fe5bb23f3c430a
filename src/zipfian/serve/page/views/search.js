// Searching: the box, the settings, facets, and one answer or two side by side.
import { Element, define, html } from "../elements/base.js";
import "../elements/facet-list.js";
import "../elements/search-box.js";
import "../elements/search-settings.js";
import "../elements/state-note.js";
import "./absent-view.js";
import "./result-list.js";
import * as api from "../lib/api.js";
import { asks, search, whereOf } from "../lib/asking.js";
import { go, settings } from "../lib/router.js";
import { byField } from "../lib/tree.js";
import { welcome } from "./welcome.js";

const SIDES = ["left", "right"];

class SearchView extends Element {
  #answers = { left: null, right: null };
  #problems = { left: null, right: null };
  #keys = { left: "", right: "" };
  #facets = {};
  #facetKey = "";
  #stale = { left: false, right: false };
  #labels = {};

  connectedCallback() {
    super.connectedCallback();
    const on = (name, work) => this.addEventListener(name, (event) => work(event.detail, event));
    on("zf-ask", (patch) => go({ like: "", why: "", above: "", absent: "", ...patch }));
    on("zf-like", (id) => go({ like: id, q: "", picture: "", why: "", above: "", absent: "" }));
    on("zf-why", (id) => go({ why: this.state.why === id ? "" : id, above: "" }));
    on("zf-where", (where) => go({ where, why: "", above: "" }));
    on("zf-settings", (patch, event) => this.#settings(event, (s) => ({ ...s, ...patch })));
    on("zf-adjust", (one, event) => this.#settings(event, (s) => ({ ...s, adjust: adjusted(s.adjust, one) })));
    on("zf-again", () => this.#look(true));
  }

  #settings(event, change) {
    const side = event.target.closest("[data-side]")?.dataset.side ?? "left";
    go({ [side]: change(this.state[side]) });
  }

  changed() {
    if (this.state && this.info) this.#look();
  }

  #look(again = false) {
    for (const side of SIDES) {
      const s = this.state[side];
      const { c, q, picture, like, where } = this.state;
      const key = s && asks(this.state) ? JSON.stringify([c, q, picture, like, where, { ...s, min: null }]) : "";
      if (key === this.#keys[side] && !again) continue;
      this.#keys[side] = key;
      if (key) this.#search(side, key);
      else this.#answers[side] = this.#problems[side] = null;
    }
    this.#countFacets();
  }

  async #search(side, key) {
    this.#problems[side] = null;
    this.#stale[side] = true;
    this.update();
    const current = () => this.#keys[side] === key;
    try {
      const answer = await search(this.state, this.state[side], this.info);
      if (current()) this.#answers[side] = answer;
      for (const hit of answer.hits) if (hit.explanation) this.#learn(hit.explanation);
    } catch (problem) {
      if (current()) this.#problems[side] = problem;
    }
    if (current()) this.#stale[side] = false;
    this.update();
  }

  /** Labels of terms, so that a muted one still has its name. */
  #learn(tree) {
    for (const { parts } of byField(tree)) for (const part of parts) if (part.kind === "term") this.#labels[`${part.field}:${part.term}`] = part.label;
  }

  async #countFacets() {
    const { c, where } = this.state;
    const key = JSON.stringify([c, where]);
    if (key === this.#facetKey) return;
    this.#facetKey = key;
    const columns = Object.keys(this.info.columns);
    if (!columns.length) return (this.#facets = {});
    try {
      // A column counts under the filters of the others, so that a second value of it can be ticked.
      const chosen = columns.filter((column) => where[column]?.length);
      const free = columns.filter((column) => !where[column]?.length);
      const asked = [[free, whereOf(where)], ...chosen.map((column) => [[column], whereOf(where, column)])].filter(([names]) => names.length);
      const counted = await Promise.all(asked.map(([names, filter]) => api.facets(c, { columns: names, where: filter, limit: 50 })));
      const facets = Object.assign({}, ...counted.map((one) => one.facets));
      // In the collection's order, whatever is ticked: a column that moved would put other boxes under the pointer.
      if (this.#facetKey === key) this.#facets = Object.fromEntries(columns.filter((column) => facets[column]).map((column) => [column, facets[column]]));
    } catch {
      this.#facets = {}; // the hits are there without them
    }
    this.update();
  }

  template() {
    const { state, info } = this;
    const asked = asks(state);
    const takes = info.fields.some((field) => field.takes === "image") || info.pictures;
    return html`<div class="ask ${asked ? "" : "first"}">
        ${asked ? html`<h1 class="hidden">Hits for ${state.q || state.like || "a picture"}</h1>` : html`<h1>Search, and see <em>why</em>.</h1>`}
        <zf-search-box .q=${state.q} .picture=${state.picture} .collection=${state.c} .takesPictures=${takes}></zf-search-box>
        ${state.like ? html`<p class="like">Like <b>${state.like}</b> <button class="quiet" @click=${() => go({ like: "" })}>Clear</button></p>` : ""}
        <div class="panels ${state.right ? "two" : ""}">
          ${SIDES.filter((side) => state[side]).map(
            (side) => html`<zf-search-settings data-side=${side} .s=${state[side]} .info=${info} .prefix=${`${side}-`} .labels=${this.#labels}
              .heading=${state.right ? (side === "left" ? "A" : "B") : ""}></zf-search-settings>`,
          )}
          <button class="quiet" aria-pressed=${Boolean(state.right)} @click=${() => go({ right: state.right ? null : this.#contrast() })}>${state.right ? "One setting" : "Side by side"}</button>
        </div>
      </div>
      ${asked ? this.#results() : welcome(info)}`;
  }

  /** A second setting that differs from the first, so that there is something to see. */
  #contrast() {
    const { left } = this.state;
    const words = this.info.fields.find((field) => field.kind === "words") ?? this.info.fields[0];
    return settings({ k: left.k, method: left.method === words.name ? "" : words.name });
  }

  #results() {
    const { state, info } = this;
    const both = state.right && this.#answers.left && this.#answers.right;
    const faceted = Object.keys(this.#facets).length > 0 && !state.like;
    return html`<div class="results ${state.right ? "two" : ""} ${faceted ? "faceted" : ""}">
      ${faceted ? html`<aside aria-label="Facets"><zf-facet-list .facets=${this.#facets} .where=${state.where}></zf-facet-list></aside>` : ""}
      ${SIDES.filter((side) => state[side]).map(
        (side) => html`<section class="side" data-side=${side} aria-label=${state.right ? `Hits of setting ${side === "left" ? "A" : "B"}` : "Hits"}>
          <zf-result-list .state=${state} .s=${state[side]} .info=${info} .side=${side} .answer=${this.#answers[side]} .problem=${this.#problems[side]}
            .other=${both ? this.#answers[side === "left" ? "right" : "left"] : null} .stale=${this.#stale[side]}></zf-result-list>
          ${side === "left" && !state.right && !state.like ? html`<zf-absent-view .state=${state} .s=${state.left} .info=${info}></zf-absent-view>` : ""}
        </section>`,
      )}
    </div>`;
  }
}

function adjusted(adjust, { field, term, factor }) {
  const terms = { ...adjust[field], [term]: factor };
  if (factor === 1) delete terms[term];
  const next = { ...adjust, [field]: terms };
  if (!Object.keys(terms).length) delete next[field];
  return next;
}

define("zf-search", SearchView, { state: null, info: null });
