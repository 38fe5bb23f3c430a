// The formulas of the playground, as seed and library have them.

/** tf (k1 + 1) / (tf + k1 length), `length` being the penalty below. */
export const saturated = (tf, k1, penalty = 1) => (tf * (k1 + 1)) / (tf + k1 * penalty || 1);

/** 1 - b + b |D| / mean. */
export const penalty = (b, ratio) => 1 - b + b * ratio;
