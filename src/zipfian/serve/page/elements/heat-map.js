// A picture with patches lit over it.
import { Element, define, html, nothing, svg } from "./base.js";

class HeatMap extends Element {
  #address = "";

  /** Where a key is asked for, a picture's address is a promise. */
  changed(property) {
    if (property !== "src") return;
    this.#address = "";
    const given = this.src;
    Promise.resolve(given).then((address) => {
      if (this.src !== given) return;
      this.#address = address;
      this.update();
    }, () => {});
  }

  template() {
    const grid = this.patches[0];
    return html`<figure class="heat"><div class="frame">
      <img src=${this.#address || nothing} alt=${this.alt} loading="lazy" @error=${(event) => event.target.closest("figure").classList.add("broken")} />
      ${grid
        ? html`<svg viewBox="0 0 ${grid.columns} ${grid.rows}" preserveAspectRatio="none" aria-hidden="true">
            <path class="shade" fill-rule="evenodd" d=${this.#around(grid)} />
            ${this.#cells().map((cell) => svg`<rect class="patch ${this.accent}" x=${cell.column} y=${cell.row} width="1" height="1" opacity=${cell.opacity} />`)}
          </svg>`
        : ""}</div>
      ${this.caption ? html`<figcaption>${this.caption}</figcaption>` : ""}
    </figure>`;
  }

  /** All of the picture but the lit patches. */
  #around({ rows, columns }) {
    return `M0 0H${columns}V${rows}H0Z${this.#cells().map(({ row, column }) => `M${column} ${row}h1v1h-1z`).join("")}`;
  }

  /** One cell for each patch; several strengths in one cell count as the strongest. */
  #cells() {
    const cells = new Map();
    for (const { row, column, strength = 1 } of this.patches) {
      const at = `${row} ${column}`;
      if (!cells.has(at) || cells.get(at).strength < strength) cells.set(at, { row, column, strength });
    }
    const most = Math.max(...[...cells.values()].map((cell) => cell.strength)) || 1;
    return [...cells.values()].map((cell) => ({ ...cell, opacity: (0.1 + 0.45 * (cell.strength / most)).toFixed(3) }));
  }
}

define("zf-heat-map", HeatMap, { src: "", alt: "", patches: [], accent: "f-visual", caption: "" });
