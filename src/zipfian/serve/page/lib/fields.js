// What fields are called, and which accent each has: the same in bars, chips, marks and charts.

const ABOUT = {
  words: ["words", "the words themselves"],
  latent: ["latent", "meaning, as terms of a sparse autoencoder"],
  dense: ["dense", "likeness of whole vectors"],
  multilingual: ["dense", "meaning across languages, as one vector"],
  visual: ["visual", "visual words: what patches of a picture look like"],
  aligned: ["aligned", "texts and pictures in one space"],
  translated: ["translated", "words read as visual words"],
};

/** Class of a field's accent, from its kind or, in an explanation, from its name. */
export function accent(field, info) {
  const kind = info?.fields.find((one) => one.name === field)?.kind ?? field;
  return `f-${ABOUT[kind]?.[0] ?? "other"}`;
}

export const about = (kind) => ABOUT[kind]?.[1] ?? "";

const METHODS = {
  "": "Default",
  hybrid: "Hybrid",
  rrf: "Rank fusion",
  linear: "Weighted sum",
  fusion: "Fusion of papers",
  tfidf: "TF-IDF",
  "two-stage": "Two stages",
  "training-free": "Training-free rerank",
  late: "Late interaction",
  "latent-table": "Latent, no network",
};
export const methodName = (method) => METHODS[method] ?? `Only ${method}`;
export const presetName = (preset) => preset.replace("-first", " first").replace(/^./, (c) => c.toUpperCase());
