"""Another formula, for one search or while a collection is open, is as good as one that was there from the start."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.equality.compare import FORMULAS, fresh, ranking
from tests.equality.texts import paragraphs
from zipfian.fields import Field, Sparse, Words
from zipfian.retrieve.scoring import Scoring
from zipfian.vocabulary import Pruning

DOCUMENTS = [
    {**d, "terms": {"latent": {len(d["text"]) % 30: 1.0 + d["metadata"]["n"] / 7, 30 + d["metadata"]["n"] % 9: 0.2}}}
    for d in paragraphs()[:500]
]
QUERIES = ["asynchronous generator", "class attributes of an instance method", "import the module", {3: 1.0, 31: 0.4}]
BASE: Scoring = zf.BM25(k1=0.5, b=0.2, variant="atire", phi="sqrt")


def fields(formula: Scoring, pruning: Pruning) -> dict[str, Field]:
    return {
        "words": Words(scoring=formula, pruning=pruning),
        "latent": Sparse(40, scoring=formula, pruning=pruning),
    }


@pytest.mark.parametrize("pruning", [Pruning(), Pruning(max_df_share=0.1, min_weight=0.15)], ids=["all", "pruned"])
def test_overrides_equal_a_collection_made_with_the_formula(quick_path: Path, pruning: Pruning) -> None:
    fresh(quick_path / "base", fields(BASE, pruning), DOCUMENTS).close()
    for n, formula in enumerate(FORMULAS):
        with (
            fresh(quick_path / str(n), fields(formula, pruning), DOCUMENTS) as made,
            zf.Collection.open(quick_path / "base") as plain,
            zf.Collection.open(quick_path / "base", scoring={"words": formula, "latent": formula}) as opened,
        ):
            for query in QUERIES:
                wanted = made.search(query, 20)
                once, always = plain.search(query, 20, scoring=formula), opened.search(query, 20)
                assert ranking(once) == ranking(wanted)
                assert ranking(always) == ranking(wanted)
                assert ranking(opened.search(query, 20, scoring=BASE)) == ranking(plain.search(query, 20))
                assert once.settings["scoring"] == wanted.settings["scoring"] == formula.to_json()
                if wanted:
                    trees = [r.explain(r[0]) for r in (wanted, once, always)]
                    assert trees[0].to_dict() == trees[1].to_dict() == trees[2].to_dict()
            assert opened.stats()["fields"]["words"]["mean_length"] == made.stats()["fields"]["words"]["mean_length"]
            assert opened.searcher().settings.postings("words").scoring == formula


def test_an_override_is_not_stored(quick_path: Path) -> None:
    """Writing with another formula in use changes neither the settings nor what is stored."""
    path = quick_path / "c"
    fresh(path, fields(BASE, Pruning()), DOCUMENTS[:100]).close()
    with zf.Collection.open(path, "w", scoring={"words": zf.TfIdf(), "latent": zf.Dot()}) as c:
        c.add(DOCUMENTS[100:200])
        c.merge()
        c.commit()
        assert c.searcher().settings.postings("words").scoring == zf.TfIdf()
        with_override = ranking(c.search(QUERIES[0], 20, scoring=BASE))
    with zf.Collection.open(path) as c, fresh(quick_path / "d", fields(BASE, Pruning()), DOCUMENTS[:200]) as d:
        assert c.searcher().settings.postings("words").scoring == BASE
        assert ranking(c.search(QUERIES[0], 20)) == ranking(d.search(QUERIES[0], 20)) == with_override
        assert c.stats()["fields"]["latent"]["mean_length"] == d.stats()["fields"]["latent"]["mean_length"]
