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
    const values = [...gone, ...facet.values].sort((a, b) => chosen.includes(b.value) - chosen.includes(a.value));
    if (!values.length) return "";
    const all = this.open === column;
    return html`<fieldset class="facet">
      <legend>${column}</legend>
      ${(all ? values : values.slice(0, SHOWN)).map(
        ({ value, count: n }) => html`<label><input type="checkbox" .checked=${chosen.includes(value)} @change=${() => this.#toggle(column, value)} />
          <span>${plain(value)}</span><small>${n === undefined ? "" : count(n)}</small></label>`,
      )}
      ${values.length > SHOWN || facet.more
        ? html`<button class="quiet" @click=${() => (this.open = all ? "" : column)}>${all ? "fewer" : `${count(values.length - SHOWN + facet.more)} more`}</button>`
        : ""}
    </fieldset>`;
  }

  #toggle(column, value) {
    const chosen = this.where[column] ?? [];
    const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value];
    this.say("zf-where", { ...this.where, [column]: next });
  }
}

define("zf-facet-list", FacetList, { facets: {}, where: {}, open: "" });
