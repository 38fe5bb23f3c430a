"""Weights as frequencies and boosts: the arithmetic that makes a server's scores ours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian import BM25
from zipfian.engines.opensearch.client import Server
from zipfian.engines.opensearch.codes import FieldCode, term_of, token, weights_of
from zipfian.errors import InvalidInput
from zipfian.fields import Field, Sparse, Words
from zipfian.retrieve.scoring import Dot, TfIdf
from zipfian.vocabulary import Pruning

OLD, NEW, ELASTIC = Server("opensearch", "2.19.1"), Server("opensearch", "3.8.0"), Server("elasticsearch", "8.1.0")
FIRST_NEW = Server("opensearch", "3.0.0")
ANCIENT = Server("opensearch", "2.9.0")


def server_score(server: Server, k1: float, b: float, tf: float, boost: float, idf: float, share: float) -> float:
    """What a server computes for one term, as its documentation has it."""
    factor = k1 + 1.0 if server.version.startswith("2.") else 1.0  # dropped with Lucene 10, in OpenSearch 3
    return boost * idf * factor * tf / (tf + k1 * (1 - b + b * share))


def frequency(code: FieldCode, field: Sparse, weight: npt.NDArray[np.float64]) -> int:
    """Of a term with this weight, as it is sent."""
    assert code.storage == "frequencies"
    return int(str(code.sent(field, ["7"], weight).value).removeprefix("7|"))


@pytest.mark.parametrize("server", [OLD, FIRST_NEW, NEW])
@pytest.mark.parametrize("variant", ["zipfian", "lucene"])
@pytest.mark.parametrize("phi", ["identity", "sqrt"])
def test_scores_come_out_equal(server: Server, variant: str, phi: str) -> None:
    scoring = BM25(k1=1.7, b=0.6, variant=variant, phi=phi)  # type: ignore[arg-type]
    field = Sparse(10, scoring=scoring)
    code = FieldCode.choose("x", field, server)
    weight, asked, idf, share = np.array([4.0]), np.array([2.25]), 3.0, 1.3
    similarity = code.similarity(field)
    assert similarity is not None
    got = server_score(
        server, similarity["k1"], similarity["b"], float(frequency(code, field, weight)),
        float(code.boosts(field, asked, server)[0]), idf, share,
    )  # fmt: skip
    f = {"identity": lambda x: x, "sqrt": np.sqrt}[phi]
    top = 2.7 if variant == "zipfian" else 1.0
    expected = f(2.25) * idf * top * f(4.0) / (f(4.0) + 1.7 * (1 - 0.6 + 0.6 * share))
    assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("phi", ["identity", "sqrt"])
@pytest.mark.parametrize("tf", ["count", "fixed"])
def test_dot_products_come_out_equal(phi: str, tf: str) -> None:
    """The script returns boost x frequency; steps to a weight of 1 must be out of it again."""
    field = Sparse(10, tf=tf, scoring=Dot(phi=phi))  # type: ignore[arg-type]
    code = FieldCode.choose("x", field, OLD)
    similarity = code.similarity(field)
    assert similarity is not None and similarity["script"]["source"] == "return query.boost * doc.freq;"
    got = code.boosts(field, np.array([2.25]), OLD)[0] * frequency(code, field, np.array([4.0]))
    assert got == pytest.approx({"identity": 9.0, "sqrt": 3.0}[phi], rel=1e-12)


def test_storage_follows_the_server_and_the_field() -> None:
    real = Sparse(10, tf="float32", scoring=Dot())
    assert FieldCode.choose("x", Words(), OLD) == FieldCode("frequencies", 1.0)
    assert FieldCode.choose("x", Sparse(10), OLD) == FieldCode("frequencies", 100.0)
    assert FieldCode.choose("x", Sparse(10, scoring=BM25(phi="sqrt")), OLD).steps == 100.0
    assert FieldCode.choose("x", real, OLD).storage == "features"
    for server in (ELASTIC, ANCIENT):
        assert FieldCode.choose("x", Words(), server) == FieldCode("repeated", 1.0)
        assert FieldCode.choose("x", Sparse(10), server) == FieldCode("repeated", 8.0)
        with pytest.raises(InvalidInput, match="cannot read term frequencies"):
            FieldCode.choose("x", Words(), server, "frequencies")
    with pytest.raises(InvalidInput, match=r"Dot\(\) only"):
        FieldCode.choose("x", Sparse(10), OLD, "features")


@pytest.mark.parametrize(
    "field",
    [
        Words(scoring=TfIdf()),
        Words(scoring=BM25(variant="bm25l")),
        Words(scoring=BM25(variant="robertson")),
        Sparse(10, pruning=Pruning(max_df_share=0.5)),
    ],
)
def test_what_a_server_cannot_score_is_refused(field: Field) -> None:
    with pytest.raises(InvalidInput, match="field 'x'"):
        FieldCode.choose("x", field, OLD)


def test_fields() -> None:
    field = Sparse(10)
    weights = weights_of(field, np.array([150, 25], np.uint32))
    assert FieldCode("frequencies", 100.0).sent(field, ["1", "2"], weights).value == "1|150 2|25"
    assert FieldCode("repeated", 4.0).sent(field, ["1", "2"], weights).value == "1 1 1 1 1 1 2"
    assert FieldCode("features", 1.0).sent(field, ["1", "2"], weights).value == {"1": 1.5, "2": 0.25}
    assert FieldCode("repeated", 1.0).sent(field, ["2"], np.array([0.01])).value == "2", "a posting that was kept stays"
    assert FieldCode("repeated", 4.0).sent(field, ["1", "2"], weights).error == 0.0
    assert FieldCode("repeated", 1.0).sent(field, ["1", "2"], weights).error == pytest.approx(0.5 / 1.5 + 0.75 / 0.25)


@given(st.text(min_size=1, max_size=40))
def test_tokens_survive_a_whitespace_analyser(term: str) -> None:
    try:
        made = token(term)
    except UnicodeEncodeError:
        return  # half a character is no text; collections refuse it
    assert len(made.split()) == 1 and "|" not in made
    assert all(c.isalnum() or c in "%+#.@&_-~" for c in made)
    assert term_of(Words(), made) == term


@given(st.text(min_size=1, max_size=10), st.text(min_size=1, max_size=10))
def test_different_terms_have_different_tokens(a: str, b: str) -> None:
    try:
        assert (token(a) == token(b)) == (a == b)
    except UnicodeEncodeError:
        return
