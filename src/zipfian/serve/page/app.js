// The page: which collection, which view, and light or dark. Views are loaded when they are first seen.
import { Element, define, html } from "./elements/base.js";
import "./elements/state-note.js";
import * as api from "./lib/api.js";
import { go, href, read, subscribe } from "./lib/router.js";
import { theme } from "./lib/theme.js";

const VIEWS = [
  ["search", "Search", "zf-search"],
  ["scores", "Scores", "zf-scores"],
  ["playground", "Playground", "zf-playground"],
  ["vocabulary", "Vocabulary", "zf-vocabulary"],
  ["term", "", "zf-term"],
];

class App extends Element {
  #collections = null;
  #problem = null;
  #state = read();
  #view = null;

  connectedCallback() {
    this.replaceChildren(); // the frame that was there to be seen before this script ran
    super.connectedCallback();
    subscribe((state) => this.#show(state));
    this.addEventListener("click", (event) => this.#follow(event));
    addEventListener("keydown", (event) => this.#shortcut(event));
    this.#load();
  }

  async #load() {
    try {
      this.#collections = await api.collections();
      this.#show(read());
    } catch (problem) {
      this.#problem = problem;
      this.update();
    }
  }

  async #show(state) {
    this.#state = state;
    const named = this.#collections?.find((one) => one.name === state.c);
    if (this.#collections && !named) {
      if (!state.c && this.#collections.length) return go({ c: this.#collections[0].name }, { replace: true });
    }
    const { view } = state;
    await import(`./views/${view}.js`);
    if (this.#state !== state) return;
    const moved = this.#view !== null && this.#view !== view;
    this.#view = view;
    document.title = title(state);
    this.update();
    if (moved) scrollTo(0, 0);
  }

  /** Links within the page change the state instead of loading it again. */
  #follow(event) {
    const link = event.target.closest?.("a[href]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const address = new URL(link.href);
    if (link.target || link.download || address.origin !== location.origin || address.pathname !== location.pathname || address.hash) return;
    event.preventDefault();
    history.pushState(null, "", address.search || location.pathname);
    dispatchEvent(new PopStateEvent("popstate"));
  }

  #shortcut(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches?.("input, select, textarea")) return;
    const box = this.querySelector("#q");
    if (box) (event.preventDefault(), box.focus(), box.select());
  }

  template() {
    const info = this.#collections?.find((one) => one.name === this.#state.c);
    return html`<a class="skip" href="#main">To the content</a>
      <header class="top">
        <a class="brand" href=${this.#collections ? `?c=${encodeURIComponent(this.#state.c)}` : "?"}>zipfian</a>
        ${this.#collections?.length > 1
          ? html`<label class="which"><span class="hidden">Collection</span><select @change=${(event) => this.#switch(event.target.value)}>
              ${this.#collections.map((one) => html`<option ?selected=${one === info} value=${one.name}>${one.name}</option>`)}</select></label>`
          : html`<span class="which">${info?.name ?? ""}</span>`}
        <nav aria-label="Views">
          ${VIEWS.filter(([, text]) => text).map(
            ([view, text]) => html`<a href=${href({ view, why: "", above: "", absent: "", field: "", term: "", label: "" })} aria-current=${view === this.#now ? "page" : "false"}>${text}</a>`,
          )}
        </nav>
        <button class="tiny theme" @click=${() => (theme.toggle(), this.update())} aria-label=${theme.dark ? "Light colours" : "Dark colours"} title=${theme.dark ? "Light" : "Dark"}>
          <svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.5" /><path class="half" d="M8 2.5a5.5 5.5 0 0 1 0 11z" /></svg></button>
      </header>
      <main id="main" tabindex="-1">${this.#main(info)}</main>`;
  }

  get #now() {
    return this.#state.view === "term" ? "vocabulary" : this.#state.view;
  }

  #main(info) {
    if (this.#problem) return html`<zf-state-note .problem=${this.#problem} @zf-again=${() => location.reload()}></zf-state-note>`;
    if (!this.#collections) return html`<zf-state-note .waiting=${"Asking the service"}></zf-state-note>`;
    if (!info) return html`<zf-state-note .heading=${this.#state.c ? `There is no collection “${this.#state.c}”` : "No collection is served"} .text=${"Choose another above."}></zf-state-note>`;
    const state = this.#state;
    switch (this.#view) {
      case "scores": return html`<zf-scores .info=${info} .state=${state}></zf-scores>`;
      case "playground": return html`<zf-playground .info=${info} .state=${state}></zf-playground>`;
      case "vocabulary": return html`<zf-vocabulary .info=${info} .state=${state}></zf-vocabulary>`;
      case "term": return html`<zf-term .info=${info} .state=${state}></zf-term>`;
      default: return html`<zf-search .info=${info} .state=${state}></zf-search>`;
    }
  }

  /** Another collection: its fields are others, so settings begin anew. */
  #switch(c) {
    history.pushState(null, "", `?c=${encodeURIComponent(c)}${this.#state.view === "search" ? "" : `&view=${this.#now}`}${this.#state.q ? `&q=${encodeURIComponent(this.#state.q)}` : ""}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }
}

function title({ view, q, label, term }) {
  const what = view === "search" ? q : view === "term" ? `Term ${term}` : VIEWS.find(([name]) => name === view)[1];
  return what || label ? `${what || label} · zipfian` : "zipfian";
}

define("zf-app", App);
