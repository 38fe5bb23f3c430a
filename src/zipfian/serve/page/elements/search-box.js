// One box: words, a picture, or both. Suggests labels of terms and what was asked before.
import { Element, define, html } from "./base.js";
import * as api from "../lib/api.js";
import { addressOf, keep, pictureIn } from "../lib/pictures.js";

const RECENT = "zipfian.recent";
const recent = (c) => (JSON.parse(localStorage.getItem(RECENT) ?? "{}")[c] ?? []);
function remember(c, q) {
  const all = JSON.parse(localStorage.getItem(RECENT) ?? "{}");
  all[c] = [q, ...(all[c] ?? []).filter((one) => one !== q)].slice(0, 20);
  localStorage.setItem(RECENT, JSON.stringify(all));
}

class SearchBox extends Element {
  #suggested = [];
  #at = -1;
  #asked = 0;
  #address = "";
  #trouble = "";

  connectedCallback() {
    super.connectedCallback();
    this.paste = (event) => this.#take(event, event.clipboardData);
    this.drop = (event) => this.#take(event, event.dataTransfer);
    this.over = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files") && event.preventDefault();
    addEventListener("paste", this.paste);
    addEventListener("drop", this.drop);
    addEventListener("dragover", this.over);
  }

  disconnectedCallback() {
    removeEventListener("paste", this.paste);
    removeEventListener("drop", this.drop);
    removeEventListener("dragover", this.over);
  }

  changed(property) {
    if (property !== "picture") return;
    this.#address = "";
    if (this.picture) addressOf(this.picture).then((address) => ((this.#address = address), this.update()), () => {});
  }

  template() {
    const open = this.#suggested.length > 0;
    return html`<form role="search" @submit=${this.#submit}>
      <div class="box">
        ${this.picture
          ? html`<span class="picked">${this.#address ? html`<img src=${this.#address} alt="Picture asked with" />` : ""}
              <button type="button" class="tiny" aria-label="Remove the picture" @click=${() => this.say("zf-ask", { picture: "" })}>×</button></span>`
          : ""}
        <input id="q" type="text" name="q" role="combobox" autocomplete="off" spellcheck="false" enterkeyhint="search" aria-label="Search"
          placeholder=${this.takesPictures ? "Search with words, or drop or paste a picture" : "Search"} .value=${this.q}
          aria-expanded=${open} aria-controls="suggestions" aria-autocomplete="list" aria-activedescendant=${this.#at >= 0 ? `suggestion-${this.#at}` : ""}
          @input=${this.#typed} @keydown=${this.#key} @focus=${this.#typed} @blur=${() => setTimeout(() => this.#close(), 150)} />
        ${this.takesPictures
          ? html`<label class="pick" title="Choose a picture"><input type="file" accept="image/*" aria-label="Choose a picture" @change=${(event) => this.#use(event.target.files[0])} />
              <svg viewBox="0 0 24 24" aria-hidden="true"><rect x="3.5" y="5.5" width="17" height="13" rx="2" /><circle cx="9" cy="10.5" r="1.6" /><path d="M4 17l5-4 3.5 3 3-2.5L20 17" /></svg></label>`
          : ""}
        <button class="go">Search</button>
      </div>
      <ul id="suggestions" role="listbox" aria-label="Suggestions" ?hidden=${!open}>
        ${this.#suggested.map(
          (one, n) => html`<li id="suggestion-${n}" role="option" aria-selected=${n === this.#at} @mousedown=${() => this.#choose(one)}>
            <span>${one.text}</span><small>${one.note}</small></li>`,
        )}
      </ul>
      ${this.#trouble ? html`<p class="trouble" role="alert">${this.#trouble}</p>` : ""}
    </form>`;
  }

  get #input() {
    return this.querySelector("#q");
  }

  #submit(event) {
    event.preventDefault();
    const q = this.#input.value.trim();
    if (q) remember(this.collection, q);
    this.#close();
    this.say("zf-ask", { q });
  }

  async #take(event, data) {
    const picture = pictureIn(data);
    if (!picture && event.type !== "drop") return;
    event.preventDefault();
    if (picture) await this.#use(picture);
  }

  async #use(file) {
    if (!file) return;
    this.#trouble = "";
    if (!this.takesPictures) this.#trouble = "This collection has no field that reads pictures.";
    else {
      try {
        this.say("zf-ask", { picture: await keep(file), q: this.#input.value.trim() });
      } catch (error) {
        this.#trouble = error.message;
      }
    }
    this.update();
  }

  async #typed() {
    const text = this.#input.value.trim();
    const asked = ++this.#asked;
    const before = recent(this.collection).filter((one) => one !== text && one.toLowerCase().includes(text.toLowerCase()));
    const found = before.slice(0, text ? 3 : 6).map((one) => ({ text: one, note: "asked before" }));
    this.#show(found);
    if (text.length < 2) return;
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (asked !== this.#asked) return;
    const answer = await api.terms(this.collection, { label: text, limit: 6 }).catch(() => ({ fields: [] }));
    if (asked !== this.#asked || document.activeElement !== this.#input) return;
    const labels = answer.fields.flatMap((one) => one.terms.map((term) => ({ text: term.label, note: `${one.field} term, in ${term.df}` })));
    this.#show([...found, ...labels.slice(0, 7)]);
  }

  #show(suggested) {
    this.#suggested = suggested;
    this.#at = -1;
    this.update();
  }

  #close() {
    this.#asked++;
    this.#show([]);
  }

  #choose(one) {
    this.#input.value = one.text;
    this.#input.form.requestSubmit();
  }

  #key(event) {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const many = this.#suggested.length;
    if (event.key === "Escape") this.#close();
    else if (move && many) {
      event.preventDefault();
      this.#at = (this.#at + move + many + (this.#at < 0 && move < 0 ? 1 : 0)) % many;
      this.update();
    } else if (event.key === "Enter" && this.#at >= 0) {
      event.preventDefault();
      this.#choose(this.#suggested[this.#at]);
    }
  }
}

define("zf-search-box", SearchBox, { q: "", picture: "", collection: "", takesPictures: false });
