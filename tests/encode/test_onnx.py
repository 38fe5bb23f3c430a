"""The ONNX writer, judged by onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from zipfian.encode import _protobuf as pb
from zipfian.encode.onnx import CONTRIB, Graph

ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'zipfian[text]'")

from zipfian.encode.session import Session, side_by_side  # noqa: E402


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (-1, "ffffffffffffffffff01"),
        (2**40, "808080808020"),
    ],
)
def test_varint(value: int, expected: str) -> None:
    assert pb.varint(value).hex() == expected


def test_fields() -> None:
    assert pb.integer(1, 150).hex() == "089601"
    assert pb.text(2, "testing").hex() == "120774657374696e67"
    assert pb.real(2, 1.0).hex() == "150000803f"
    assert pb.blob(3, b"").hex() == "1a00"


def test_a_graph_runs() -> None:
    graph = Graph("test")
    x = graph.input("x", np.float32, ("n", 3))
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    y = graph.node("MatMul", [x, graph.weight(weight)])
    y = graph.node("LeakyRelu", [y], alpha=0.5)
    y = graph.node("Transpose", [y], perm=(1, 0), out="y")
    graph.output(y, np.float32, (2, "n"))
    x_value = np.array([[1, 2, 3], [-1, -2, -3]], dtype=np.float32)
    (result,) = Session(graph.to_bytes(), "text").run(["y"], {"x": x_value})
    product = x_value @ weight
    assert np.array_equal(result, np.where(product < 0, product / 2, product).T)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.uint8])
def test_every_type_of_weight(dtype: type) -> None:
    graph = Graph("test")
    values: npt.NDArray[Any] = np.array([[1, 2], [3, 4]], dtype=dtype)
    x = graph.input("x", dtype, (2, 2))
    out = graph.node("Concat", [x, graph.weight(values.T)], axis=0, out="out")
    graph.output(out, dtype, (4, 2))
    (result,) = Session(graph.to_bytes(), "text").run(["out"], {"x": values})
    assert np.array_equal(result, np.concatenate([values, values.T]))


def test_attributes_of_text_and_own_operators() -> None:
    graph = Graph("test")
    x = graph.input("x", np.float32, (1, 1, 4, 4))
    kernel = graph.weight(np.ones((1, 1, 3, 3), dtype=np.float32))
    y = graph.node("Conv", [x, kernel], auto_pad="SAME_UPPER", strides=(2, 2))
    y = graph.node("Gelu", [y], domain=CONTRIB, out="y")
    graph.output(y, np.float32, (1, 1, 2, 2))
    (result,) = Session(graph.to_bytes(), "text").run(["y"], {"x": np.ones((1, 1, 4, 4), dtype=np.float32)})
    assert result.round(3).tolist() == [[[[9.0, 6.0], [6.0, 4.0]]]]


def test_work_side_by_side_is_complete_and_ends_at_an_error() -> None:
    assert sorted(side_by_side(lambda n: n * n, range(50), threads=3)) == [n * n for n in range(50)]
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(lambda n: 1 // (n - 5), range(50), threads=3))


def test_dynamic_int8_would_make_an_item_depend_on_its_batch() -> None:
    """Why the encoders run in fp32: dynamic quantisation takes its scale from the whole batch."""

    def graph(quantised: bool) -> Session:
        graph = Graph("test")
        x = graph.input("x", np.float32, ("n", 8))
        weight = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
        if quantised:
            small = np.clip(np.rint(weight * 40) + 128, 0, 255).astype(np.uint8)
            inputs = [x, graph.weight(small), graph.weight(np.array(1 / 40, dtype=np.float32))]
            zero = graph.weight(np.array(128, dtype=np.uint8))
            y = graph.node("DynamicQuantizeMatMul", [*inputs, zero], domain=CONTRIB, out="y")
        else:
            y = graph.node("MatMul", [x, graph.weight(weight)], out="y")
        graph.output(y, np.float32, ("n", 4))
        return Session(graph.to_bytes(), "text")

    item = np.random.default_rng(1).normal(size=(1, 8)).astype(np.float32)
    company = np.concatenate([item, np.full((1, 8), 30, dtype=np.float32)])
    for quantised in (False, True):
        session = graph(quantised)
        alone = session.run(["y"], {"x": item})[0][0]
        together = session.run(["y"], {"x": company})[0][0]
        assert np.array_equal(alone, together) is not quantised
