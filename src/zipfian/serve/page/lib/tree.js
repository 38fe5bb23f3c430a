// An explanation is a tree whose parts sum to its value. Here it becomes what the page draws: fields and their terms.

const BOOKKEEPING = 1e-9;

/** The leaves that say something, under the field each belongs to; values still sum to the tree's. */
export function byField(tree) {
  const groups = new Map();
  const group = (name, node) => {
    if (!groups.has(name)) groups.set(name, { field: name, value: 0, parts: [], node: null });
    const one = groups.get(name);
    if (node?.kind === "field") one.node ??= node;
    return one;
  };
  walk(tree, tree.field ?? null, (leaf, field, above) => {
    const one = group(leaf.field ?? field ?? "", above);
    one.value += leaf.value ?? 0;
    one.parts.push(leaf);
  });
  const out = [...groups.values()].filter((one) => Math.abs(one.value) > BOOKKEEPING || one.parts.some(speaks));
  for (const one of out) one.parts.sort((a, b) => b.value - a.value);
  return out.sort((a, b) => b.value - a.value);
}

function walk(node, field, visit, above = null) {
  const own = node.field ?? field;
  const inside = node.kind === "field" ? node : above;
  if (!node.parts?.length) visit(node, own, inside);
  else for (const part of node.parts) walk(part, own, visit, inside);
}

/** All but what floating point lost on the way. */
export const speaks = (part) => part.kind !== "correction";

/** Whether any part is a term: where none is, and no vector speaks either, nothing is shared. */
export function sharesNothing(tree) {
  let any = false;
  walk(tree, null, (leaf) => (any ||= leaf.kind !== "correction" && leaf.kind !== "baseline" && Math.abs(leaf.value ?? 0) > BOOKKEEPING));
  return !any;
}

export const name = (part) =>
  ({ baseline: "less the field's own average", coverage: "has every word asked for", cosine: "likeness of the vectors" })[part.kind] ??
  part.label;

export const keyOf = (part) => `${part.field ?? ""}:${part.term ?? part.kind}`;

/** How far two explanations are apart, by field and reason: its values sum to the difference of theirs. */
export function difference(a, b) {
  const groups = new Map();
  for (const [tree, sign] of [[a, 1], [b, -1]]) {
    for (const { field, parts } of byField(tree)) {
      if (!groups.has(field)) groups.set(field, new Map());
      const reasons = groups.get(field);
      for (const part of parts) {
        const key = keyOf(part);
        reasons.set(key, { ...part, value: (reasons.get(key)?.value ?? 0) + sign * part.value });
      }
    }
  }
  const out = [...groups].map(([field, reasons]) => {
    const parts = [...reasons.values()].filter((part) => Math.abs(part.value) > BOOKKEEPING);
    return { field, parts, value: parts.reduce((sum, part) => sum + part.value, 0) };
  });
  return out.filter((one) => one.parts.length).sort((x, y) => y.value - x.value);
}
