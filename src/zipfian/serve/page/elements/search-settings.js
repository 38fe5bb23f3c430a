// How to search: method or preset, fields and weights, how many hits, and the cut-off.
import { Element, define, html } from "./base.js";
import { about, accent, methodName, presetName } from "../lib/fields.js";

const COUNTS = [5, 10, 20, 50, 100];

class SearchSettings extends Element {
  template() {
    const { s, info } = this;
    const id = (name) => `${this.prefix}${name}`;
    const counts = COUNTS.includes(s.k) ? COUNTS : [...COUNTS, s.k].sort((a, b) => a - b);
    return html`<div class="settings" role="group" aria-label=${this.heading || "Settings"}>
      ${this.heading ? html`<strong>${this.heading}</strong>` : ""}
      <span class="one"><label for=${id("method")}>Method</label>
      <select id=${id("method")} @change=${(event) => this.#method(event.target.value)}>
        ${[["", methodName("")], ...info.methods.map((one) => [`m:${one}`, methodName(one)])].map((one) => this.#option(one))}
        <optgroup label="One field alone">${info.fields.map((one) => this.#option([`m:${one.name}`, methodName(one.name)]))}</optgroup>
        <optgroup label="Presets">${info.presets.map((one) => this.#option([`p:${one}`, presetName(one)]))}</optgroup>
      </select></span>
      <span class="one"><label for=${id("k")}>Hits</label>
      <select id=${id("k")} @change=${(event) => this.#say({ k: Number(event.target.value) })}>
        ${counts.map((one) => html`<option value=${one} ?selected=${one === s.k}>${one}</option>`)}
      </select></span>
      <span class="one"><label for=${id("min")}>Score at least</label>
      <input id=${id("min")} type="number" step="any" inputmode="decimal" placeholder="any" .value=${s.min ?? ""}
        @change=${(event) => this.#say({ min: event.target.value === "" ? null : Number(event.target.value) })} /></span>
      ${info.fields.length > 1 ? this.#fields() : ""}
      ${s.k1 !== null || s.b !== null
        ? html`<button class="tag" @click=${() => this.#say({ k1: null, b: null })} aria-label="Leave k1 and b as they were">k1 ${s.k1 ?? "–"} · b ${s.b ?? "–"} ×</button>`
        : ""}
      ${Object.entries(s.adjust).flatMap(([field, terms]) => Object.entries(terms).map((one) => this.#adjusted(field, ...one)))}
    </div>`;
  }

  #option([value, text]) {
    const now = this.s.preset ? `p:${this.s.preset}` : this.s.method ? `m:${this.s.method}` : "";
    return html`<option value=${value} ?selected=${value === now}>${text}</option>`;
  }

  #fields() {
    const { s, info } = this;
    const on = (name) => !s.fields.length || s.fields.includes(name);
    return html`<details class="fields">
      <summary>Fields${s.fields.length || Object.keys(s.weights).length ? html` <i class="dot f-words"></i>` : ""}</summary>
      <div class="sheet">
        <table>
          <caption>Untick a field to search without it. Weights go with Hybrid, Rank fusion and Weighted sum.</caption>
          ${info.fields.map(
            ({ name, kind }) => html`<tr>
              <th scope="row"><label class="field ${accent(name, info)}" title=${about(kind)}><input type="checkbox" .checked=${on(name)} @change=${() => this.#toggle(name)} />
                <i class="dot"></i>${name}</label></th>
              <td><input type="range" min="0" max="3" step="0.1" aria-label="Weight of ${name}" .value=${s.weights[name] ?? 1} ?disabled=${!on(name)}
                @change=${(event) => this.#say({ weights: { ...s.weights, [name]: Number(event.target.value) } })} /></td>
              <td class="number">${(s.weights[name] ?? 1).toFixed(1)}</td>
            </tr>`,
          )}
        </table>
        ${Object.keys(s.weights).length ? html`<button class="quiet" @click=${() => this.#say({ weights: {} })}>The fields’ own weights</button>` : ""}
      </div>
    </details>`;
  }

  #adjusted(field, term, factor) {
    const words = factor === 0 ? "muted" : `×${factor}`;
    return html`<button class="tag ${accent(field, this.info)}" aria-label="Leave ${term} as it was" @click=${() => this.say("zf-adjust", { field, term, factor: 1 })}>
      <i class="dot"></i>${this.labels[`${field}:${term}`] ?? term} ${words} ×</button>`;
  }

  #method(value) {
    const [kind, name] = [value.slice(0, 1), value.slice(2)];
    this.#say({ method: kind === "m" ? name : "", preset: kind === "p" ? name : "", ...(kind === "p" ? { weights: {} } : {}) });
  }

  #toggle(name) {
    const all = this.info.fields.map((one) => one.name);
    const now = this.s.fields.length ? this.s.fields : all;
    const next = now.includes(name) ? now.filter((one) => one !== name) : all.filter((one) => one === name || now.includes(one));
    if (!next.length) return this.update();
    this.#say({ fields: next.length === all.length ? [] : next });
  }

  #say(patch) {
    this.say("zf-settings", patch);
  }
}

define("zf-search-settings", SearchSettings, { s: null, info: null, prefix: "", heading: "", labels: {} });
