// Simulation 3: query and documents as sparse vectors; the score is their product.
import { Element, define, html } from "../elements/base.js";
import "../elements/dot-ranking.js";

const TERMS = ["algorithm", "bm25", "database", "retrieval", "sparse", "vector"].map((one) => ({ key: one, label: one, accent: "f-words" }));

// Document A has the numbers of the text this is taken from; that text prints none for B, and these are ours.
const DOCUMENTS = [
  { id: "A", title: "A: Efficient bm25 sparse vector search implementations", weights: { bm25: 3.42, sparse: 1.85, vector: 2.1 } },
  { id: "B", title: "B: Relational database indexing and continuous vector embeddings", weights: { database: 3.1, vector: 1.62 } },
];

class Vector extends Element {
  template() {
    return html`<section class="play">
      <header><h2>A score is a product of two sparse vectors</h2><p>Switch terms of the query on and off. What either side lacks multiplies to nothing, so only shared terms are ever touched.</p></header>
      <p class="fine">Six terms of a vocabulary. Each document keeps its BM25 weight for those it has, and nothing for the others.</p>
      <zf-dot-ranking .terms=${TERMS} .documents=${DOCUMENTS} .off=${new Set(["algorithm", "database", "retrieval"])} .vectors=${true}></zf-dot-ranking>
    </section>`;
  }
}

define("zf-play-vector", Vector);
