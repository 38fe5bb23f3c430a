// Why one document stands above another: what each reason gave, as bars to either side of a middle line.
import { Element, define, html } from "./base.js";
import { accent } from "../lib/fields.js";
import { score, signed } from "../lib/format.js";
import { difference, name, speaks } from "../lib/tree.js";

const SHOWN = 14;

class VersusPanel extends Element {
  template() {
    const groups = difference(this.tree, this.other);
    const apart = this.tree.value - this.other.value;
    const rows = groups.flatMap((group) => group.parts.filter(speaks).map((part) => ({ ...part, field: part.field ?? group.field })));
    rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const most = Math.max(...rows.map((part) => Math.abs(part.value)), 1e-12);
    const rest = rows.slice(SHOWN).reduce((sum, part) => sum + part.value, 0);
    const ahead = apart >= 0 ? this.a : this.b;
    return html`<p class="equation"><b>${ahead}</b> is ahead by <b>${score(Math.abs(apart))}</b>:
        ${groups.map((one, n) => html`${n && one.value >= 0 ? "+ " : ""}<span><i class="dot ${accent(one.field, this.info)}"></i>${one.field || "other"} ${score(one.value, apart)}</span> `)}</p>
      <table class="versus">
        <thead><tr><th scope="col">reason</th><th scope="col" class="left">for ${this.b}</th><th scope="col">for ${this.a}</th><th scope="col" class="number">difference</th></tr></thead>
        <tbody>
          ${rows.slice(0, SHOWN).map(
            (part) => html`<tr class=${accent(part.field, this.info)}>
              <th scope="row"><i class="dot"></i>${name(part)}</th>
              <td class="minus"><span .style=${`width:${part.value < 0 ? (-100 * part.value) / most : 0}%`}></span></td>
              <td class="plus"><span .style=${`width:${part.value > 0 ? (100 * part.value) / most : 0}%`}></span></td>
              <td class="number">${signed(part.value, most)}</td>
            </tr>`,
          )}
          ${rows.length > SHOWN ? html`<tr><th scope="row">${rows.length - SHOWN} more</th><td></td><td></td><td class="number">${signed(rest, most)}</td></tr>` : ""}
        </tbody>
        <tfoot><tr><th scope="row">sum</th><td></td><td></td><td class="number">${signed(apart, most)}</td></tr></tfoot>
      </table>`;
  }
}

// tree, other: the explanations of a and b.
define("zf-versus-panel", VersusPanel, { tree: null, other: null, info: null, a: "", b: "" });
