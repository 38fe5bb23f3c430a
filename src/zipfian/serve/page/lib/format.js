// Numbers and names as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

/** A score: as many digits as tell hits apart. Parts are written as what they sum to (`like`), so that the sum can be checked. */
export function score(value, like = value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(like ?? value);
  const digits = size >= 1000 ? 1 : size >= 100 ? 2 : size >= 0.2 || size === 0 ? 3 : 5;
  return fixed(value, digits);
}

export const fixed = (value, digits) => value.toFixed(digits).replace(/^-(?=0(\.0*)?$)/, "").replace("-", "−");

export const signed = (value, like = value) => (value > 0 ? "+" : "") + score(value, like);

export const percent = (share) => `${Math.round(100 * share)} %`;

export function seconds(value) {
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${(value * 1e3).toFixed(value < 0.01 ? 1 : 0)} ms`;
  return `${value.toFixed(2)} s`;
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** What the first line of a text says, as a title, and the rest. */
export function titled(text, most = 120) {
  const line = (text ?? "").trimStart().split("\n", 1)[0].trim();
  return line.length > most ? `${line.slice(0, most).replace(/\s\S*$/, "")} …` : line;
}

/** Values of metadata in one line. */
export const plain = (value) => (Array.isArray(value) ? value.join(", ") : value === null ? "none" : String(value));
