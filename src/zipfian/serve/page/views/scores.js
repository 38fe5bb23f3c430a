// Score analysis: how the top scores are spread, how they fall, what each field gave, as charts and as a table.
import { Element, define, html } from "../elements/base.js";
import "../elements/chart.js";
import "../elements/search-box.js";
import "../elements/state-note.js";
import { shares } from "../elements/hit-card.js";
import { asks, search } from "../lib/asking.js";
import { csv, save } from "../lib/export.js";
import { accent, methodName } from "../lib/fields.js";
import { score, seconds, titled } from "../lib/format.js";
import { go, href } from "../lib/router.js";

const BINS = 12;

class ScoresView extends Element {
  #answer = null;
  #problem = null;
  #key = "";
  #by = "rank";
  #down = false;

  connectedCallback() {
    super.connectedCallback();
    this.addEventListener("zf-ask", (event) => go({ like: "", ...event.detail }));
  }

  changed() {
    const { state, info } = this;
    if (!state || !info) return;
    const key = asks(state) ? JSON.stringify([state.c, state.q, state.picture, state.like, state.where, state.left]) : "";
    if (key === this.#key) return;
    this.#key = key;
    this.#answer = this.#problem = null;
    if (key) this.#load(key);
  }

  async #load(key) {
    try {
      const answer = await search(this.state, this.state.left, this.info);
      if (key === this.#key) this.#answer = answer;
    } catch (problem) {
      if (key === this.#key) this.#problem = problem;
    }
    this.update();
  }

  template() {
    const { state, info } = this;
    return html`<div class="view-head"><h1>Scores</h1><p class="lead">How far the first hit stands above the others, and which field put it there.</p></div>
      <zf-search-box .q=${state.q} .picture=${state.picture} .collection=${state.c} .takesPictures=${info.pictures}></zf-search-box> ${this.#content()}`;
  }

  #content() {
    if (this.#problem) return html`<zf-state-note .problem=${this.#problem} @zf-again=${() => this.#load(this.#key)}></zf-state-note>`;
    if (!asks(this.state)) return html`<zf-state-note .heading=${"Ask something first"} .text=${"The scores of its hits are taken apart here."}></zf-state-note>`;
    if (!this.#answer) return html`<zf-state-note .waiting=${"Searching"}></zf-state-note>`;
    const hits = this.#answer.hits.filter((hit) => hit.score !== null);
    if (!hits.length) return html`<zf-state-note .heading=${"Nothing shares a term"} .text=${"There are no scores to show."}></zf-state-note>`;
    const fields = [...new Set(hits.flatMap((hit) => Object.keys(hit.fields ?? {})))];
    return html`${this.#snapshot(hits)} ${this.#legend(fields)}
      <div class="charts">${this.#stacked(hits)} ${this.#drop(hits)} ${this.#spread(hits)}</div>
      ${this.#table(hits, fields)}`;
  }

  #snapshot(hits) {
    const { settings, timings, time } = this.#answer;
    const facts = [
      ["method", methodName(settings.method ?? "")], ["hits", hits.length], ["time", seconds(timings?.total ?? time)],
      ["first", titled(hits[0].text, 42) || hits[0].id], ["s₁", score(hits[0].score)], ["s₁ − s₂", hits.length > 1 ? score(hits[0].score - hits[1].score, hits[0].score) : "–"],
    ];
    return html`<dl class="snapshot">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
  }

  #legend(fields) {
    return html`<p class="key">${fields.map((field) => html`<span class=${accent(field, this.info)}><i class="dot"></i>${field}</span>`)}</p>`;
  }

  #stacked(hits) {
    const bars = [];
    let [low, high] = [0, 0];
    hits.forEach((hit, n) => {
      let [up, down] = [0, 0];
      for (const part of shares(hit, this.info).sort((a, b) => a.label.localeCompare(b.label))) {
        const from = part.value > 0 ? up : down;
        const to = from + part.value;
        if (part.value > 0) up = to;
        else down = to;
        bars.push({ x: n + 1, from, to, accent: part.accent, title: `${hit.rank}. ${hit.id}: ${part.label} ${score(part.value)}` });
      }
      [low, high] = [Math.min(low, down), Math.max(high, up)];
    });
    const told = `Scores of ${hits.length} hits, each split by field, from ${score(hits[0].score)} down to ${score(hits.at(-1).score)}`;
    return html`<figure><figcaption>Top scores, and each field’s share</figcaption>
      <zf-chart .bars=${bars} .x=${{ from: 0.4, to: hits.length + 0.6, name: "rank", ticks: ranks(hits.length) }} .y=${{ from: low, to: high * 1.04 || 1, name: "" }} .told=${told}></zf-chart></figure>`;
  }

  #drop(hits) {
    const points = hits.map((hit, n) => [n + 1, hit.score, `${hit.rank}. ${hit.id}: ${score(hit.score)}`]);
    const gaps = hits.slice(1).map((hit, n) => hits[n].score - hit.score);
    const at = gaps.length ? gaps.indexOf(Math.max(...gaps)) : -1;
    const low = Math.min(0, hits.at(-1).score);
    const lines = at >= 0 ? [{ x: at + 1.5, name: `largest drop: ${score(gaps[at])}` }] : [];
    return html`<figure><figcaption>Drop-off</figcaption>
      <zf-chart .series=${[{ points, accent: "f-ink" }, { points, kind: "dots", accent: "f-ink" }]} .lines=${lines}
        .x=${{ from: 0.6, to: hits.length + 0.4, name: "rank", ticks: ranks(hits.length) }} .y=${{ from: low, to: hits[0].score * 1.04 || 1, name: "" }}
        .told=${`Score by rank. ${lines[0] ? `The ${lines[0].name}, after rank ${at + 1}` : ""}`}></zf-chart></figure>`;
  }

  #spread(hits) {
    const scores = hits.map((hit) => hit.score);
    const [least, most] = [Math.min(...scores), Math.max(...scores)];
    const size = (most - least) / BINS || 1;
    const counts = Array(BINS).fill(0);
    for (const one of scores) counts[Math.min(BINS - 1, Math.floor((one - least) / size))]++;
    const bars = counts.map((to, n) => ({ x: least + (n + 0.5) * size, from: 0, to, width: size * 0.86, accent: "f-other", title: `${to} between ${score(least + n * size)} and ${score(least + (n + 1) * size)}` }));
    return html`<figure><figcaption>Distribution</figcaption>
      <zf-chart .bars=${bars} .x=${{ from: least - size * 0.3, to: least + BINS * size + size * 0.3, name: "score" }} .y=${{ from: 0, to: Math.max(...counts) * 1.08, name: "hits", ticks: whole(Math.max(...counts)) }}
        .told=${`How many hits have which score, from ${score(least)} to ${score(most)}`}></zf-chart></figure>`;
  }

  #rows(hits, fields) {
    return hits.map((hit, n) => ({
      rank: hit.rank, id: hit.id, title: titled(hit.text, 80), score: hit.score, drop: n ? hits[n - 1].score - hit.score : null,
      ...Object.fromEntries(fields.map((field) => [field, hit.fields[field]?.share ?? null])),
    }));
  }

  #table(hits, fields) {
    const columns = ["rank", "id", "title", "score", "drop", ...fields];
    const rows = this.#rows(hits, fields);
    const words = new Set(["id", "title"]);
    const by = this.#by;
    const sorted = [...rows].sort((a, b) => (words.has(by) ? String(a[by]).localeCompare(String(b[by])) : (a[by] ?? -Infinity) - (b[by] ?? -Infinity)) * (this.#down ? -1 : 1));
    return html`<div class="table-head"><h2>Every hit</h2><span class="spring"></span>
        <button class="quiet strong" @click=${() => save("scores.csv", "text/csv", csv(columns, rows))}>CSV</button>
        <button class="quiet strong" @click=${() => save("scores.json", "application/json", JSON.stringify(this.#export(rows), null, 1))}>JSON</button></div>
      <div class="scroll" tabindex="0" role="region" aria-label="Table of hits"><table class="data">
        <thead><tr>${columns.map((one) => html`<th scope="col" class=${words.has(one) || one === "rank" ? "" : "number"} aria-sort=${one === by ? (this.#down ? "descending" : "ascending") : "none"}>
          <button @click=${() => this.#sort(one)}>${one}<span aria-hidden="true">${one === by ? (this.#down ? " ↓" : " ↑") : ""}</span></button></th>`)}</tr></thead>
        <tbody>${sorted.map((row) => html`<tr>${columns.map((one) => this.#cell(one, row))}</tr>`)}</tbody>
      </table></div>`;
  }

  #cell(column, row) {
    const value = row[column];
    if (column === "id") return html`<td><a href=${href({ view: "search", why: row.id })}><code>${value}</code></a></td>`;
    if (column === "title") return html`<td class="wide">${value}</td>`;
    if (column === "rank") return html`<td>${value}</td>`;
    return html`<td class="number">${score(value, this.#answer.hits[0].score)}</td>`;
  }

  #export(rows) {
    const { settings, timings } = this.#answer;
    return { collection: this.state.c, query: this.state.q, settings, timings, hits: rows };
  }

  #sort(column) {
    this.#down = this.#by === column ? !this.#down : !["rank", "id", "title"].includes(column);
    this.#by = column;
    this.update();
  }
}

const ranks = (many) => [1, ...Array.from({ length: many }, (_, n) => n + 1).filter((n) => n % (many > 50 ? 20 : many > 20 ? 10 : many > 10 ? 5 : 1) === 0 && n > 1)];
const whole = (most) => Array.from({ length: most + 1 }, (_, n) => n).filter((n) => n % Math.ceil(most / 5) === 0);

define("zf-scores", ScoresView, { state: null, info: null });
