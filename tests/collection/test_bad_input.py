"""Bad input gets an error that names what is wrong, and nothing that was there is lost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.parts import folder
from zipfian import limits
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput, LimitExceeded, ZipfianError
from zipfian.fields import Sparse, Words
from zipfian.index import lengths
from zipfian.index.commit import Writer
from zipfian.storage.directory import FSDirectory
from zipfian.vocabulary import Pruning

FIELDS = {"words": Words(), "latent": Sparse(100), "counts": Sparse(10, tf="count")}
GOOD = {"id": "good", "text": "plants make food", "terms": {"latent": {3: 1.0}}, "metadata": {"n": 1, "tags": ["x"]}}
MANY = {"id": "x", "terms": {"latent": (np.arange(101), np.ones(101))}}


@pytest.fixture
def c(quick_path: Path) -> Iterator[zf.Collection]:
    """A collection with one committed document; afterwards it must hold exactly that and work as before."""
    with zf.Collection.create(quick_path / "c", FIELDS) as collection:
        collection.add([{**GOOD, "vector": [1.0, 2.0]}])
        collection.commit()
        yield collection
        collection.commit()
        assert list(collection.ids()) == ["good"]
        assert collection.columns == {"n": "integer", "tags": "list[string]"}
        assert [h.id for h in collection.search("plant")] == ["good"]
        assert [h.id for h in collection.search({3: 1.0}, fields="latent")] == ["good"]
        # types that only refused documents had are free
        collection.add([{"id": "after", "metadata": {"new": "text"}, "vector": {"default": [0, 0], "other": [1]}}])
        assert collection.commit() > 2
        assert "after" in collection
        assert collection.check().ok


def refused(call: Callable[[], Any], kind: type[ZipfianError], problem: str) -> None:
    with pytest.raises(kind, match=problem) as caught:
        call()
    assert isinstance(caught.value, ValueError)


BAD_DOCUMENTS: list[tuple[Any, type[ZipfianError], str]] = [
    ("text", InvalidInput, "a document must be a mapping with an 'id', not str"),
    (None, InvalidInput, "a document must be a mapping with an 'id', not NoneType"),
    ({"text": "no id"}, InvalidInput, "a document without 'id' (it has 'text')"),
    ({"id": ""}, InvalidInput, "a document id must not be empty"),
    ({"id": 7}, InvalidInput, "a document id must be a string, not int (7)"),
    ({"id": b"bytes"}, InvalidInput, "a document id must be a string, not bytes"),
    ({"id": None}, InvalidInput, "a document id must be a string, not NoneType"),
    ({"id": "é" * 257}, LimitExceeded, "a document id of 514 bytes"),
    ({"id": "\ud800"}, InvalidInput, "is not valid Unicode"),
    ({"id": "x", "txt": "typo"}, InvalidInput, "document 'x': unknown key 'txt'"),
    ({"id": "x", "text": 5}, InvalidInput, "document 'x': text must be a string, not int"),
    ({"id": "x", "text": b"bytes"}, InvalidInput, "document 'x': text must be a string, not bytes"),
    ({"id": "x", "text": "a\udfff"}, InvalidInput, "document 'x': the text is not valid Unicode (character 1)"),
    ({"id": "x", "text": "a" * (limits.MAX_TEXT_CHARS + 1)}, LimitExceeded, "document 'x': a text of 16,777,217"),
    ({"id": "x", "metadata": [1]}, InvalidInput, "document 'x': metadata must be a mapping, not list"),
    (
        {"id": "x", "metadata": {"n": "text"}},
        InvalidInput,
        "document 'x': metadata column 'n' holds values of type int",
    ),
    ({"id": "x", "metadata": {"n": True}}, InvalidInput, "document 'x': metadata column 'n'"),
    ({"id": "x", "metadata": {"tags": "y"}}, InvalidInput, "document 'x': metadata column 'tags'"),
    (
        {"id": "x", "metadata": {"new": {"deep": 1}}},
        InvalidInput,
        "document 'x': metadata column 'new': a value of type",
    ),
    (
        {"id": "x", "metadata": {"new": math.nan}},
        InvalidInput,
        "document 'x': metadata column 'new': nan is not a finite",
    ),
    ({"id": "x", "metadata": {"new": 2**63}}, InvalidInput, "does not fit 64 bits"),
    ({"id": "x", "metadata": {"new": [1, "a"]}}, InvalidInput, "must hold values of one type"),
    ({"id": "x", "metadata": {"": 1}}, InvalidInput, "a metadata column needs a name"),
    ({"id": "x", "metadata": {5: 1}}, InvalidInput, "a metadata column needs a name, got 5"),
    ({"id": "x", "metadata": {"and": 1}}, InvalidInput, "this name is reserved"),
    ({"id": "x", "metadata": {"new": "a" * 2**20}}, LimitExceeded, "document 'x': a document's metadata has"),
    ({"id": "x", "metadata": {f"new{i}": 1 for i in range(1_001)}}, LimitExceeded, "at most 1000 metadata columns"),
    ({"id": "x", "terms": [1]}, InvalidInput, "document 'x': terms must be a mapping, not list"),
    ({"id": "x", "terms": {"visual": {1: 1}}}, InvalidInput, "document 'x': there is no field 'visual'"),
    (
        {"id": "x", "terms": {"words": {1: 1}}},
        InvalidInput,
        "document 'x': field 'words' takes its terms from the text",
    ),
    ({"id": "x", "terms": {"latent": None}}, InvalidInput, "document 'x': field 'latent': terms must be Terms"),
    (
        {"id": "x", "terms": {"latent": {1: math.nan}}},
        InvalidInput,
        "field 'latent': weights must be finite and not neg",
    ),
    ({"id": "x", "terms": {"latent": {1: math.inf}}}, InvalidInput, "weights must be finite and not negative"),
    (
        {"id": "x", "terms": {"latent": {1: -0.5}}},
        InvalidInput,
        "weights must be finite and not negative: weight 0 is -0.5",
    ),
    ({"id": "x", "terms": {"latent": {1: 0.0}}}, InvalidInput, "weights must be above 0"),
    ({"id": "x", "terms": {"latent": {1: 1e-50}}}, InvalidInput, "weights must be above 0"),
    ({"id": "x", "terms": {"latent": {1: 1e7}}}, LimitExceeded, "a weight of 1e+07 is over the limit"),
    ({"id": "x", "terms": {"latent": {1: "a"}}}, InvalidInput, "weights must be numbers"),
    ({"id": "x", "terms": {"latent": {1: None}}}, InvalidInput, "weights must be numbers"),
    ({"id": "x", "terms": {"latent": {100: 1.0}}}, InvalidInput, "term ids must lie in 0 .. 99; found 100 .. 100"),
    ({"id": "x", "terms": {"latent": {-1: 1.0}}}, InvalidInput, "term ids must lie in 0 .. 99; found -1 .. -1"),
    ({"id": "x", "terms": {"latent": {2**70: 1.0}}}, InvalidInput, "term ids must be whole numbers"),
    ({"id": "x", "terms": {"latent": {2**64 - 1: 1.0}}}, InvalidInput, "term ids must lie in 0 .. 99"),
    ({"id": "x", "terms": {"latent": {1.5: 1.0}}}, InvalidInput, "term ids must be whole numbers"),
    ({"id": "x", "terms": {"latent": {"a": 1.0, 1: 1.0}}}, InvalidInput, "term ids must be whole numbers"),
    ({"id": "x", "terms": {"latent": {"a": 1.0}}}, InvalidInput, "term ids must be whole numbers"),
    ({"id": "x", "terms": {"latent": ([2, 1], [1, 1])}}, InvalidInput, "term ids must ascend without duplicates"),
    ({"id": "x", "terms": {"latent": ([2, 2], [1, 1])}}, InvalidInput, "term ids must ascend without duplicates"),
    ({"id": "x", "terms": {"latent": ([1, 2], [1])}}, InvalidInput, "(2,) term ids do not go with (1,) weights"),
    ({"id": "x", "terms": {"latent": ([[1, 2]], [[1, 1]])}}, InvalidInput, "do not go with"),
    ({"id": "x", "terms": {"latent": ([[1], 2], [1, 1])}}, InvalidInput, "plain sequences of numbers"),
    ({"id": "x", "terms": {"latent": (1, 1)}}, InvalidInput, "do not go with"),
    (MANY, InvalidInput, "term ids must lie in 0 .. 99; found 0 .. 100"),
    ({"id": "x", "terms": {"counts": {1: 1.5}}}, InvalidInput, "field 'counts': this field stores counts"),
    ({"id": "x", "vector": "abc"}, InvalidInput, "document 'x': vector 'default' must be a sequence of numbers"),
    ({"id": "x", "vector": [1.0, math.nan]}, InvalidInput, "vector 'default' holds a number that is not finite"),
    ({"id": "x", "vector": [1.0, 1e39]}, InvalidInput, "vector 'default' holds a number that is not finite"),
    ({"id": "x", "vector": []}, InvalidInput, "must have 1 to 65,536 numbers, not shape (0,)"),
    ({"id": "x", "vector": [[1.0, 2.0]]}, InvalidInput, "not shape (1, 2)"),
    ({"id": "x", "vector": 3.0}, InvalidInput, "not shape ()"),
    ({"id": "x", "vector": [1.0, 2.0, 3.0]}, InvalidInput, "vector 'default' has 3 numbers where others have 2"),
    ({"id": "x", "vector": {"": [1.0]}}, InvalidInput, "a vector's name has 1 to 128 printable characters"),
    ({"id": "x", "vector": {"\ud800": [1.0]}}, InvalidInput, "a vector's name has 1 to 128 printable characters"),
    ({"id": "x", "vector": {f"v{i}": [1.0] for i in range(33)}}, LimitExceeded, "at most 32 kinds of vectors"),
    (
        {"id": "x", "metadata": {"new": 1}, "vector": {"other": [1.0, 2.0]}, "terms": {"latent": {1: -1.0}}},
        InvalidInput,
        "document 'x': field 'latent': weights must be finite",
    ),
    ({**GOOD, "metadata": {"new": 1}, "vector": {"other": [1.0, 2.0]}}, InvalidInput, "'good' is in the collection"),
]


@pytest.mark.parametrize(("raw", "kind", "problem"), BAD_DOCUMENTS, ids=lambda v: str(v)[:60])
def test_bad_documents(c: zf.Collection, raw: Any, kind: type[ZipfianError], problem: str) -> None:
    refused(lambda: c.add([raw]), kind, re.escape(problem))


def test_documents_before_a_bad_one_are_kept(c: zf.Collection) -> None:
    for bad in ({"id": "bad", "text": 1}, {"id": "good"}):
        three: list[dict[str, Any]] = [{"id": "before", "text": "x"}, bad, {"id": "behind"}]
        refused(partial(c.add, three), InvalidInput, str(bad["id"]))
        assert c.delete(["before", "behind"]) == 1


def test_an_iterable_that_raises(c: zf.Collection) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"id": "before", "text": "x"}
        raise OSError("the source went away")

    with pytest.raises(OSError, match="went away"):
        c.add(broken())
    assert c.delete(["before"]) == 1

    def interrupted(taken: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        c.add([{"id": "x"}], progress=interrupted)
    assert c.delete(["x"]) == 1

    def broken_ids() -> Iterator[str]:
        yield "good"
        raise OSError("the source went away")

    with pytest.raises(OSError, match="went away"):
        c.delete(broken_ids())


def test_types_of_a_refused_or_skipped_document_do_not_stay(c: zf.Collection) -> None:
    """A duplicate is noticed after its metadata was looked at."""
    twice = {"id": "good", "metadata": {"late": 1}, "vector": {"other": [1.0, 2.0, 3.0]}}
    refused(lambda: c.add([twice]), InvalidInput, "in the collection already")
    assert c.add([twice], existing="skip") == 0
    assert c.add([{"id": "x", "metadata": {"late": "text"}, "vector": {"other": [1.0]}}]) == 1
    assert c.delete(["x"]) == 1
    c.rollback()


def test_a_word_that_phi_cannot_hold_is_refused_at_once(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DOCUMENT_TERMS", 500)
    monkeypatch.setattr(lengths, "MAX_PHI_WEIGHT", 200.0)
    with zf.Collection.create(quick_path / "c", {"words": Words(scoring=zf.BM25(phi=0.9))}) as c:
        raw = {"id": "x", "text": "very " * 400}
        refused(lambda: c.add([raw]), LimitExceeded, "document 'x': phi='power:0.9' turns a weight into")
        c.add([{"id": "y", "text": "very " * 300}])
        c.commit()
        assert [h.id for h in c.search("very")] == ["y"]


def test_a_text_with_too_many_different_words_is_refused_at_once(
    c: zf.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when it is written: then no later commit could succeed."""
    monkeypatch.setattr(limits, "MAX_DOCUMENT_TERMS", 2_000)
    text = " ".join(map(hex, range(limits.MAX_DOCUMENT_TERMS + 10)))
    refused(lambda: c.add([{"id": "x", "text": text}]), LimitExceeded, "document 'x': a text has 2,010 distinct terms")


@pytest.mark.parametrize(
    ("call", "kind", "problem"),
    [
        (lambda c: c.add({"id": "x"}), InvalidInput, "put a single document into a list"),
        (lambda c: c.add(None), InvalidInput, "an iterable of documents, not NoneType"),
        (
            lambda c: c.add([], existing="ignore"),
            InvalidInput,
            "existing must be 'error', 'skip' or 'replace', not 'ig",
        ),
        (lambda c: c.delete("good"), InvalidInput, "put a single id into a list"),
        (lambda c: c.delete(None), InvalidInput, "an iterable of ids"),
        (lambda c: c.delete(["good", 7]), InvalidInput, "a document id must be a string, not int"),
        (lambda c: c.delete(["good", ""]), InvalidInput, "must not be empty"),
        (lambda c: c.merge(0), InvalidInput, "max_segments must be a whole number from 1, not 0"),
        (lambda c: c.merge(1.5), InvalidInput, "max_segments must be a whole number from 1, not 1.5"),
        (lambda c: c.commit(user={"x": object()}), InvalidInput, "must be JSON"),
        (lambda c: c.commit(user={1: "a"}), InvalidInput, "must be JSON"),
        (lambda c: c.commit(user={"x": math.nan}), InvalidInput, "must be JSON"),
        (lambda c: c.commit(user=[1]), InvalidInput, "must be a mapping, not list"),
        (lambda c: c.search("plant", k=0), InvalidInput, "k must be at least 1, not 0"),
        (lambda c: c.search("plant", k=-3), InvalidInput, "k must be at least 1, not -3"),
        (lambda c: c.search("plant", k=10**9), LimitExceeded, "k is 1000000000, the limit is 1000000"),
        (lambda c: c.search("plant", k=2.5), InvalidInput, "k must be a whole number, not 2.5"),
        (lambda c: c.search("plant", k="3"), InvalidInput, "k must be a whole number, not '3'"),
        (lambda c: c.search("unheardof", k=0), InvalidInput, "k must be at least 1, not 0"),
        (lambda c: c.search(""), InvalidInput, "the query is empty"),
        (lambda c: c.search(" \n"), InvalidInput, "the query is empty"),
        (lambda c: c.search({}, fields="latent"), InvalidInput, "the query has no terms"),
        (lambda c: c.search(([], []), fields="latent"), InvalidInput, "the query has no terms"),
        (lambda c: c.search(None), InvalidInput, "nothing to look for: give a text, a picture"),
        (lambda c: c.search(b"plant"), InvalidInput, "a query is a text, Terms, .* not bytes"),
        (lambda c: c.search(7), InvalidInput, "a query is a text, Terms, .* not int"),
        (lambda c: c.search([1, 2, 3], fields="latent"), InvalidInput, "terms must be Terms, "),
        (lambda c: c.search("a " * 10**6), LimitExceeded, "a query of 2,000,000 characters"),
        (lambda c: c.search(" ".join(map(hex, range(5_000)))), LimitExceeded, "a query of 5,000 terms"),
        (lambda c: c.search({100: 1.0}, fields="latent"), InvalidInput, r"term ids must lie in 0 .. 99"),
        (lambda c: c.search({1: -1.0}, fields="latent"), InvalidInput, "weights must be finite and not negative"),
        (lambda c: c.search({1: math.nan}, fields="latent"), InvalidInput, "weights must be finite"),
        (lambda c: c.search({1: 1e7}, fields="latent"), LimitExceeded, "over the limit"),
        (lambda c: c.search(([2, 1], [1, 1]), fields="latent"), InvalidInput, "must ascend without duplicates"),
        (lambda c: c.search("plant", where={"year": 1}), InvalidInput, "unknown metadata column 'year'"),
        (lambda c: c.search("plant", where={"n": "text"}), InvalidInput, "column 'n' is of type integer"),
        (lambda c: c.search("plant", where={"n": {"~": 1}}), InvalidInput, "unknown operator '~'"),
        (lambda c: c.search("plant", where=[1]), InvalidInput, "a filter is a mapping"),
        (lambda c: c.search("unheardof", where={"year": 1}), InvalidInput, "unknown metadata column 'year'"),
        (lambda c: c.search("plant", scoring="bm25"), InvalidInput, r"scoring must be BM25\(...\)"),
        (lambda c: c.search("plant", fields="nothing"), InvalidInput, "there is no field 'nothing'"),
        (
            lambda c: c.search("plant", fields=3),
            InvalidInput,
            "fields= is the name of a field, or a sequence of names, not 3",
        ),
        (lambda c: c.score("words", "plant", "good"), InvalidInput, "put a single id into a list"),
        (lambda c: c.score("words", "plant", [3]), InvalidInput, "a document id must be a string"),
        (lambda c: c.score("words", "", ["good"]), InvalidInput, "the query is empty"),
        (lambda c: c.explain("plant", "nobody"), InvalidInput, "there is no document 'nobody' in generation 2"),
        (lambda c: c.explain("plant", 5), InvalidInput, "a document id must be a string"),
        (lambda c: c.why("plant", "good", "nobody"), InvalidInput, "there is no document 'nobody'"),
        (lambda c: c.get(5), InvalidInput, "a document id must be a string"),
        (lambda c: c.vector("nobody"), InvalidInput, "there is no document 'nobody'"),
    ],
    ids=lambda v: str(v)[:50] if not callable(v) else "",
)
def test_bad_calls(c: zf.Collection, call: Callable[[zf.Collection], Any], kind: Any, problem: str) -> None:
    refused(lambda: call(c), kind, problem)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda p: zf.Collection.create(p, "words"),
            r"a mapping or the name of a set \(high-quality\), not .*words",
        ),
        (lambda p: zf.Collection.create(p, []), "needs at least one field"),
        (lambda p: zf.Collection.create(p, ["codes"]), "field 'codes' needs settings"),
        (lambda p: zf.Collection.create(p, {"words": None}), "field 'words' is made with zipfian.Words"),
        (lambda p: zf.Collection.create(p, {"Words": Words()}), "a field name starts with a lower-case letter"),
        (lambda p: zf.Collection.create(p, {"a/b": Words()}), "a field name starts with a lower-case letter"),
        (lambda p: zf.Collection.create(p, {"a" * 200: Words()}), "a field name starts with a lower-case letter"),
        (lambda p: zf.Collection.create(p, {f"l{i}": Words() for i in range(33)}), "at most 32 fields"),
        (lambda p: zf.Collection.create(p, memory_bytes=-1), "memory_bytes must be a whole number of bytes, not -1"),
        (lambda p: zf.Collection.create(p, cache_bytes="1G"), "cache_bytes must be a whole number of bytes, not '1G'"),
        (lambda p: zf.Collection.create(None), "the path of a collection must be a string or a Path, not None"),
        (lambda p: zf.Collection.create(""), "the path of a collection must be a string or a Path, not ''"),
        (lambda p: zf.Collection.open(5), "the path of a collection must be a string or a Path, not 5"),
        (lambda p: zf.Collection.open(p, "x"), "mode must be 'r' or 'w', not 'x'"),
        (lambda p: zf.Collection.open(p, scoring=zf.BM25()), "scoring must name the fields"),
        (lambda p: Sparse(0), "n_terms must be a whole number from 1"),
        (lambda p: Sparse("many"), "n_terms must be a whole number from 1"),
        (lambda p: Sparse(2**31), "n_terms must be a whole number from 1"),
        (lambda p: Sparse(5, tf="int8"), "tf must be 'fixed', 'float32' or 'count', not 'int8'"),
        (lambda p: Sparse(5, scale=0.0), "scale must be a number from 1e-18 to 1e.18, not 0.0"),
        (lambda p: Sparse(5, scale=math.nan), "scale must be a number from 1e-18 to 1e.18, not nan"),
        (lambda p: Sparse(5, scale="100"), "scale must be a number from 1e-18"),
        (lambda p: Sparse(5, scoring="bm25"), r"scoring must be BM25\(...\)"),
        (lambda p: Words(pruning={"top_k": 3}), r"pruning must be Pruning\(...\)"),
        (lambda p: Words(colour="red"), "unknown word setting: .*colour"),
        (lambda p: Words(language="klingon"), "klingon"),
        (lambda p: Words(settings={"stem": True}), r"settings must be WordSettings\(...\)"),
        (lambda p: Pruning(top_k=0), "top_k must be between 1"),
        (lambda p: zf.BM25(k1=-1), "k1 must be a number"),
        (lambda p: zf.BM25(b=2), "b must"),
        (lambda p: zf.BM25(variant="okapi"), "unknown BM25 variant 'okapi'"),
        (lambda p: zf.BM25(phi="log"), "phi must be"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_settings(tmp_path: Path, call: Callable[[Path], Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        call(tmp_path / "c")
    assert isinstance(caught.value, ZipfianError)
    assert list(tmp_path.iterdir()) == []  # nothing was made on the way


def test_scoring_of_an_open_collection(c: zf.Collection) -> None:
    path = folder(c)._directory.path
    refused(lambda: zf.Collection.open(path, scoring={"visual": zf.BM25()}), InvalidInput, "there is no field 'visual'")
    refused(lambda: zf.Collection.open(path, scoring={"words": "bm25"}), InvalidInput, "scoring must be BM25")


def rewrite_settings(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A commit whose settings another zipfian might have written."""
    writer = Writer(FSDirectory(path))
    settings = json.loads(json.dumps(writer.settings))
    change(settings)
    writer.settings = settings
    writer.commit()
    writer.close()


def test_collections_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "c"
    zf.Collection.create(path).close()
    rewrite_settings(path, lambda s: s.update(version=2))
    with pytest.raises(FormatTooNew, match=r"/c: settings: written by a newer zipfian \(version 2\); upgrade"):
        zf.Collection.open(path)
    rewrite_settings(path, lambda s: (s.update(version=1), s["fields"][0].update(kind="hologram")))
    with pytest.raises(FormatTooNew, match="field 'words' is of kind 'hologram'"):
        zf.Collection.open(path, "w")
    rewrite_settings(path, lambda s: s["fields"][0].update(kind="words", fingerprint="words-1:english:snowball-0:ff"))
    with pytest.raises(FingerprintMismatch, match="built with the analyser words-1:english:snowball-0:ff"):
        zf.Collection.open(path)
    rewrite_settings(path, lambda s: s.pop("fields"))
    with pytest.raises(ZipfianError, match="collection settings cannot be read"):
        zf.Collection.open(path)
    with pytest.raises(ZipfianError):
        zf.Collection.open(path, "w")
    Writer(FSDirectory(path)).close()  # the failed attempts gave the lock back


def test_odd_but_right(tmp_path: Path) -> None:
    """What looks strange and is allowed."""
    ids = ["\0", " ", "a\nb", "é" * 256, "日本語", "../../etc/passwd", "\U0001f600", "e\u0301", "é", "NULL"]
    documents = [
        {"id": i, "text": f"number {n}", "metadata": {"when": datetime(1, 1, 1, tzinfo=UTC), "none": None, "x y": [n]}}
        for n, i in enumerate(ids)
    ]
    with zf.Collection.create(tmp_path / "c", {"words": Words(), "t": Sparse(2**31 - 2, tf="float32")}) as c:
        c.add(documents)
        c.upsert([{"id": "big", "terms": {"t": {0: 1e-44, 2**31 - 3: 1e6}}, "metadata": {"when": datetime.max}}])
        c.commit()
        assert list(c.ids()) == [*ids, "big"]
        for n, i in enumerate(ids):
            assert c.search(f"{n}")[0].id == i
            assert c.get(i).metadata["x y"] == [n]
        assert [h.id for h in c.search({2**31 - 3: 1e6})] == ["big"]
        assert [h.id for h in c.search({0: 1.0}, scoring=zf.Dot())] == ["big"]
        assert c.delete(ids[:5]) == 5
        c.merge()
        c.commit()
        assert list(c.ids()) == [*ids[5:], "big"]
        assert c.check().ok
