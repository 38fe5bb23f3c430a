// From the page's state to what the service is asked, and the answers that are kept so that views share them.
import * as api from "./api.js";
import { load } from "./pictures.js";

/** A filter of the service from the values ticked in facets. */
export function whereOf(where, without = "") {
  const out = {};
  for (const [column, values] of Object.entries(where)) {
    if (column === without || !values.length) continue;
    out[column] = values.length === 1 ? values[0] : { in: values };
  }
  return Object.keys(out).length ? out : undefined;
}

/** What explanations and searches share: fields, method, weights, muted and boosted terms, k1 and b. */
export function howOf(s, info) {
  const out = {};
  if (s.method) out.method = s.method;
  if (s.preset) out.preset = s.preset;
  if (s.fields.length) out.fields = s.fields;
  if (Object.keys(s.weights).length) out.weights = s.weights;
  if (Object.keys(s.adjust).length) out.adjust = s.adjust;
  if (s.k1 !== null || s.b !== null) {
    const own = scoringOf(s, info);
    out.scoring = { k1: s.k1 ?? own.k1, b: s.b ?? own.b };
  }
  return out;
}

/** The formula of the one field that k1 and b are moved for. */
export function scoringOf(s, info) {
  const name = s.fields[0] ?? s.method;
  const field = info.fields.find((one) => one.name === name) ?? info.fields.find((one) => one.scoring?.kind === "bm25");
  return { k1: 1.5, b: 0.75, ...(field?.scoring ?? {}) };
}

export const asks = (state) => Boolean(state.q || state.picture || state.like);

/** The query: a text, a picture, or both. */
export async function queryOf(state) {
  const out = {};
  if (state.q) out.text = state.q;
  if (state.picture) out.image = await base64(await load(state.picture));
  return out;
}

const answers = new Map();

/** Search with one of the state's settings. The same question is asked once. */
export function search(state, s, info, signal) {
  const key = JSON.stringify([state.c, state.q, state.picture, state.like, state.where, s.k, howOf(s, info)]);
  if (!answers.has(key)) {
    if (answers.size > 20) answers.delete(answers.keys().next().value);
    const answer = ask(state, s, info, signal);
    answers.set(key, answer);
    answer.catch(() => answers.delete(key));
  }
  return answers.get(key);
}

async function ask(state, s, info, signal) {
  if (state.like) return api.similar(state.c, state.like, { k: s.k, explain: s.k > 20 ? "fields" : "places" }, { signal });
  const body = {
    ...(await queryOf(state)), ...howOf(s, info), k: s.k, where: whereOf(state.where), explain: s.k > 20 ? "fields" : "terms",
    highlight: { max_chars: 260, max_snippets: 1 },
  };
  return api.search(state.c, body, { signal });
}

/** Why a document has its score, found or not. */
export async function explain(state, s, info, id, signal) {
  const body = { ...(await queryOf(state)), ...howOf(s, info), id, k: s.k, where: whereOf(state.where), explain: "places" };
  return api.explain(state.c, body, { signal });
}

async function base64(blob) {
  const address = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new api.Problem("This picture cannot be read."));
    reader.readAsDataURL(blob);
  });
  return address.slice(address.indexOf(",") + 1);
}
