"""Search only documents whose metadata fits. Filters act before scoring: k is filled from what is allowed."""

import tempfile
from datetime import date
from pathlib import Path

import zipfian as zf

PAPERS = [
    ("a1", "Sparse vectors for search", "en", 2019, ["ir"], date(2019, 5, 1)),
    ("a2", "Search with dense vectors", "en", 2021, ["ir", "neural"], date(2021, 7, 9)),
    ("a3", "Suche mit Vektoren", "de", 2021, ["ir"], date(2021, 2, 3)),
    ("a4", "Vectors in physics", "en", 2023, ["physics"], date(2023, 1, 1)),
    ("a5", "Neural search engines", "en", 2024, ["ir", "neural"], date(2024, 3, 3)),
]

with tempfile.TemporaryDirectory() as folder, zf.Collection.create(Path(folder) / "papers.zf") as papers:
    papers.add(
        {
            "id": key,
            "text": title,
            "metadata": {"lang": lang, "year": year, "topics": topics, "published": published},
        }
        for key, title, lang, year, topics, published in PAPERS
    )
    papers.commit()
    print("columns:", dict(papers.columns))

    for where in (
        None,
        {"lang": "en"},
        {"year": {">=": 2020, "<": 2024}},
        {"topics": "neural"},  # one of a list's elements
        {"published": {">": "2022-12-31"}},
        {"or": [{"lang": "de"}, {"not": {"topics": "ir"}}]},
    ):
        found = papers.search("vectors search vektoren", where=where)
        print(f"{where!s:<50}", [hit.id for hit in found])
