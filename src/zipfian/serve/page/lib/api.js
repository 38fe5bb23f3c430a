// The service, as functions. Every failure becomes a Problem with words for people.

export class Problem extends Error {
  constructor(message, { status = 0, code = "", request = "" } = {}) {
    super(message);
    Object.assign(this, { status, code, request });
  }
}

const KEY = "zipfian.key";
export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

async function ask(path, { body, signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (key.get()) headers.authorization = `Bearer ${key.get()}`;
  let answer;
  try {
    answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service does not answer. Is it still running?", { code: "unreachable" });
  }
  const content = await answer.json().catch(() => null);
  if (answer.ok && content) return content;
  const { message, code, request_id: request } = content?.error ?? {};
  throw new Problem(message ?? `The service answered ${answer.status}.`, { status: answer.status, code, request });
}

const at = (c, ...rest) => ["/v1/collections", c, ...rest].map((part, n) => (n ? encodeURIComponent(part) : part)).join("/");
const asked = (given) => {
  const p = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== undefined && value !== ""));
  return p.size ? `?${p}` : "";
};

export const collections = (options) => ask("/v1/collections", options).then((a) => a.collections);
export const search = (c, body, options) => ask(at(c, "search"), { body, ...options });
export const explain = (c, body, options) => ask(at(c, "explain"), { body, ...options });
export const similar = (c, id, given, options) => ask(at(c, "similar", id) + asked(given), options);
export const facets = (c, body, options) => ask(at(c, "facets"), { body, ...options });
export const documentOf = (c, id, options) => ask(at(c, "documents", id), options);
export const term = (c, field, name, options) => ask(at(c, "terms", field, name), options);
export const terms = (c, given, options) => ask(at(c, "terms") + asked(given), options);
export const vocabulary = (c, field, options) => ask(at(c, "vocabulary", field), options);

/** A thumbnail as an address for <img>. Where a key is asked for, it is fetched with it. */
const kept = new Map();
export function thumbnail(c, id, side = 320) {
  const path = at(c, "documents", id, "thumbnail") + asked({ side });
  if (!key.get()) return path;
  if (!kept.has(path)) {
    if (kept.size > 200) for (const [old, address] of kept) (kept.delete(old), address.then(URL.revokeObjectURL, () => {}));
    const headers = { authorization: `Bearer ${key.get()}` };
    kept.set(path, fetch(path, { headers }).then((a) => a.blob()).then((blob) => URL.createObjectURL(blob)));
  }
  return kept.get(path);
}
