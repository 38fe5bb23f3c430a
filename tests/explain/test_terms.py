"""An explanation is the score itself, taken apart: its parts, added in order, give it to the last bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.equality.compare import FORMULAS
from tests.equality.texts import paragraphs
from zipfian.encode.passages import Reading
from zipfian.errors import InvalidInput
from zipfian.explain.terms import compare, describe
from zipfian.fields import Sparse, Words
from zipfian.limits import MAX_EVIDENCE
from zipfian.types import Explanation
from zipfian.vocabulary import Pruning
from zipfian.vocabulary import Words as Analyser

N_TERMS = 50


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> zf.Collection:
    """The language reference in several segments with deleted documents, and a field of made-up terms."""
    rng = np.random.default_rng(2)
    documents = []
    for d in paragraphs():
        ids = np.flatnonzero(rng.random(N_TERMS) < 0.1)
        documents.append({**d, "terms": {"latent": (ids, rng.uniform(0.05, 4.0, len(ids)))}})
    fields = {"words": Words(), "latent": Sparse(N_TERMS)}
    c = zf.Collection.create(tmp_path_factory.mktemp("explain") / "c", fields)
    for start in range(0, len(documents), 700):
        c.add(documents[start : start + 700])
        c.commit()
    c.delete([d["id"] for d in documents[::9]])
    c.upsert(documents[4:300:11])
    c.commit()
    return c


def check_sums(tree: Explanation) -> int:
    """Every node is the sum of its parts, exactly; returns the nodes."""
    if tree.parts:
        total = 0.0
        for part in tree.parts:
            total += part.value
        assert total == tree.value
    return 1 + sum(map(check_sums, tree.parts))


def check_evidence(c: zf.Collection, doc_id: str, tree: Explanation) -> int:
    """Every place is a piece of the text that the analyser turns into the term; returns the places."""
    text, words, places = c.get(doc_id).text, Analyser(), 0
    assert (tree.kind, tree.field) == ("field", "words")
    for part in tree.parts:
        assert (part.kind, part.field, part.term) == ("term", "words", part.label)
        assert part.evidence, (doc_id, part.label)
        for place in part.evidence:
            piece = text[place["start"] : place["end"]]
            assert piece == place["text"]
            assert part.label in words.terms(piece), (part.label, piece)
        shown = len(part.evidence) + part.details.get("more_places", 0)
        assert shown == part.details["tf"]
        assert len(part.evidence) <= MAX_EVIDENCE
        places += shown
    return places


def test_1000_random_pairs(reference: zf.Collection, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(8)
    ids = list(reference.ids())
    vocabulary = sorted({w for d in paragraphs()[::5] for w in d["text"].split()})
    pairs = found = places = nodes = 0
    while pairs < 1_000:
        query = " ".join(rng.choice(vocabulary, rng.integers(1, 9)))
        formula = FORMULAS[pairs % len(FORMULAS)]
        results = reference.search(query, 1_000, scoring=formula)
        scores = {h.id: h.score for h in results}
        for doc_id in rng.choice(ids, 15).tolist() + [h.id for h in results[:5]]:
            tree = reference.explain(query, doc_id, scoring=formula)
            assert tree.value == scores.get(doc_id, 0.0)
            assert tree.value == reference.score("words", query, [doc_id], scoring=formula)[0]
            nodes += check_sums(tree)
            places += check_evidence(reference, doc_id, tree)
            pairs += 1
            found += doc_id in scores
    with capsys.disabled():
        print(
            f"\nexplain: {pairs} random (query, document) pairs, {found} of them hits: the parts sum to the score "
            f"exactly ({nodes} nodes, {places} places in the texts)"
        )
    assert found > 200


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_every_hit_of_a_field_of_terms(reference: zf.Collection, formula: zf.BM25) -> None:
    rng = np.random.default_rng(4)
    for _ in range(4):
        terms = np.flatnonzero(rng.random(N_TERMS) < 0.15)
        results = reference.search((terms, rng.uniform(0.5, 2.0, len(terms))), 60, scoring=formula)
        assert len(results) == 60
        for hit in results:
            tree = results.explain(hit)
            assert tree.value == hit.score
            check_sums(tree)
            assert {p.term for p in tree.parts} <= set(terms.tolist())
            assert all(type(p.term) is int and p.field == "latent" for p in tree.parts)
            assert not any(p.evidence for p in tree.parts)


def test_the_numbers_behind_a_bm25_score(reference: zf.Collection) -> None:
    """tf, df, idf, norm and query weight are enough to compute each part by hand."""
    results = reference.search("generator generator expression", 5)
    for hit in results:
        tree = results.explain(hit)
        n, length, mean = (tree.details[key] for key in ("N", "length", "mean_length"))
        assert n == reference.stats()["fields"]["words"]["passages"] > len(reference), "some texts are long"
        span = results.passage(hit)
        assert length == len(Analyser().terms(hit.text if span is None else Reading.of(hit.text, span).text))
        assert mean == pytest.approx(reference.stats()["fields"]["words"]["mean_length"])
        for part in tree.parts:
            d = part.details
            assert d["idf"] == pytest.approx(np.log1p((n - d["df"] + 0.5) / (d["df"] + 0.5)))
            assert d["norm"] == pytest.approx(1.5 * (0.25 + 0.75 * length / mean))
            assert part.value == pytest.approx(d["query_weight"] * d["idf"] * 2.5 * d["tf"] / (d["tf"] + d["norm"]))
            assert d["query_weight"] == (2.0 if part.term == "generat" else 1.0)


def test_lengths_are_shown_in_units_of_weight_under_any_phi(reference: zf.Collection) -> None:
    query = {3: 1.0, 4: 1.0}
    hit = reference.search(query, 1)[0]
    plain = reference.explain(query, hit.id).details
    root = reference.explain(query, hit.id, scoring=zf.BM25(phi="sqrt")).details
    assert 0.0 < plain["length"] < 50.0
    assert 0.0 < root["length"] < 50.0
    assert root["mean_length"] != plain["mean_length"]


def test_a_document_that_is_no_hit(reference: zf.Collection) -> None:
    query = "zebra unheardof generator"
    others = [i for i in reference.ids() if i not in {h.id for h in reference.search(query, 1_000)}]
    tree = reference.explain(query, others[0])
    assert tree.value == 0.0
    assert tree.parts == ()
    assert tree.to_dict()["label"] == "words: BM25(k1=1.5, b=0.75)"
    assert str(tree).startswith("0.0000")
    with pytest.raises(InvalidInput, match=r"no document 'no such id' in generation \d+"):
        reference.explain(query, "no such id")
    gone = paragraphs()[9]["id"]
    with pytest.raises(InvalidInput, match="there is no document"):
        reference.explain(query, gone)


def test_printable_and_json(reference: zf.Collection) -> None:
    results = reference.search("asynchronous generator functions", 3)
    tree = results.explain(results[0])
    assert json.loads(json.dumps(tree.to_dict())) == tree.to_dict()
    shown = str(tree)
    assert "words: BM25(k1=1.5, b=0.75)" in shown
    assert all(part.label in shown for part in tree.parts)


def test_why_one_document_stands_above_another(reference: zf.Collection) -> None:
    query = "asynchronous generator functions and the await expression"
    results = reference.search(query, 30)
    for first, second in ((results[0], results[9]), (results[9], results[0]), (results[3], results[29])):
        tree = reference.why(query, first.id, second.id)
        assert tree == results.why(first, second)
        check_sums(tree)
        assert tree.value == pytest.approx(first.score - second.score, abs=1e-12)
        above, below = (first, second) if first.score > second.score else (second, first)
        assert tree.label == f"{above.id!r} scores above {below.id!r}"
        assert tree.details == {first.id: first.score, second.id: second.score}
        sizes = [abs(part.value) for part in tree.parts]
        assert sizes == sorted(sizes, reverse=True)
        for part in tree.parts:
            assert part.value == part.details[first.id] - part.details[second.id]
    same = reference.why(query, results[0].id, results[0].id)
    assert same.value == 0.0
    assert same.label.endswith("score the same")
    other = reference.why(query, results[0].id, results[9].id, scoring=zf.Dot())
    assert other.details[results[0].id] == reference.score("words", query, [results[0].id], scoring=zf.Dot())[0]


def test_parts_are_compared_by_what_they_are() -> None:
    """Two latent terms that bear one label stay two, a token that the query repeats is one, with all it gave."""

    def tree(values: Sequence[float]) -> Explanation:
        latent = [Explanation(v, "cat", (), {}, (), "term", "latent", j) for j, v in enumerate(values[:2])]
        tokens = [Explanation(v, "the", kind="token", field="latent") for v in values[2:4]]
        word = Explanation(values[4], "cat", (), {}, (), "term", "words", "cat")
        return Explanation(sum(values), "tree", (*latent, *tokens, word))

    found = compare(tree([5.0, 1.0, 0.5, 0.25, 8.0]), tree([1.0, 3.0, 0.25, 0.25, 1.0]), "a", "b")
    assert found.kind == "difference" and found.value == 14.75 - 5.5
    assert [(p.kind, p.field, p.term, p.value) for p in found.parts] == [
        ("term", "words", "cat", 7.0),
        ("term", "latent", 0, 4.0),
        ("term", "latent", 1, -2.0),
        ("token", "latent", None, 0.25),
    ]
    assert found.parts[3].details == {"a": 0.75, "b": 0.5}


def test_a_term_that_stands_in_very_many_places(tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c") as c:
        c.add([{"id": "long", "text": "cell " * 250}, {"id": "short", "text": "a cell"}])
        c.commit()
        part = c.explain("cells", "long").parts[0]
        assert part.details["tf"] == 250.0
        assert len(part.evidence) == MAX_EVIDENCE
        assert part.details["more_places"] == 150


def test_pruned_terms_are_no_part_of_a_score(tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "c", {"words": Words(pruning=Pruning(max_df_share=0.5))}) as c:
        c.add([{"id": str(i), "text": f"common rare{i}"} for i in range(4)])
        c.commit()
        tree = c.explain("common rare2", "2")
        assert [part.label for part in tree.parts] == ["rare2"]
        assert tree.details["length"] == 1.0
        assert tree.details["mean_length"] == 1.0


def test_describe() -> None:
    assert describe(zf.BM25()) == "BM25(k1=1.5, b=0.75)"
    assert describe(zf.BM25(k1=8, b=0.7, variant="lucene", phi="sqrt")) == "BM25(k1=8, b=0.7, lucene, phi=sqrt)"
    assert describe(zf.Dot()) == "Dot()"
    assert describe(zf.TfIdf(phi=0.7)) == "TfIdf(phi=power:0.7)"
