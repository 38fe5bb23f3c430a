"""Weights read out of an ONNX file as exporters write it: the network written anew from them gives the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from zipfian.encode import _protobuf as pb
from zipfian.encode.bert import BertShape, bert_graph, output_name
from zipfian.encode.onnx import Graph
from zipfian.encode.onnxfile import read_weights
from zipfian.encode.session import Session
from zipfian.errors import InvalidInput

WIDTH, HEADS, LAYERS, PIECES, PLACES = 8, 2, 2, 20, 16

Array = npt.NDArray[np.float32]


class Exported:
    """A small BERT in plain operators, with the names that an export from PyTorch has."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.arrays: dict[str, Array] = {}
        self.graph = Graph("main_graph")

    def build(self) -> bytes:
        graph = self.graph
        pieces = graph.input("input_ids", np.int64, ("batch", "tokens"))
        places = graph.input("places", np.int64, ("tokens",))
        words = graph.node("Gather", [self.kept("embeddings.word_embeddings.weight", PIECES, WIDTH), pieces])
        kinds = graph.weight(np.zeros(1, np.int64), "kind")
        kind = graph.node("Gather", [self.kept("embeddings.token_type_embeddings.weight", 2, WIDTH), kinds])
        at = graph.node("Gather", [self.kept("embeddings.position_embeddings.weight", PLACES, WIDTH), places])
        total = graph.node("Add", [graph.node("Add", [words, kind]), at])
        hidden = self.norm(total, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            hidden = self.block(hidden, f"encoder.layer.{layer}.")
        graph.node("Identity", [hidden], out="last_hidden_state")
        graph.output("last_hidden_state", np.float32, ("batch", "tokens", WIDTH))
        return graph.to_bytes()

    def block(self, hidden: str, prefix: str) -> str:
        graph = self.graph
        query, key, value = (
            self.split(self.linear(hidden, f"{prefix}attention.self.{part}", WIDTH, WIDTH))
            for part in ("query", "key", "value")
        )
        turned = graph.node("Transpose", [key], perm=(0, 1, 3, 2))
        root = graph.weight(np.array(np.sqrt(WIDTH / HEADS), np.float32))
        scores = graph.node("Div", [graph.node("MatMul", [query, turned]), root])
        mixed = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])
        joined = graph.node("Transpose", [mixed], perm=(0, 2, 1, 3))
        joined = graph.node("Reshape", [joined, graph.weight(np.array([0, 0, WIDTH], np.int64))])
        out = graph.node("Add", [self.linear(joined, f"{prefix}attention.output.dense", WIDTH, WIDTH), hidden])
        hidden = self.norm(out, f"{prefix}attention.output.LayerNorm")
        wide = self.linear(hidden, f"{prefix}intermediate.dense", WIDTH, 4 * WIDTH)
        part = graph.node("Erf", [graph.node("Div", [wide, graph.weight(np.array(np.sqrt(2), np.float32))])])
        part = graph.node("Add", [part, graph.weight(np.array(1, np.float32))])
        wide = graph.node("Mul", [graph.node("Mul", [wide, part]), graph.weight(np.array(0.5, np.float32))])
        out = graph.node("Add", [self.linear(wide, f"{prefix}output.dense", 4 * WIDTH, WIDTH), hidden])
        return self.norm(out, f"{prefix}output.LayerNorm")

    def split(self, value: str) -> str:
        shape = self.graph.weight(np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
        return self.graph.node("Transpose", [self.graph.node("Reshape", [value, shape])], perm=(0, 2, 1, 3))

    def linear(self, value: str, name: str, inputs: int, outputs: int) -> str:
        matrix = self.made(outputs, inputs)
        self.arrays[f"{name}.weight"] = matrix
        folded = self.graph.weight(matrix.T, f"onnx::MatMul_{len(self.arrays)}")
        bias = self.kept(f"{name}.bias", outputs)
        return self.graph.node("Add", [bias, self.graph.node("MatMul", [value, folded])])

    def norm(self, value: str, name: str) -> str:
        parts = [self.kept(f"{name}.{part}", WIDTH) for part in ("weight", "bias")]
        return self.graph.node("LayerNormalization", [value, *parts], axis=-1, epsilon=1e-12)

    def kept(self, name: str, *shape: int) -> str:
        self.arrays[name] = self.made(*shape)
        return self.graph.weight(self.arrays[name], name)

    def made(self, *shape: int) -> Array:
        return self.random.standard_normal(shape).astype(np.float32)


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Exported]:
    made, path = Exported(), tmp_path / "model.onnx"
    path.write_bytes(made.build())
    return path, made


def test_every_weight_under_its_module(exported: tuple[Path, Exported]) -> None:
    path, made = exported
    found = read_weights(path)
    for name, array in made.arrays.items():
        assert np.array_equal(found[name], array), name
    assert not any("MatMul" in name for name in found)


def test_the_network_written_anew_gives_the_same(exported: tuple[Path, Exported]) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'zipfian[text]'")
    path, _ = exported
    pieces = np.random.default_rng(2).integers(0, PIECES, (3, 7))
    original = Session(path.read_bytes(), "text")
    (theirs,) = original.run(["last_hidden_state"], {"input_ids": pieces, "places": np.arange(7)})
    anew = Session(bert_graph(read_weights(path), BertShape(LAYERS, HEADS), [LAYERS]), "text", fuse=False)
    given = {"pieces": pieces.astype(np.int32), "positions": np.arange(7, dtype=np.int32)}
    (ours,) = anew.run([output_name(LAYERS)], given)
    assert ours.shape == theirs.shape == (3, 7, WIDTH)
    assert np.abs(ours - theirs).max() < 1e-5


def test_files_that_are_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for data in (b"", b"\x3a\x05ab", pb.integer(1, 8)):
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=r"not an ONNX file|not whole"):
            read_weights(path)
    tensor = pb.integer(1, 3) + pb.integer(2, 1) + pb.text(8, "a.bias")
    path.write_bytes(pb.blob(7, pb.blob(5, tensor + pb.blob(9, bytes(8)))))
    with pytest.raises(InvalidInput, match=r"a\.bias has 8 bytes, its shape \[3\] takes 12"):
        read_weights(path)
    path.write_bytes(pb.blob(7, pb.blob(5, tensor)))  # the numbers are in another file
    with pytest.raises(InvalidInput, match="with its weights inside"):
        read_weights(path)
