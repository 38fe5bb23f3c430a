// What is seen before anything was asked: what the collection holds and what can be done.
import { html } from "../elements/base.js";
import { about, accent } from "../lib/fields.js";
import { count } from "../lib/format.js";
import { href } from "../lib/router.js";

export function welcome(info) {
  return html`<section class="welcome">
    <p class="lead"><b>${count(info.documents)}</b> documents in <b>${info.name}</b>. Each score is a sum; open a hit to see of what.</p>
    <dl class="legend">
      ${info.fields.map(({ name, kind }) => html`<div><dt class=${accent(name, info)}><i class="dot"></i>${name}</dt><dd>${about(kind) || kind}</dd></div>`)}
    </dl>
    <p class="fine"><a href=${href({ view: "playground" })}>Play with the numbers</a> · <a href=${href({ view: "vocabulary" })}>Read the vocabulary</a></p>
  </section>`;
}
