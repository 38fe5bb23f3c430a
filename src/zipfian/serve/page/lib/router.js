// The page's state is its address: what can be seen can be linked to, reloaded and left with the back button.

export const VIEWS = ["search", "scores", "playground", "vocabulary", "term"];

/** How to search. Left out (null, empty) is what the service does by itself. */
export function settings(patch = {}) {
  return { method: "", preset: "", fields: [], weights: {}, k: 10, min: null, adjust: {}, k1: null, b: null, ...patch };
}

const listeners = new Set();

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function read(search = location.search) {
  const p = new URLSearchParams(search);
  const view = p.get("view") ?? "search";
  return {
    view: VIEWS.includes(view) ? view : "search",
    c: p.get("c") ?? "",
    q: p.get("q") ?? "",
    picture: p.get("picture") ?? "",
    like: p.get("like") ?? "",
    where: readWhere(p),
    why: p.get("why") ?? "",
    above: p.get("above") ?? "",
    absent: p.get("absent") ?? "",
    field: p.get("field") ?? "",
    term: p.get("term") ?? "",
    label: p.get("label") ?? "",
    left: readSettings(p, ""),
    right: p.has("split") ? readSettings(p, "2.") : null,
  };
}

export function write(state) {
  const p = new URLSearchParams();
  const put = (name, value) => value && p.set(name, value);
  put("view", state.view === "search" ? "" : state.view);
  for (const name of ["c", "q", "picture", "like", "why", "above", "absent", "field", "term", "label"]) put(name, state[name]);
  for (const [column, values] of Object.entries(state.where)) {
    for (const value of values) p.append(`where.${column}`, JSON.stringify(value));
  }
  writeSettings(p, state.left, "");
  if (state.right) {
    p.set("split", "1");
    writeSettings(p, state.right, "2.");
  }
  const text = p.toString();
  return text ? `?${text}` : location.pathname;
}

/** Change some of the state. `replace` keeps no step behind for the back button. */
export function go(patch, { replace = false } = {}) {
  const next = { ...read(), ...patch };
  const address = write(next);
  if (replace) history.replaceState(null, "", address);
  else if (address !== location.search) history.pushState(null, "", address);
  announce();
}

/** The address of another state, for links. */
export function href(patch) {
  return write({ ...read(), ...patch });
}

export function announce() {
  const state = read();
  for (const listener of listeners) listener(state);
}

addEventListener("popstate", announce);

function readWhere(p) {
  const where = {};
  for (const [name, value] of p) {
    if (!name.startsWith("where.")) continue;
    const parsed = parse(value);
    if (parsed !== undefined) (where[name.slice(6)] ??= []).push(parsed);
  }
  return where;
}

function readSettings(p, prefix) {
  const get = (name) => p.get(prefix + name);
  const out = settings({
    method: get("method") ?? "",
    preset: get("preset") ?? "",
    fields: get("fields")?.split(",").filter(Boolean) ?? [],
    k: Math.min(100, Math.max(1, Math.round(number(get("k")) ?? 10))),
    min: number(get("min")),
    k1: number(get("k1")),
    b: number(get("b")),
  });
  for (const [name, value] of p) {
    const factor = number(value);
    if (factor === null || !name.startsWith(prefix)) continue;
    const [kind, field, ...term] = name.slice(prefix.length).split(":");
    if (kind === "weight" && field) out.weights[field] = factor;
    if (kind === "adjust" && term.length) (out.adjust[field] ??= {})[term.join(":")] = factor;
  }
  return out;
}

function writeSettings(p, s, prefix) {
  const put = (name, value) => value !== null && value !== "" && p.set(prefix + name, value);
  put("method", s.method);
  put("preset", s.preset);
  put("fields", s.fields.join(","));
  put("k", s.k === 10 ? "" : s.k);
  put("min", s.min);
  put("k1", s.k1);
  put("b", s.b);
  for (const [field, weight] of Object.entries(s.weights)) put(`weight:${field}`, weight);
  for (const [field, terms] of Object.entries(s.adjust)) {
    for (const [term, factor] of Object.entries(terms)) put(`adjust:${field}:${term}`, factor);
  }
}

function number(value) {
  if (value === null || value.trim() === "") return null;
  return Number.isFinite(Number(value)) ? Number(value) : null;
}

function parse(value) {
  try {
    return JSON.parse(value);
  } catch {
    return undefined; // somebody edited the address; the rest of it still counts
  }
}
