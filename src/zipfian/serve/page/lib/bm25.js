// The formulas of the playground, as seed and library have them.

/** tf (k1 + 1) / (tf + k1 length), `length` being the penalty below. */
export const saturated = (tf, k1, penalty = 1) => (tf * (k1 + 1)) / (tf + k1 * penalty || 1);

/** 1 - b + b |D| / mean. */
export const penalty = (b, ratio) => 1 - b + b * ratio;

/** What a field applies to a frequency before it saturates: "identity" or "power:p". */
export function phi(name, tf) {
  const [kind, power] = String(name ?? "identity").split(":");
  return kind === "power" ? tf ** Number(power) : kind === "log1p" ? Math.log1p(tf) : tf;
}

/** A term of an explanation, scored anew with other k1 and b. */
export function rescored(part, field, { k1, b }) {
  const { tf, idf, query_weight: weight = 1 } = part.details;
  const ratio = field.details.length / field.details.mean_length;
  return weight * idf * saturated(phi(field.phi, tf), k1, penalty(b, ratio));
}
