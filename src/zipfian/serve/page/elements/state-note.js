// What a view says when it has nothing to show: waiting, empty, nothing found, or an error and what to do next.
import { Element, define, html } from "./base.js";
import { key } from "../lib/api.js";

class StateNote extends Element {
  template() {
    if (this.problem) return this.#problem();
    if (this.waiting) return html`<div class="note waiting" role="status"><span class="pulse" aria-hidden="true"></span>${this.waiting}</div>`;
    return html`<div class="note" role="status"><h2>${this.heading}</h2><p>${this.text}</p></div>`;
  }

  #problem() {
    const { status, message, request } = this.problem;
    return html`<div class="note problem" role="alert">
      <h2>${status === 401 || status === 403 ? "A key is needed" : status === 503 ? "The service is busy" : "This did not work"}</h2>
      <p>${message}</p>
      ${status === 401
        ? html`<form @submit=${this.#unlock}><label>Key <input name="key" type="password" autocomplete="off" required /></label><button>Use it</button></form>`
        : html`<button class="quiet strong" @click=${() => this.say("zf-again")}>Try again</button>`}
      ${request ? html`<p class="fine">request ${request}</p>` : ""}
    </div>`;
  }

  #unlock(event) {
    event.preventDefault();
    key.set(new FormData(event.target).get("key"));
    location.reload();
  }
}

define("zf-state-note", StateNote, { heading: "", text: "", waiting: "", problem: null });
