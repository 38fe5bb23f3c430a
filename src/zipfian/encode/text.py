"""The text encoders of English: all-MiniLM-L6-v2, the default, and gte-small; without a hub.

Results are those of the published models in fp32. On a processor (onnxruntime) texts of equal length run together and
nothing is padded, so a text's vectors are the same bits whatever else is encoded with it. On a GPU (torch, extra `gpu`;
`device_texts.py`) they are the same numbers but for rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zipfian.device import CPU, Precision, checked_device, checked_precision
from zipfian.encode import base, models, weights
from zipfian.encode._texts import Plan, Results, WindowedTexts
from zipfian.encode.bert import BertShape, Weights, bert_graph, output_name
from zipfian.encode.layers import LayerChoice, checked_layers
from zipfian.encode.onnxfile import read_weights
from zipfian.encode.plan import Batch, Job, batches
from zipfian.encode.session import Session
from zipfian.encode.tokens import PieceTokenizer
from zipfian.encode.windows import LongTexts, window_fingerprint
from zipfian.errors import InvalidInput, MissingExtra, shown
from zipfian.types import IntArray

if TYPE_CHECKING:
    from zipfian.encode.device_texts import DeviceTexts

WIDTH = 384
POSITIONS = 512
"""Rows of a model's position table: the longest sequence it can take."""

SHAPES = {
    models.MINILM.name: BertShape(layers=6, heads=12),
    models.GTE_SMALL.name: BertShape(layers=12, heads=12),
}
"""The models: all of them pool the mean of a text's tokens and read queries as they read documents."""

REVISION = 1
"""Counted up when the same text may get other vectors."""

DEFAULT_BATCH_TOKENS = 512
"""Enough for the matrix products to run at full speed, small enough for the processor's cache."""

GROUPS_ON_DEVICE = 16
"""4,096 texts, or 6 million characters: up to about 1.5 million tokens."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: PieceTokenizer
    network: Session | DeviceTexts
    """On the processor, batch by batch; or on a device, which cuts batches of its own."""


class TextEncoder(WindowedTexts):
    """Word pieces of a text to vectors of 384 numbers per chosen layer, and one pooled vector of length 1.

    Weights are looked for, checked and loaded at the first use, not here.

    Parameters
    ----------
    model
        `all-minilm-l6-v2`, which the shipped vocabulary reads, or `gte-small`: twice the blocks and twice the
        time, for its pooled vectors.
    layers
        Hidden states to use, side by side: block numbers (-1 the last), each optionally with a factor:
        `((-2, 0.5), (-1, 1.0))`.
    max_tokens
        Tokens that go through the network at once, the two special ones included; 512 at most.
    long_texts
        `windows`: a longer text is encoded in overlapping windows and no token is lost. `cut`: only its beginning is.
    overlap
        Tokens that neighbouring windows share at least; by default a quarter of `max_tokens`.
    keep_special
        Keep [CLS], [SEP] and [UNK] among the tokens. By default they yield nothing; they always count in the pooled
        vector, as the model was trained.
    batch_tokens
        Tokens of one batch at most, as long as it holds more than one window; by default what suits the device.
    threads
        Batches encoded side by side; by default one per processor.
    source
        File, folder or archive to take the weights from when the cache has none.
    progress
        Called with (bytes done, bytes in all) while weights are fetched.
    device
        `cpu`; `cuda` or `cuda:N`, a GPU (extra `gpu`); `auto`, the GPU where torch sees one. It is no part of the
        fingerprint: what a GPU indexed is searched on a processor.
    precision
        Of the network on a GPU: `float32`, whose vectors differ from a processor's by less than 1e-5 of their length,
        or `float16` or `bfloat16`, which give some tokens other terms. Encodings in them are cached apart.

    Raises
    ------
    InvalidInput
        Another model, a layer that it does not have, a number out of its range, or a device that is not there.
    MissingExtra
        A GPU, and no torch.

    Examples
    --------
    >>> TextEncoder().dim, TextEncoder(layers=(-2, -1)).dim
    (384, 768)
    >>> TextEncoder("gte-small").blocks
    12
    """

    languages = frozenset({"en"})
    """ISO 639-1 codes of the languages that it reads."""

    def __init__(
        self,
        model: str = models.MINILM.name,
        *,
        layers: Sequence[LayerChoice] = (-1,),
        max_tokens: int = POSITIONS,
        long_texts: LongTexts = "windows",
        overlap: int | None = None,
        keep_special: bool = False,
        batch_tokens: int | None = None,
        threads: int | None = None,
        source: Path | None = None,
        progress: base.Progress | None = None,
        device: str = CPU,
        precision: str = "float32",
    ) -> None:
        if batch_tokens is not None and batch_tokens < 1:
            raise InvalidInput(f"batch_tokens must be at least 1, not {batch_tokens}")
        if not isinstance(model, str) or model not in SHAPES:
            raise InvalidInput(f"no text encoder is called {shown(model)}; there are: {', '.join(SHAPES)}")
        super().__init__(max_tokens, POSITIONS, long_texts, overlap, threads)
        self.model = models.find(model)
        self._shape = SHAPES[model]
        self.layers = checked_layers(layers, self.blocks)
        self.keep_special = keep_special
        self.device = checked_device(device, "a text encoder on a GPU")
        self.precision: Precision = checked_precision(precision)
        if self.device == CPU and self.precision != "float32":
            raise InvalidInput(
                f"precision {precision!r} is for a GPU: on the processor an encoder computes in float32; leave it out"
            )
        self.batch_tokens = _batch_tokens(self.device) if batch_tokens is None else batch_tokens
        self._source = source
        self._progress = progress
        self._lock = threading.RLock()
        self._tokenizer: PieceTokenizer | None = None
        self._loaded: _Loaded | None = None

    @property
    def blocks(self) -> int:
        """Transformer blocks of the model: the number of its last layer."""
        return self._shape.layers

    @property
    def dim(self) -> int:
        """Components of a token vector."""
        return WIDTH * len(self.layers)

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""
        return WIDTH

    @property
    def fingerprint(self) -> str:
        """Model, tokenizer and every setting that changes a vector."""
        files = {file.name: file.sha256 for file in self.model.files}
        settings = {
            "revision": REVISION,
            "files": files,
            "layers": self.layers,
            **window_fingerprint(self),
            "keep_special": self.keep_special,
        }
        return base.fingerprint(self.model.name, settings)

    @property
    def at_once(self) -> int:
        """Groups of texts that are worth encoding together: on a GPU many, as each is over in a moment."""
        return 1 if self.device == CPU else GROUPS_ON_DEVICE

    @property
    def fell_back(self) -> int:
        """Texts that half precision could not represent, and that were encoded in float32 instead."""
        network = None if self._loaded is None else self._loaded.network
        return 0 if network is None or isinstance(network, Session) else network.fell_back

    def load(self) -> None:
        """Fetch, check and load the weights now instead of at the first use."""
        self._ready()

    def pieces(self, text: str) -> IntArray:
        """Word pieces of a text in order, as in `Encoded.pieces`: the tokenizer alone, in microseconds."""
        tokenizer = self._pieces()
        found = tokenizer.ids(text, self.max_tokens - 2 if self.long_texts == "cut" else None)
        if self.keep_special:
            found = [tokenizer.start, *found, tokenizer.end]
        else:
            found = [piece for piece in found if piece not in tokenizer.specials]
        return np.array(found, dtype=np.int32)

    def _batches(self, jobs: Sequence[Job]) -> Iterator[Batch]:
        return batches(jobs, self.batch_tokens)

    def _run(self, plan: Plan, progress: base.Progress | None) -> list[base.Outcome]:
        network = self._ready().network
        if isinstance(network, Session):
            return super()._run(plan, progress)
        return network.encode(plan.items, plan.jobs, progress)

    def _worker(self, results: Results) -> Callable[[Batch], Batch]:
        loaded = self._ready()
        session = loaded.network
        if not isinstance(session, Session):
            raise InvalidInput(f"this encoder runs on {self.device}, which cuts batches of its own")
        names = [output_name(layer) for layer, _ in self.layers]
        factors = [factor for _, factor in self.layers]
        last = output_name(self.blocks)
        wanted = list(dict.fromkeys((*names, last)))

        def work(batch: Batch) -> Batch:
            pieces = batch.rows(loaded.tokenizer.start, loaded.tokenizer.end)
            positions = np.arange(pieces.shape[1], dtype=np.int32)
            outputs = session.run(wanted, {"pieces": pieces, "positions": positions})
            states = dict(zip(wanted, outputs, strict=True))
            for row, job in enumerate(batch.jobs):
                results.of(job).add_states(job, [states[name][row] for name in names], factors, states[last][row])
            return batch

        return work

    def _ready(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _pieces(self) -> PieceTokenizer:
        """The tokenizer, whose file is small: loaded without the network's weights."""
        with self._lock:
            if self._tokenizer is None:
                only = replace(self.model, files=(self.model.file("tokenizer.json"),))
                files = weights.get(only, source=self._source, progress=self._progress)
                self._tokenizer = PieceTokenizer(files["tokenizer.json"])
            return self._tokenizer

    def _load(self) -> _Loaded:
        arrays = _weights(weights.get(self.model, source=self._source, progress=self._progress))
        if self.device != CPU:
            return _Loaded(self._pieces(), self._on_device(arrays))
        wanted = {self.blocks, *(layer for layer, _ in self.layers)}
        graph = bert_graph(arrays, self._shape, sorted(wanted))
        return _Loaded(self._pieces(), Session(graph, "text", fuse=False))

    def _on_device(self, arrays: Weights) -> DeviceTexts:
        from zipfian.encode.device_texts import DeviceTexts, Settings
        from zipfian.encode.torch_bert import TorchBert

        settings = Settings(self.layers, self.blocks, self.keep_special)
        return DeviceTexts(
            partial(TorchBert, arrays, self._shape), self.device, self.precision, self._pieces(), settings,
            self.batch_tokens,
        )  # fmt: skip


def _batch_tokens(device: str) -> int:
    if device == CPU:
        return DEFAULT_BATCH_TOKENS
    from zipfian.encode.device_texts import BATCH_TOKENS

    return BATCH_TOKENS


def _weights(files: Mapping[str, Path]) -> Weights:
    """The tensors of a model, from whichever kind of file it is published in."""
    if "model.onnx" in files:
        return read_weights(files["model.onnx"])
    try:
        from safetensors.numpy import load_file
    except ImportError as error:
        raise MissingExtra("encoding text", "text") from error
    loaded: Weights = load_file(files["model.safetensors"])
    return loaded
