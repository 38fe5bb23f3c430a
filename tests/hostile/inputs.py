"""Hostile calls: documents, queries, filters, vectors and options from pools of nasty values, on a small collection.

A call may be refused with a clear error, or answered. Either way the documents that were there before must be found as
before: with the same scores when nothing was taken in.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import zipfian as zf
from tests.hostile import inputs_files
from tests.hostile import inputs_pools as pools
from tests.hostile.case import Case, WrongAnswer
from tests.hostile.inputs_base import DIM, TERMS, answers, base, check_message, same, taken
from zipfian.errors import ZipfianError
from zipfian.fuse import RRF, Adaptive, Linear
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.retrieve.dense import DenseSearcher

FAMILY = "inputs"

Attack = Callable[[Random, zf.Collection], str]

_LARGE = "16 MiB text of one pattern"
_FEW = {_LARGE: 2, "long text of one pattern": 0.03, "query of a million characters": 0.02}
"""Attacks that take long: how many at most, or which share of all cases."""


def cases(count: int, seed: int) -> Iterator[Case]:
    """Every attack in turn; the slow ones few."""
    rng = Random(seed)
    quick = [name for name in ATTACKS if name not in _FEW]
    slow = [(name, n if isinstance(n, int) else max(1, int(count * n))) for name, n in _FEW.items()]
    names = [name for name, n in slow for _ in range(n)]
    names += [quick[i % len(quick)] for i in range(max(len(quick), count - len(names)))]
    rng.shuffle(names)
    return (Case(FAMILY, name, rng.randrange(2**32)) for name in names)


def forge(case: Case, folder: Path) -> None:
    """A copy of the good collection, which is made once in a process."""
    shutil.copytree(base()[0], folder / "c")


def _inside(c: zf.Collection) -> Any:
    """A collection with its private parts, which no type names in every version that is attacked."""
    return c


def suffer(case: Case, folder: Path) -> str:
    """Make the call, then look whether everything that was there is still there."""
    rng = Random(case.seed)
    expected = base()[1]
    refused: ZipfianError | None = None
    said = ""
    with zf.Collection.open(folder / "c", "w", encodings=False) as c:
        before = len(c)
        try:
            said = ATTACKS[case.attack](rng, c)
        except ZipfianError as error:
            refused = error
            check_message(error)
        if refused is not None and not _inside(c)._store.writer.closed:
            c.rollback()
            same(answers(c), expected, "after the refusal")
    with zf.Collection.open(folder / "c", encodings=False) as again:
        now = answers(again)
        if len(again) == before:
            same(now, expected, "after opening again")
        for query, hits in expected.items():
            lost = {i for i, _ in hits} - {i for i, _ in now[query]}
            if lost:
                raise WrongAnswer(f"{query} no longer finds {sorted(lost)}")
        if not (report := again.check()).ok:
            raise WrongAnswer(f"the collection is damaged: {report.problems[:2]}")
    if refused is not None:
        raise refused
    return said


# -- documents --------------------------------------------------------------------------------------------------------


def _odd_document(rng: Random, c: zf.Collection) -> str:
    document: dict[Any, Any] = {"id": "odd", "text": "apple"}
    for key in rng.sample(["id", "text", "image", "terms", "vector", "metadata", 3, "other"], rng.randrange(1, 3)):
        document[key] = pools.anything(rng)
    return taken(c, [document])


def _odd_id(rng: Random, c: zf.Collection) -> str:
    return taken(c, [{"id": pools.anything(rng) if rng.random() < 0.5 else rng.choice(pools.STRINGS), "text": "apple"}])


def _odd_metadata(rng: Random, c: zf.Collection) -> str:
    name = rng.choice(["lang", "year", "tags", "new", rng.choice(pools.STRINGS), pools.anything(rng)])
    value = pools.anything(rng) if rng.random() < 0.7 else [pools.anything(rng)] * rng.choice([1, 2, 700_000])
    try:
        metadata = {name: value}
    except TypeError:  # a name that no mapping can have
        metadata = {"new": value}
    return taken(c, [{"id": "odd", "text": "apple", "metadata": metadata}])


def _deep_metadata(rng: Random, c: zf.Collection) -> str:
    where = rng.choice(["metadata", "terms", "vector"])
    return taken(c, [{"id": "odd", where: rng.choice([pools.deep(rng), {"new": pools.deep(rng), "lang": "en"}])}])


def _cyclic_metadata(rng: Random, c: zf.Collection) -> str:
    return taken(c, [{"id": "odd", rng.choice(["metadata", "terms", "vector"]): pools.cyclic(rng)}])


def _odd_vector(rng: Random, c: zf.Collection) -> str:
    value = pools.vector(rng, DIM)
    return taken(c, [{"id": "odd", "vector": rng.choice([value, {"default": value}, {"second": value}])}])


def _odd_terms(rng: Random, c: zf.Collection) -> str:
    return taken(
        c, [{"id": "odd", "terms": {rng.choice(["codes", "codes", "codes", "words", 3]): pools.terms(rng, TERMS)}}]
    )


def _failing_source(rng: Random, c: zf.Collection) -> str:
    n = rng.choice([0, 1, 600])
    good = [{"id": f"more{i}", "text": "apple"} for i in range(n)]
    mine = rng.choice([KeyError("mine"), RuntimeError("mine"), KeyboardInterrupt("mine"), MemoryError("mine")])
    try:
        c.add(pools.failing(good, mine))
    except BaseException as error:  # the caller's own error must come through as it is
        if error is not mine:
            raise
    c.commit()
    if len(c) != 16 + n:
        raise WrongAnswer(f"{len(c)} documents after {n} and an error")
    return "the caller's own error came through"


def _same_id(rng: Random, c: zf.Collection) -> str:
    existing = rng.choice(["error", "skip", "replace", pools.anything(rng)])
    c.add([{"id": "odd", "text": "one"}, {"id": "odd", "text": "two"}], existing=existing)
    c.commit()
    kept = c.get("odd")
    if kept is None or kept.text != {"skip": "one", "replace": "two"}.get(existing):
        raise WrongAnswer(f"existing={existing!r:.40} kept {kept}")
    return str(existing)


def _no_list(rng: Random, c: zf.Collection) -> str:
    one = {"id": "odd", "text": "apple"}
    wrong: list[Any] = [one, "odd", b"odd", None, 3, [one, None], [[one]], {"odd": one}, pools.deep(rng)]
    c.add(rng.choice([*wrong, pools.anything(rng)]))
    return "nothing in it"


def _long_text(rng: Random, c: zf.Collection, size: int = 0) -> str:
    text = pools.text(rng, size or rng.choice([70_000, 200_000, 400_000]))
    taken(c, [{"id": "long", "text": text}])
    for query in (text[:4], "apple"):
        if not query.isspace():
            found = c.search(query, k=20)
            for hit in found:
                if hit.id == "long":
                    found.explain(hit)
                    found.highlight(hit)
    return "found"


def _large_text(rng: Random, c: zf.Collection) -> str:
    unit = ("a-", "apple-")[rng.randrange(2)]
    taken(c, [{"id": "long", "text": (unit * (16 * pools.MEBI // len(unit) + 1))[: 16 * pools.MEBI]}])
    return "taken"


# -- questions --------------------------------------------------------------------------------------------------------


def _odd_query(rng: Random, c: zf.Collection) -> str:
    asked = pools.anything(rng)
    return f"{len(c.search(asked, fields=rng.choice([None, 'words', 'codes', 'near'])))} hits"


def _odd_query_terms(rng: Random, c: zf.Collection) -> str:
    return f"{len(c.search(pools.terms(rng, TERMS), fields='codes'))} hits"


def _odd_query_vector(rng: Random, c: zf.Collection) -> str:
    asked = pools.vector(rng, DIM)
    hits = c.search(asked if rng.random() < 0.2 else np.asarray(asked), fields="near", k=5)
    scores = [h.score for h in hits]
    plain = np.asarray(asked, np.float64)
    if plain.any() and (
        len(hits) != 5 or not all(-1.001 < s < 1.001 for s in scores) or scores != sorted(scores)[::-1]
    ):
        raise WrongAnswer(f"cosines {scores}")
    return "cosines"


def _long_query(rng: Random, c: zf.Collection) -> str:
    found = c.search(pools.text(rng, rng.choice([999_999, 1_000_000, 1_000_001])) + rng.choice(["", " apple"]))
    return f"{len(found)} hits"


def _odd_k(rng: Random, c: zf.Collection) -> str:
    k = rng.choice(pools.NUMBERS)
    found = c.search("apple river", k=k, fields="words")
    if isinstance(k, bool | float | str | np.bool_) or len(found) != min(
        int(k), len(c.search("apple river", k=100, fields="words"))
    ):
        raise WrongAnswer(f"k={k!r:.40} gave {len(found)} hits")
    return f"{len(found)} hits"


def _odd_options(rng: Random, c: zf.Collection) -> str:
    names = [
        "fields",
        "method",
        "preset",
        "scoring",
        "query_encoder",
        "rerank_depth",
        "ann",
        "exact_match_bonus",
        "exclude_self",
        "image",
        "where",
    ]
    chosen = {name: pools.anything(rng) for name in rng.sample(names, rng.randrange(1, 3))}
    return f"{len(c.search('apple', **chosen))} hits"


def _odd_filter(rng: Random, c: zf.Collection) -> str:
    def part(level: int) -> Any:
        if level > 3 or rng.random() < 0.5:
            column = rng.choice(["lang", "year", "tags", "n", "none", rng.choice(pools.STRINGS)])
            operator = rng.choice(["==", "!=", "in", "not in", "<", "<=", ">", ">=", "exists", "~", 3])
            return {
                column: rng.choice([pools.anything(rng), {operator: pools.anything(rng)}, [pools.anything(rng)] * 3])
            }
        key = rng.choice(["and", "or", "not"])
        inside = [part(level + 1) for _ in range(rng.randrange(3))]
        return {key: inside if key != "not" and rng.random() < 0.9 else part(level + 1)}

    where = part(0)
    all_ids = {h.id for h in c.search("apple river stone red", k=100, fields="words")}
    yes = {h.id for h in c.search("apple river stone red", k=100, fields="words", where=where)}
    no = {h.id for h in c.search("apple river stone red", k=100, fields="words", where={"not": where})}
    if yes | no != all_ids or yes & no:
        raise WrongAnswer(f"a filter and its opposite share {yes & no} and miss {all_ids - yes - no}")
    return f"{len(yes)} of {len(all_ids)}"


def _deep_filter(rng: Random, c: zf.Collection) -> str:
    where = pools.deep(rng)
    where = where if isinstance(where, dict) else rng.choice([{"lang": where}, {"lang": {"in": where}}, {"and": where}])
    if rng.random() < 0.3:
        return str(c.score("words", "apple", ["good1"], where=where))
    return f"{len(c.search('apple', fields='words', where=where))} hits"


def _cyclic_filter(rng: Random, c: zf.Collection) -> str:
    return f"{len(c.search('apple', fields='words', where=pools.cyclic(rng)))} hits"


def _odd_fusion(rng: Random, c: zf.Collection) -> str:
    weights: dict[Any, Any] = {rng.choice(["words", "near", "other", 3]): rng.choice(pools.NUMBERS) for _ in range(2)}
    made: list[Callable[[], Any]] = [
        lambda: Linear(weights),
        lambda: Linear(pools.anything(rng)),
        lambda: RRF(weights),
        lambda: RRF(k=rng.choice(pools.NUMBERS), ranks=rng.choice(pools.NUMBERS)),
        lambda: Adaptive(),
        lambda: zf.BM25(k1=rng.choice(pools.NUMBERS), b=rng.choice(pools.NUMBERS)),
        lambda: AdaptiveK(least=rng.choice(pools.NUMBERS), most=rng.choice(pools.NUMBERS)),
    ]
    chosen = rng.choice(made)()
    if isinstance(chosen, zf.BM25):
        return f"{len(c.search('apple', fields='words', scoring=chosen))} hits"
    if isinstance(chosen, AdaptiveK):
        return "made"
    return f"{len(c.search('apple', method=chosen))} hits"


def _odd_reading(rng: Random, c: zf.Collection) -> str:
    value = pools.anything(rng)
    found = c.search("apple river", fields="words")
    calls: list[Callable[[], Any]] = [
        lambda: c.get(value), lambda: c.vector(value), lambda: c.vector("good1", value), lambda: value in c,
        lambda: c.score("words", "apple", value), lambda: c.score(value, "apple", ["good1"]),
        lambda: c.score("words", "apple", [value]), lambda: c.explain("apple", value),
        lambda: c.explain(value, "good1"), lambda: c.explain("apple", "good1", fields=value),
        lambda: found.highlight(found[0], max_chars=value), lambda: found.highlight(found[0], max_snippets=value),
        lambda: found.explain(value), lambda: c.why("apple", "good1", value), lambda: c.present(value),
        lambda: c.present([value]),
    ]  # fmt: skip
    rng.choice(calls)()
    return "read"


def _odd_writing(rng: Random, c: zf.Collection) -> str:
    value = pools.anything(rng)
    calls: list[Callable[[], Any]] = [
        lambda: c.delete(value), lambda: c.delete([value]), lambda: c.merge(value), lambda: c.commit(value),
        lambda: c.commit({"a": value}), lambda: c.add_field(value, zf.Words()),
        lambda: c.add_field("more", value),
        lambda: c.add_field("more", zf.Sparse(5), value), lambda: zf.Sparse(value),
        lambda: c.commit({"a": pools.deep(rng)}),
    ]  # fmt: skip
    rng.choice(calls)()
    return "written"


def _odd_opening(rng: Random, c: zf.Collection) -> str:
    path, value = _inside(c)._directory.path, pools.anything(rng)
    name = rng.choice(["mode", "scoring", "generation", "memory_bytes", "cache_bytes", "encodings", "other"])
    with zf.Collection.open(path, **{name: value}) as other:
        return f"{len(other)} documents"


# -- arrays -----------------------------------------------------------------------------------------------------------


def _odd_arrays(rng: Random, c: zf.Collection) -> str:
    good: dict[str, Any] = {"indptr": [0, 2, 3], "indices": [0, 3, 3], "weights": [1.0, 2.0, 1.0], "n_terms": 4}
    name = rng.choice([*good, "terms", "query weights", "k", "mask", "none"])
    value = rng.choice([pools.anything(rng), pools.vector(rng, 3), rng.choice(pools.NUMBERS)])
    index = zf.SparseIndex.from_csr(**{**good, **({name: value} if name in good else {})})
    asked: dict[str, Any] = {"terms": [3], "weights": None, "k": 2, "mask": None}
    key = {"query weights": "weights"}.get(name, name)
    if name not in good and name != "none":
        asked[key] = value
    ids, scores = index.search(**asked)
    if len(ids) != len(scores) or not np.isfinite(scores).all() or (np.diff(scores) > 0).any():
        raise WrongAnswer(f"scores {scores}")
    return f"{len(ids)} hits"


def _odd_matrix(rng: Random, c: zf.Collection) -> str:
    rows = [pools.vector(rng, 3) for _ in range(2)]
    matrix = rng.choice([pools.anything(rng), rows, [[1.0, 2.0, 3.0], [3e38, -3e38, 1e38], [1e-40, 0, 0]]])
    searcher = DenseSearcher.from_array(matrix, metric=rng.choice(["cosine", "cosine", "dot"]))
    query = rng.choice([[3e38] * 3, [1e-40] * 3, [1e308, 1.0, 0.0], [1.0, 0.5, 0.25], pools.vector(rng, 3)])
    docs, scores = searcher.search(query, 3)
    if not np.isfinite(scores).all() or (np.diff(scores) > 0).any():
        raise WrongAnswer(f"scores {scores}")
    return f"{len(docs)} hits"


ATTACKS: dict[str, Attack] = {
    "document of odd parts": _odd_document,
    "id of an odd kind": _odd_id,
    "metadata of an odd kind": _odd_metadata,
    "metadata nested very deep": _deep_metadata,
    "metadata that hold themselves": _cyclic_metadata,
    "vector of odd numbers": _odd_vector,
    "terms of odd numbers": _odd_terms,
    "source that fails in the middle": _failing_source,
    "one id twice in one batch": _same_id,
    "something else than a list of documents": _no_list,
    "long text of one pattern": _long_text,
    _LARGE: _large_text,
    "query of an odd kind": _odd_query,
    "query terms of odd numbers": _odd_query_terms,
    "query vector of odd numbers": _odd_query_vector,
    "query of a million characters": _long_query,
    "number of hits of an odd kind": _odd_k,
    "search options of an odd kind": _odd_options,
    "filter of odd parts": _odd_filter,
    "filter nested very deep": _deep_filter,
    "filter that holds itself": _cyclic_filter,
    "fusion and scoring with odd numbers": _odd_fusion,
    "reading with odd arguments": _odd_reading,
    "writing with odd arguments": _odd_writing,
    "opening with odd arguments": _odd_opening,
    "lock file removed under a writer": inputs_files.lost_lock,
    "disk that is full": inputs_files.full_disk,
    "previous manifest missing": inputs_files.missing_manifest,
    "collection pickled or copied": inputs_files.pickled,
    "arrays of odd numbers": _odd_arrays,
    "matrix of odd numbers": _odd_matrix,
}
