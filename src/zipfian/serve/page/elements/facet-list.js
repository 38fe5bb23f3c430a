// Values of the metadata with their counts; ticking one narrows the search.
import { Element, define, html } from "./base.js";
import { count, plain } from "../lib/format.js";

const SHOWN = 8;

class FacetList extends Element {
  template() {
    return html`${Object.entries(this.facets).map(([column, facet]) => this.#facet(column, facet))}`;
  }

  #facet(column, facet) {
    const chosen = this.where[column] ?? [];
    // A ticked year stays, to be unticked, when the rest of the filter leaves one year and its months are counted.
    const gone = chosen.filter((value) => !facet.values.some((one) => one.value === value)).map((value) => ({ value }));
    const values = [...gone, ...facet.values]; // no row moves when it is ticked: the next click is under the pointer already
    if (!values.length) return "";
    const all = this.open === column;
    return html`<fieldset class="facet">
      <legend>${column}</legend>
      ${values.filter(({ value }, i) => all || i < SHOWN || chosen.includes(value)).map(
        ({ value, count: n }) => html`<label><input type="checkbox" ?data-chosen=${chosen.includes(value)} @change=${() => this.#toggle(column, value)} />
          <span>${plain(value)}</span><small>${n === undefined ? "" : count(n)}</small></label>`,
      )}
      ${values.length > SHOWN || facet.more
        ? html`<button class="quiet" @click=${() => (this.open = all ? "" : column)}>${all ? "fewer" : `${count(values.length - SHOWN + facet.more)} more`}</button>`
        : ""}
    </fieldset>`;
  }

  /** Boxes are used again for other values when the order changes, and a click has ticked them meanwhile: set them all. */
  drawn() {
    for (const box of this.querySelectorAll("input")) box.checked = box.hasAttribute("data-chosen");
  }

  #toggle(column, value) {
    const chosen = this.where[column] ?? [];
    const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value];
    this.say("zf-where", { ...this.where, [column]: next });
  }
}

define("zf-facet-list", FacetList, { facets: {}, where: {}, open: "" });
