// A chart in SVG, drawn for the width it has: lines, dots and stacked bars over two axes. What it shows is also said in words.
import { Element, define, html, svg } from "./base.js";
import { scale, tick, ticks } from "../lib/scale.js";

const LEFT = 46;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 38;

class Chart extends Element {
  #width = 0;
  #watch = new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width && width !== this.#width) {
      this.#width = width;
      this.update();
    }
  });

  connectedCallback() {
    super.connectedCallback();
    this.#watch.observe(this);
  }

  disconnectedCallback() {
    this.#watch.disconnect();
  }

  template() {
    const width = this.#width || 560;
    const { height, x, y } = this;
    const px = scale(x, LEFT, width - RIGHT);
    const py = scale(y, height - BOTTOM, TOP);
    return html`<svg class="chart" viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img" aria-label=${this.told}>
      ${this.#axes(px, py, width)} ${this.lines.map((line) => this.#rule(line, px, py, width))}
      ${this.bars.map((bar) => this.#bar(bar, px, py))} ${this.series.map((one) => this.#series(one, px, py))}
    </svg>`;
  }

  #axes(px, py, width) {
    const { height, x, y } = this;
    const across = x.ticks ?? ticks(x, Math.max(3, Math.round(width / 110)));
    return svg`<g class="axes">
      ${(y.ticks ?? ticks(y, 4)).map((at) => svg`<path class="grid" d="M${LEFT} ${py(at)}H${width - RIGHT}" /><text x=${LEFT - 8} y=${py(at)} dy=".32em" text-anchor="end">${tick(at)}</text>`)}
      ${across.map((at) => svg`<text x=${px(at)} y=${height - BOTTOM + 18} text-anchor="middle">${tick(at)}</text>`)}
      <path class="axis" d="M${LEFT} ${y.from < 0 && !y.log ? py(0) : height - BOTTOM}H${width - RIGHT}" />
      <text class="name" x=${width - RIGHT} y=${height - 3} text-anchor="end">${x.name}</text>
      ${y.name ? svg`<text class="name" x="0" y="9">${y.name}</text>` : ""}
    </g>`;
  }

  #rule({ x, y, name, accent = "", dashed = true }, px, py, width) {
    if (y !== undefined) {
      return svg`<g class="rule ${accent}"><path class=${dashed ? "dashed" : ""} d="M${LEFT} ${py(y)}H${width - RIGHT}" /><text x=${width - RIGHT} y=${py(y) - 6} text-anchor="end">${name}</text></g>`;
    }
    const at = px(x);
    const end = at > width * 0.7;
    return svg`<g class="rule ${accent}"><path class=${dashed ? "dashed" : ""} d="M${at} ${TOP}V${this.height - BOTTOM}" /><text x=${at + (end ? -6 : 6)} y=${TOP + 10} text-anchor=${end ? "end" : "start"}>${name}</text></g>`;
  }

  #bar({ x, from, to, width = 0.72, accent = "", title = "" }, px, py) {
    const left = px(x - width / 2);
    const [top, low] = [py(Math.max(from, to)), py(Math.min(from, to))];
    return svg`<rect class="column ${accent}" x=${left} y=${top} width=${Math.max(1, px(x + width / 2) - left)} height=${Math.max(0, low - top)}><title>${title}</title></rect>`;
  }

  #series({ points, accent = "", kind = "line", dashed = false }, px, py) {
    if (kind === "dots") return svg`<g class="dots ${accent}">${points.map(([x, y, title]) => svg`<circle cx=${px(x)} cy=${py(y)} r="3.2"><title>${title ?? ""}</title></circle>`)}</g>`;
    const d = points.map(([x, y], n) => `${n ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
    const spot = kind === "spot" ? points.at(-1) : null;
    if (spot) return svg`<circle class="spot ${accent}" cx=${px(spot[0])} cy=${py(spot[1])} r="5.5" />`;
    return svg`<path class="line ${accent} ${dashed ? "dashed" : ""}" d=${d} />`;
  }
}

// x, y: {from, to, name, log, ticks}; series: [{points: [[x, y, title]], accent, kind, dashed}]; lines: [{x or y, name}];
// bars: [{x, from, to, width, accent, title}]; told: all of it in words.
define("zf-chart", Chart, { x: { from: 0, to: 1, name: "" }, y: { from: 0, to: 1, name: "" }, series: [], lines: [], bars: [], height: 260, told: "" });
