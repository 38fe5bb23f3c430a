// Offsets count characters (code points); strings here count UTF-16 units. And: which places a part of a score stands at.

/** A function from code points to units of this text. */
export function unitsOf(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (n) => Math.min(n, text.length);
  const at = [0];
  for (const character of text) at.push(at.at(-1) + character.length);
  return (n) => at[Math.min(n, at.length - 1)];
}

/** A text cut where marks begin and end: runs of {text, keys}, `keys` being the marks that cover it. */
export function runs(text, marks, from = 0) {
  const units = unitsOf(text);
  const cuts = new Set([0, text.length]);
  const placed = marks
    .map((mark) => ({ ...mark, start: units(Math.max(0, mark.start - from)), end: units(Math.max(0, mark.end - from)) }))
    .filter((mark) => mark.end > mark.start);
  for (const mark of placed) cuts.add(mark.start).add(mark.end);
  const sorted = [...cuts].sort((a, b) => a - b);
  return sorted.slice(1).map((end, n) => {
    const start = sorted[n];
    return { text: text.slice(start, end), marks: placed.filter((mark) => mark.start <= start && mark.end >= end) };
  });
}

/** A passage around the first of some marks, in one paragraph's length; offsets stay those of the whole text. */
export function around(text, marks, most = 260) {
  const characters = [...text];
  const first = Math.min(...marks.map((mark) => mark.start), characters.length);
  let start = marks.length ? Math.max(0, Math.min(first - most / 3, characters.length - most)) | 0 : 0;
  while (start > 0 && /\S/.test(characters[start - 1])) start--;
  let end = Math.min(characters.length, start + most);
  while (end < characters.length && /\S/.test(characters[end])) end++;
  return { text: characters.slice(start, end).join(""), start, before: start > 0, after: end < characters.length };
}

/** Places in a text that a reader should look at: punctuation and function words come with `mark: false`. */
export const inText = (part) => (part.evidence ?? []).filter((place) => "start" in place && place.mark !== false);

/** Patches of the hit. */
export const patches = (part) => (part.evidence ?? []).filter((place) => "row" in place);

/** Patches of the query, from the places that an answer has by field and term. */
export const asked = (part, places) => (places?.[part.field]?.[String(part.term)] ?? []).filter((place) => "row" in place);
