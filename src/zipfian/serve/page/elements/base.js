// What every element of the page has: properties that draw it again when they are set, once for many of them.
// Elements draw into themselves, without a shadow root: one style sheet, one heading order, labels that reach their inputs.
import { render } from "../vendor/lit-html.js";

export { html, nothing, svg } from "../vendor/lit-html.js";

export class Element extends HTMLElement {
  #waiting = false;

  connectedCallback() {
    this.update();
  }

  /** Draw again, soon. */
  update() {
    if (this.#waiting || !this.isConnected) return;
    this.#waiting = true;
    queueMicrotask(() => {
      this.#waiting = false;
      if (!this.isConnected) return;
      render(this.template(), this, { host: this }); // listeners of the template are called as methods of it
      this.drawn();
    });
  }

  template() {
    return "";
  }

  /** Called after each drawing. */
  drawn() {}

  /** Tell whoever holds this element. */
  say(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }
}

/** Register an element; each of `properties` draws it again when it is set to something else. */
export function define(name, type, properties = {}) {
  for (const [property, initial] of Object.entries(properties)) {
    const values = new WeakMap();
    Object.defineProperty(type.prototype, property, {
      get() {
        return values.has(this) ? values.get(this) : initial;
      },
      set(value) {
        if (this[property] === value) return;
        values.set(this, value);
        this.changed?.(property);
        this.update();
      },
    });
  }
  if (!customElements.get(name)) customElements.define(name, type);
}
