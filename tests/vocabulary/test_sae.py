"""Token vectors to latent terms: equal to the definition, whatever is projected together."""

from __future__ import annotations

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vocabulary.sae_folders import change_settings, encoded, naive, weights_of, write
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput
from zipfian.vocabulary._sae_project import Projection
from zipfian.vocabulary._sae_weights import SaeWeights, load_weights, quantise
from zipfian.vocabulary.sae import SaeVocabulary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("sae") / "small", weights_of(name="small"), "int8")


@pytest.fixture(scope="module")
def vocabulary(folder: Path) -> SaeVocabulary:
    return SaeVocabulary.load(folder)


def tokens(n: int, dim: int = 12, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32) * 2


# ---------------------------------------------------------------------------- the projection


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 2200), st.integers(1, 200), st.integers(0, 2**31), st.sampled_from([1, 2, 4, 32]), st.booleans(),
    st.sampled_from([0.01, 1.0, 300.0]),
)  # fmt: skip
def test_equals_the_definition(n_terms: int, dim: int, seed: int, k: int, int8: bool, size: float) -> None:
    k = min(k, n_terms)
    weights = weights_of(n_terms, dim, k=k, seed=seed)
    steps = None
    if int8:
        rows, step = quantise(weights.encoder)
        weights = dataclasses.replace(weights, encoder=rows.astype(np.float32) * step[:, None])
        steps = (rows, step)
    vectors = tokens(5, dim, seed) * size
    found, values = Projection(weights, steps).strongest(vectors, k)
    terms, expected = naive(weights, vectors, k)
    tolerance = 1e-5 * (1 + np.linalg.norm(vectors) * np.linalg.norm(weights.encoder, axis=1).max())
    np.testing.assert_allclose(values, expected, atol=tolerance)
    z = (vectors.astype(np.float64) - weights.mu) / np.float32(weights.scale)
    everything = np.maximum(z @ weights.encoder.astype(np.float64).T + weights.bias, 0.0)
    for row, ids in zip(everything, found, strict=True):  # near-ties may change places, nothing else
        named = ids[ids >= 0]
        assert len(set(named.tolist())) == len(named)
        np.testing.assert_allclose(row[named], np.sort(row)[::-1][: len(named)], atol=tolerance)
    assert ((found >= 0) == (values > 0)).all()
    assert (np.diff(values, axis=1) <= 0).all()
    if tolerance < 1e-2:
        assert ((terms >= 0) == (found >= 0)).mean() > 0.9


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**31))
def test_whole_numbers_are_exact_and_ties_go_to_lower_terms(n_terms: int, dim: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, n_terms)
    weights = SaeWeights(
        rng.integers(-2, 3, (n_terms, dim)).astype(np.float32), rng.integers(-1, 2, n_terms).astype(np.float32),
        np.zeros(dim, np.float32), 1.0, k,
    )  # fmt: skip
    vectors = rng.integers(-2, 3, (4, dim)).astype(np.float32)
    found, values = Projection(weights).strongest(vectors, k)
    terms, expected = naive(weights, vectors, k)
    assert np.array_equal(found, terms)
    assert np.array_equal(values, expected.astype(np.float32))


def test_rows_that_rounding_would_put_in_another_order() -> None:
    """Stored as float32, rows are rounded for the screening: there the second term has 10 / 127 in a hundred places
    where it is 10.49 / 127, and the first 10.5 / 127 where it is 10.3 / 127. The second is the stronger one."""
    rows = np.zeros((2, 101), np.float32)
    rows[0, 0], rows[0, 1:] = 1.05, 10.3 / 127
    rows[1, 0], rows[1, 1:] = 1.0, 10.49 / 127
    rounded, step = quantise(rows)
    assert (rounded[:, 1] * step).tolist() == pytest.approx([10.5 / 127, 10 / 127], rel=1e-6)
    weights = SaeWeights(rows, np.zeros(2, np.float32), np.zeros(101, np.float32), 1.0, 1)
    token = np.ones((1, 101), np.float32)
    token[0, 0] = 0.0
    found, values = Projection(weights).strongest(token, 1)
    assert found.tolist() == [[1]]
    assert values[0, 0] == pytest.approx(1049 / 127, rel=1e-6)


def test_without_onnxruntime_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, vectors = weights_of(700, 30), tokens(40, 30)
    with_it = Projection(weights).strongest(vectors, 8)
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    without = Projection(weights).strongest(vectors, 8)
    assert with_it[0].tobytes() == without[0].tobytes()
    assert with_it[1].tobytes() == without[1].tobytes()


def test_every_token_alone_in_any_company_and_in_threads(vocabulary: SaeVocabulary) -> None:
    vectors = tokens(700)
    together = vocabulary.activations(vectors, 5)
    for i in range(0, 700, 37):
        alone = vocabulary.activations(vectors[i : i + 1], 5)
        assert alone[0].tobytes() == together[0][i : i + 1].tobytes()
        assert alone[1].tobytes() == together[1][i : i + 1].tobytes()
    items = [encoded(vectors[a : a + 1 + a % 17]) for a in range(0, 600, 9)]
    expected = [vocabulary.terms(item) for item in items]
    with ThreadPoolExecutor(4) as pool:
        for got, want in zip(pool.map(vocabulary.terms, items * 3), expected * 3, strict=True):
            assert got.ids.tobytes() == want.ids.tobytes()
            assert got.weights.tobytes() == want.weights.tobytes()
    many = vocabulary.terms_many(items)
    assert [t.weights.tobytes() for t in many] == [t.weights.tobytes() for t in expected]


def test_k_at_inference_is_a_prefix_of_a_larger_k(vocabulary: SaeVocabulary) -> None:
    vectors = tokens(50)
    many, few = vocabulary.activations(vectors, 20), vocabulary.activations(vectors, 3)
    assert few[0].tobytes() == np.ascontiguousarray(many[0][:, :3]).tobytes()
    assert few[1].tobytes() == np.ascontiguousarray(many[1][:, :3]).tobytes()


def test_k_larger_than_what_fires() -> None:
    weights = dataclasses.replace(weights_of(20, 4), bias=np.full(20, -1e3, np.float32))
    found, values = Projection(weights).strongest(tokens(3, 4), 20)
    assert (found == -1).all()
    assert (values == 0).all()


# ---------------------------------------------------------------------------- items


@pytest.mark.parametrize("pooling", ["sum", "max"])
def test_pooling(folder: Path, pooling: Any) -> None:
    vocabulary = SaeVocabulary.load(folder, pooling=pooling)
    vectors = tokens(30)
    found, values = vocabulary.activations(vectors)
    expected: dict[int, float] = {}
    for term, value in zip(found.ravel().tolist(), values.ravel().tolist(), strict=True):
        if value > 0:
            old = expected.get(term, 0.0)
            expected[term] = old + value if pooling == "sum" else max(old, value)
    got = vocabulary.terms(encoded(vectors))
    assert got.ids.tolist() == sorted(expected)
    assert got.ids.dtype == np.int32
    assert got.weights.tolist() == [float(np.float32(expected[t])) for t in sorted(expected)]


def test_k_post_keeps_the_heaviest_and_lower_ids_among_equals(folder: Path, tmp_path: Path) -> None:
    item = encoded(tokens(30))
    every = SaeVocabulary.load(folder, k_post=None).terms(item)
    few = SaeVocabulary.load(folder, k_post=7).terms(item)
    order = sorted(range(len(every)), key=lambda i: (-every.weights[i], every.ids[i]))[:7]
    assert few.ids.tolist() == sorted(every.ids[order].tolist())
    equal = SaeWeights(np.zeros((9, 2), np.float32), np.ones(9, np.float32), np.zeros(2, np.float32), 1.0, 9)
    vocabulary = SaeVocabulary.load(write(tmp_path / "equal", equal, "float32"), k_post=4)
    assert vocabulary.terms(encoded(tokens(2, 2))).ids.tolist() == [0, 1, 2, 3]


def test_min_weight(folder: Path) -> None:
    item = encoded(tokens(10))
    every, some = (SaeVocabulary.load(folder, min_weight=w).terms(item) for w in (0.0, 20.0))
    assert 0 < len(some) < len(every)
    assert some.ids.tolist() == every.ids[every.weights >= 20.0].tolist()


def test_an_item_without_tokens_has_no_terms(vocabulary: SaeVocabulary) -> None:
    nothing = encoded(np.empty((0, 12)))
    assert len(vocabulary.terms(nothing)) == 0
    assert vocabulary.evidence(nothing) == {}
    assert len(vocabulary.from_compact(vocabulary.compact(nothing))) == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_evidence_adds_up_to_the_weights(vocabulary: SaeVocabulary, n: int, seed: int) -> None:
    item = encoded(tokens(n, seed=seed))
    terms, evidence = vocabulary.terms(item), vocabulary.evidence(item)
    assert sorted(evidence) == terms.ids.tolist()
    for term, weight in zip(terms.ids.tolist(), terms.weights.tolist(), strict=True):
        rows = evidence[term]
        assert rows == sorted(rows, key=lambda row: (-row[1], row[0]))
        assert float(np.float32(sum(value for _, value in sorted(rows)))) == weight
    wanted = terms.ids.tolist()[:2]
    assert vocabulary.evidence(item, wanted) == {term: evidence[term] for term in wanted}
    assert vocabulary.evidence(item, []) == {}


@pytest.mark.parametrize("use", [{}, {"k": 1}, {"k": 9, "pooling": "max"}, {"k_post": 5}, {"k": 40}])
def test_the_compact_form_gives_the_same_bits(folder: Path, use: dict[str, Any]) -> None:
    vocabulary = SaeVocabulary.load(folder, **use)
    item = encoded(tokens(80))
    kept = vocabulary.compact(item)
    asked, query = vocabulary.query_compact(kept), vocabulary.query(item)
    assert asked.ids.tolist() == query.ids.tolist() and asked.weights.tolist() == query.weights.tolist()
    again, terms = vocabulary.from_compact(kept), vocabulary.terms(item)
    assert again.ids.tobytes() == terms.ids.tobytes()
    assert again.weights.tobytes() == terms.weights.tobytes()
    assert kept["places"] is item.places
    plain = SaeVocabulary.load(folder)
    assert (vocabulary.compact_form == plain.compact_form) == (vocabulary.k <= 32)


def test_compact_arrays_of_something_else_are_refused(vocabulary: SaeVocabulary) -> None:
    kept = vocabulary.compact(encoded(tokens(3)))
    with pytest.raises(InvalidInput, match="lack 'values'"):
        vocabulary.from_compact({"terms": kept["terms"]})
    with pytest.raises(InvalidInput, match="do not hold k=4"):
        vocabulary.from_compact({"terms": kept["terms"][:, :2], "values": kept["values"][:, :2]})
    with pytest.raises(InvalidInput, match="not below"):
        vocabulary.from_compact({**kept, "terms": np.full_like(kept["terms"], 50)})


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_vectors_that_are_not_finite(vocabulary: SaeVocabulary, bad: float) -> None:
    vectors = tokens(90)
    vectors[77, 3] = bad
    with pytest.raises(InvalidInput, match=r"token 77 .*not finite"):
        vocabulary.terms(encoded(vectors))
    vocabulary.terms(encoded(tokens(3)))  # and it still works


def test_wrong_width_says_which_encoder_fits(tmp_path: Path) -> None:
    known = {"name": "some-model", "settings": {"layers": [[6, 1.0]]}, "fingerprint": "some-model:1"}
    vocabulary = SaeVocabulary.load(write(tmp_path / "v", weights_of(encoder=known)))
    with pytest.raises(FingerprintMismatch, match=r"12 numbers, not of 13; it fits some-model with"):
        vocabulary.terms(encoded(tokens(2, 13)))
    with pytest.raises(InvalidInput, match="rows of numbers"):
        vocabulary.activations(np.zeros(12, np.float32))
    with pytest.raises(InvalidInput, match="rows of numbers"):
        vocabulary.activations(np.zeros((2, 12), np.int32))


@pytest.mark.parametrize("k", [0, -1, 51, True, 2.0, "4"])
def test_bad_k(vocabulary: SaeVocabulary, folder: Path, k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        vocabulary.activations(tokens(2), k)
    with pytest.raises(InvalidInput, match="k must be"):
        SaeVocabulary.load(folder, k=k)


@pytest.mark.parametrize(
    "use", [{"pooling": "mean"}, {"k_post": 0}, {"k_post": 1.5}, {"min_weight": -1.0}, {"preset": "nobody"}]
)
def test_bad_settings_of_use(folder: Path, use: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        SaeVocabulary.load(folder, **use)


class TestFiles:
    """Folders that are not what they should be."""

    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        return write(tmp_path / "copy", weights_of())

    def test_no_such_vocabulary(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="neither a shipped vocabulary"):
            SaeVocabulary.load("text-17k")
        with pytest.raises(InvalidInput, match="neither a shipped vocabulary"):
            SaeVocabulary.load(tmp_path)
        with pytest.raises(InvalidInput, match="a name or a folder"):
            SaeVocabulary.load("")

    def test_a_changed_weight_file(self, copy: Path) -> None:
        data = bytearray((copy / "sae.safetensors").read_bytes())
        data[-5] ^= 1
        (copy / "sae.safetensors").write_bytes(data)
        with pytest.raises(InvalidInput, match="does not have the sha256"):
            SaeVocabulary.load(copy)

    def test_a_missing_weight_file(self, copy: Path) -> None:
        (copy / "sae.safetensors").unlink()
        with pytest.raises(InvalidInput, match=r"holds no sae\.safetensors"):
            SaeVocabulary.load(copy)

    def test_a_file_that_is_no_safetensors(self, copy: Path) -> None:
        import hashlib

        (copy / "sae.safetensors").write_bytes(b"nonsense")
        change_settings(copy, sha256=hashlib.sha256(b"nonsense").hexdigest())
        with pytest.raises(InvalidInput, match="not a safetensors file"):
            SaeVocabulary.load(copy)

    @pytest.mark.parametrize("changes", [{"terms": 51}, {"dim": 11}, {"k": 0}, {"k": "4"}, {"k": 51}, {"kind": "x"}])
    def test_settings_that_do_not_fit(self, copy: Path, changes: dict[str, Any]) -> None:
        change_settings(copy, **changes)
        with pytest.raises(InvalidInput):
            SaeVocabulary.load(copy)

    @pytest.mark.parametrize("defaults", [{"k": 0}, {"nonsense": 1}, [1], {"pooling": "x"}, {"k1": -1.0}])
    def test_bad_defaults(self, copy: Path, defaults: Any) -> None:
        change_settings(copy, defaults=defaults)
        with pytest.raises(InvalidInput):
            SaeVocabulary.load(copy)

    def test_a_newer_format(self, copy: Path) -> None:
        change_settings(copy, format=99)
        with pytest.raises(FormatTooNew):
            SaeVocabulary.load(copy)

    def test_settings_that_are_no_json(self, copy: Path) -> None:
        (copy / "sae.json").write_text("{")
        with pytest.raises(InvalidInput, match="not JSON"):
            SaeVocabulary.load(copy)

    def test_weights_that_are_not_finite(self, tmp_path: Path) -> None:
        good = weights_of()
        copy = write(tmp_path / "v", good, "float32")
        from safetensors.numpy import load_file, save_file

        from zipfian.storage.regular import sha256_of

        tensors = load_file(copy / "sae.safetensors")
        tensors["bias"][3] = np.nan
        save_file(tensors, copy / "sae.safetensors")
        change_settings(copy, sha256=sha256_of(copy / "sae.safetensors"))
        with pytest.raises(InvalidInput, match="bias of the autoencoder holds values that are not finite"):
            SaeVocabulary.load(copy).terms(encoded(tokens(2)))


# ---------------------------------------------------------------------------- identity


def test_json_round_trip_and_fingerprint(folder: Path) -> None:
    vocabulary = SaeVocabulary.load(folder, k=3, pooling="max", k_post=9, min_weight=0.5)
    again = SaeVocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again.fingerprint == vocabulary.fingerprint
    assert (again.k, again.pooling, again.k_post, again.min_weight) == (3, "max", 9, 0.5)
    assert vocabulary.name == "small"
    others = [{"k": 2}, {"pooling": "sum"}, {"k_post": None}, {"min_weight": 0.25}]
    base = {"k": 3, "pooling": "max", "k_post": 9, "min_weight": 0.5}
    prints = {SaeVocabulary.load(folder, **{**base, **other}).fingerprint for other in others}
    assert len(prints | {vocabulary.fingerprint}) == 5


def test_json_of_changed_files_is_refused(tmp_path: Path) -> None:
    copy = write(tmp_path / "v", weights_of())
    known = SaeVocabulary.load(copy).to_json()
    write(copy, weights_of(seed=1))
    with pytest.raises(FingerprintMismatch, match="not the one that was used before"):
        SaeVocabulary.from_json(known)
    with pytest.raises(InvalidInput, match="'kind' must be one of sae, not 'words'"):
        SaeVocabulary.from_json({"kind": "words"})
    with pytest.raises(FormatTooNew):
        SaeVocabulary.from_json({**known, "version": 2})
    with pytest.raises(InvalidInput, match="'model' is missing"):
        SaeVocabulary.from_json({key: value for key, value in known.items() if key != "model"})


@dataclasses.dataclass
class FakeEncoder:
    fingerprint: str
    dim: int = 12
    layers: Any = None


def test_check_encoder(tmp_path: Path) -> None:
    known = {
        "name": "net", "settings": {"layers": [[6, 1.0]]}, "fingerprint": "net:abc", "also": {"cut": "net:def"}
    }  # fmt: skip
    vocabulary = SaeVocabulary.load(write(tmp_path / "v", weights_of(encoder=known)))
    assert vocabulary.encoder_fingerprint == "net:abc"
    for fine in (FakeEncoder("net:abc"), FakeEncoder("net:def"), FakeEncoder("net:other", layers=((6, 1.0),))):
        vocabulary.check_encoder(fine)  # type: ignore[arg-type]
    for wrong, message in (
        (FakeEncoder("net:abc", dim=13), "12 numbers"),
        (FakeEncoder("web:abc"), "not trained for the encoder web:abc"),
        (FakeEncoder("net:other", layers=((5, 1.0),)), r"layers \[\[6, 1.0\]\]"),
    ):
        with pytest.raises(FingerprintMismatch, match=message):
            vocabulary.check_encoder(wrong)  # type: ignore[arg-type]


def test_labels_and_neighbours(folder: Path, vocabulary: SaeVocabulary, tmp_path: Path) -> None:
    assert vocabulary.labels is None
    assert vocabulary.label(7) == "latent 7"
    assert vocabulary.neighbours(7) == []
    for term in (-1, 50):
        with pytest.raises(InvalidInput, match="there is no term"):
            vocabulary.label(term)
    from zipfian.vocabulary.labels import Labels, write_labels

    copy = write(tmp_path / "v", weights_of())
    write_labels(copy, Labels(tuple(f"name {i}" for i in range(50)), ("lexical",) * 50, {}))
    assert SaeVocabulary.load(copy).label(7) == "name 7"


def test_a_stored_encoder_loses_nothing_but_its_rounding(tmp_path: Path) -> None:
    weights, vectors = weights_of(300, 24), tokens(20, 24)
    exact = SaeVocabulary.load(write(tmp_path / "f32", weights, "float32")).activations(vectors)
    np.testing.assert_allclose(exact[1], naive(weights, vectors, 4)[1], rtol=1e-4, atol=1e-4)
    small = write(tmp_path / "i8", weights, "int8")
    rounded, _, _ = load_weights(small)
    got = SaeVocabulary.load(small).activations(vectors)
    np.testing.assert_allclose(got[1], naive(rounded, vectors, 4)[1], rtol=1e-4, atol=1e-4)


def test_a_processor_whose_sums_overflow_gets_smaller_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of 8-bit products added in 16 bits that stop at the ends, as processors before VNNI do."""
    from zipfian.vocabulary import _sae_project as project

    weights, vectors = weights_of(300, 32), tokens(20, 32)
    expected = Projection(weights).strongest(vectors, 8)

    def saturating(rows: Any, zero: int) -> Any:
        def multiply(rounded: Any) -> Any:
            products = rounded[:, None, :].astype(np.int64) * rows[None, :, :]
            pairs = products.reshape(*products.shape[:2], -1, 2).sum(axis=3)
            return np.clip(pairs, -32_768, 32_767).sum(axis=2) - zero * rows.sum(axis=1, dtype=np.int64)

        return multiply

    monkeypatch.setattr(project, "_integer_multiplier", saturating)
    careful = Projection(weights)
    assert careful._zero == 64
    got = careful.strongest(vectors, 8)
    assert got[0].tobytes() == expected[0].tobytes()
    assert got[1].tobytes() == expected[1].tobytes()


def test_wide_vectors_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = weights_of(40, 1300)
    vectors = np.repeat(weights.encoder[:1] * 50, 2, axis=0)  # the largest products there can be
    expected = Projection(weights).strongest(vectors, 8)
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    got = Projection(weights).strongest(vectors, 8)
    assert got[1].tobytes() == expected[1].tobytes()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 1500), st.integers(1, 150), st.integers(0, 2**31), st.integers(1, 40), st.booleans(),
    st.sampled_from([1e-6, 0.1, 1.0, 1e4]), st.sampled_from([0.0, 1.0, 1e3]), st.booleans(),
)  # fmt: skip
def test_screening_loses_nothing(
    n_terms: int, dim: int, seed: int, k: int, int8: bool, size: float, bias: float, close: bool
) -> None:
    """Bit for bit what scoring every term gives, also where many terms are nearly equal or biases hide the rest."""
    from zipfian.vocabulary import _sae_kernels as kernels

    k = min(k, n_terms)
    rng = np.random.default_rng(seed)
    weights = weights_of(n_terms, dim, k=k, seed=seed)
    rows = np.tile(weights.encoder[:1], (n_terms, 1)) * (1 + 1e-3 * weights.encoder) if close else weights.encoder
    weights = dataclasses.replace(weights, encoder=rows.astype(np.float32), bias=weights.bias * np.float32(bias))
    steps = quantise(weights.encoder) if int8 else None
    if steps is not None:
        weights = dataclasses.replace(weights, encoder=steps[0].astype(np.float32) * steps[1][:, None])
    vectors = (rng.standard_normal((3, dim)) * size).astype(np.float32)
    projection = Projection(weights, steps)
    found, values = projection.strongest(vectors, k)
    row, row_step, row_bias = projection._rows
    x, room = np.zeros(projection._width, np.float32), np.empty(projection._width, np.float32)
    for t in range(3):
        x[:dim] = (vectors[t] - weights.mu) / np.float32(weights.scale)
        every = np.array([kernels.exact(row[j], row_step[j], row_bias[j], x, room) for j in range(n_terms)], np.float32)
        order = np.argsort(-every, kind="stable")[:k]
        best = np.maximum(every[order], 0)
        assert values[t].tobytes() == best.tobytes()
        assert found[t].tolist() == np.where(best > 0, order, -1).tolist()
