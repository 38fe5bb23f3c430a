"""Try other formulas on the same files: nothing is indexed again, each search may use its own."""

import tempfile
from pathlib import Path

import zipfian as zf

TEXTS = {
    "short": "search engine",
    "medium": "a search engine finds documents; a search is fast",
    "long": "search " * 6 + "and many other words that make this text much longer than all of the others",
    "other": "a steam engine moves a train",
}
RELEVANT = {"search": {"short"}, "fast search": {"medium"}, "engine": {"short"}}

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "c"
    with zf.Collection.create(path) as collection:
        collection.add({"id": name, "text": text} for name, text in TEXTS.items())
        collection.commit()

        best = (0.0, zf.BM25())
        for k1 in (0.5, 1.5, 8.0):
            for b in (0.0, 0.4, 0.75, 1.0):
                formula = zf.BM25(k1=k1, b=b)
                precision = 0.0
                for query, wanted in RELEVANT.items():
                    found = collection.search(query, k=len(wanted), scoring=formula)
                    precision += len({hit.id for hit in found} & wanted) / len(wanted) / len(RELEVANT)
                best = max(best, (precision, formula), key=lambda row: row[0])
        print(f"best of 12 settings: precision {best[0]:.2f} with {best[1]}")

        for other in (zf.BM25(), zf.BM25(variant="lucene"), zf.BM25(phi="sqrt"), zf.TfIdf(), zf.Dot()):
            ranking = [(hit.id, round(hit.score, 2)) for hit in collection.search("fast search", scoring=other)]
            print(f"{type(other).__name__:<6} {ranking}")

    # For as long as a collection is open: impacts are then cached for this formula.
    with zf.Collection.open(path, scoring={"words": best[1]}) as collection:
        print("opened with it:", [hit.id for hit in collection.search("fast search engine")])
