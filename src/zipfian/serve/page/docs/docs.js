// The routes of /openapi.json as a page on which each can be tried. Everything is put in as text, never as HTML.

const made = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

const description = await (await fetch("/openapi.json")).json();
const resolved = (schema) =>
  schema?.$ref ? description.components.schemas[schema.$ref.split("/").pop()] : schema ?? {};

const kind = (schema) => {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.type === "array") return `list of ${kind(schema.items ?? {})}`;
  return schema.type ?? "anything";
};

const table = (schema) => {
  const { properties = {}, required = [] } = resolved(schema);
  const rows = Object.entries(properties).map(([name, one]) =>
    made("tr", {},
      made("td", {}, made("code", { textContent: name }), required.includes(name) ? " (required)" : ""),
      made("td", { textContent: kind(one) }),
      made("td", { textContent: one.description ?? "" })));
  const head = made("tr", {}, ...["name", "type", "meaning"].map((text) => made("th", { textContent: text, scope: "col" })));
  return rows.length ? made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)) : "";
};

const tried = async (method, path, fields, body, shown) => {
  const query = new URLSearchParams();
  let target = path;
  for (const { name, place, input } of fields) {
    if (place === "path") target = target.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value) query.set(name, input.value);
  }
  const headers = {};
  const key = document.getElementById("key").value;
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  shown.textContent = "...";
  try {
    const answer = await fetch(query.size ? `${target}?${query}` : target, { method, headers, body: body?.value });
    const type = answer.headers.get("content-type") ?? "";
    const text = type.startsWith("image/") ? `a picture of ${(await answer.blob()).size} bytes` : await answer.text();
    let pretty = text;
    try { pretty = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: as it is */ }
    shown.textContent = `${answer.status}\n${pretty}`;
  } catch (error) {
    shown.textContent = String(error);
  }
};

const route = (path, method, about) => {
  const fields = (about.parameters ?? []).map(({ name, in: place, required, description: meaning }) =>
    ({ name, place, input: made("input", { required: Boolean(required), placeholder: meaning ?? "" }) }));
  const content = about.requestBody?.content?.["application/json"];
  const example = resolved(content?.schema).examples?.[0] ?? {};
  const body = content && made("textarea", { value: JSON.stringify(example, null, 2), spellcheck: false });
  const shown = made("pre", { textContent: "" });
  const button = made("button", { type: "button", textContent: "Try it" });
  button.addEventListener("click", () => tried(method.toUpperCase(), path, fields, body, shown));
  const inputs = fields.map(({ name, input }) => made("label", {}, `${name} `, input));
  return made("details", {},
    made("summary", {},
      made("span", { className: "method", textContent: method.toUpperCase() }),
      made("code", { textContent: path }), ` ${about.description ?? ""}`),
    ...inputs,
    ...(body ? [made("label", {}, "body ", body), table(content.schema)] : []),
    button, shown);
};

document.getElementById("about").textContent = description.info.description;
const groups = new Map();
for (const [path, methods] of Object.entries(description.paths))
  for (const [method, about] of Object.entries(methods)) {
    const tag = about.tags?.[0] ?? "other";
    groups.set(tag, [...(groups.get(tag) ?? []), route(path, method, about)]);
  }
for (const [tag, routes] of groups)
  document.getElementById("routes").append(made("h2", { textContent: tag }), ...routes);
