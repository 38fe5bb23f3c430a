"""Text networks behind one small interface: rows of ids in, hidden states and, where a model has one, a vector out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from zipfian.encode.hub._torch import module
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.tokenizing import FastTokenizer, Frame, OtherTokenizer, Rows, tokenizer_of
from zipfian.errors import InvalidInput

_PADDED_POSITIONS = ("roberta", "xlm-roberta", "camembert", "roberta-prelayernorm", "mpnet")
"""Types whose position table starts after the padding id, so that a few of its rows are never used."""


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """Tensors of one pass."""

    states: list[Any]
    """(n, tokens, width) of each layer asked for."""
    last: Any
    """(n, tokens, width): what the model hands on."""
    pooled: Any | None
    """(n, pooled width), where the model has its own."""


class TextTower(Protocol):
    """A text network."""

    width: int
    blocks: int
    positions: int
    own_pooled: int | None
    """Components of the model's own pooled vector; None: pool the last states."""
    tokenizer: FastTokenizer | OtherTokenizer
    special: frozenset[int]
    mask_token: int | None
    masks: bool
    """Whether rows of different lengths may run together, the padding masked."""

    def frame(self, prefix: Sequence[int]) -> Frame:
        """What stands around a window."""

    def run(self, rows: Rows, mask: Rows | None, layers: Sequence[int]) -> Passed:
        """One pass."""


class PlainTower:
    """BERT and its relatives: one network, no projection."""

    own_pooled: int | None = None
    masks = True

    def __init__(self, model: HubModel) -> None:
        self._model = model
        config = model.config()
        self.width = int(config.hidden_size)
        self.blocks = int(config.num_hidden_layers)
        loaded = model.tokenizer()
        self.tokenizer = tokenizer_of(loaded)
        self.special = frozenset(loaded.all_special_ids)
        self.mask_token: int | None = loaded.mask_token_id
        self._pad = int(loaded.pad_token_id or 0)
        positions = int(config.max_position_embeddings)
        if model.family.model_type in _PADDED_POSITIONS:
            positions -= int(config.pad_token_id) + 1
        limit = getattr(loaded, "model_max_length", None) or positions
        self.positions = min(positions, int(limit)) if limit < 10**9 else positions

    def frame(self, prefix: Sequence[int]) -> Frame:
        return Frame((*self.tokenizer.before, *prefix), self.tokenizer.after, self._pad)

    def run(self, rows: Rows, mask: Rows | None, layers: Sequence[int]) -> Passed:
        torch = module("torch")
        every = any(layer < self.blocks for layer in layers)
        with self._model.running() as network:
            ids = torch.from_numpy(rows).to(self._model.device)
            attend = torch.ones_like(ids) if mask is None else torch.from_numpy(mask).to(self._model.device)
            found = network(input_ids=ids, attention_mask=attend, output_hidden_states=every)
            return Passed(chosen_states(found, layers, self.blocks), found.last_hidden_state, None)


class DualTextTower:
    """The text half of CLIP and SigLIP (transformers): its pooled vector is in the space of the pictures."""

    masks = False
    mask_token: int | None = None

    def __init__(self, model: HubModel) -> None:
        self._model = model
        whole = model.config()
        config = whole.text_config
        self.width = int(config.hidden_size)
        self.blocks = int(config.num_hidden_layers)
        self.positions = int(config.max_position_embeddings)
        self._clip = model.family.model_type == "clip"
        self.own_pooled: int | None = int(whole.projection_dim if self._clip else config.projection_size)
        loaded = model.tokenizer()
        self.tokenizer = tokenizer_of(loaded)
        self.special = frozenset(loaded.all_special_ids)
        self._pad = int(loaded.pad_token_id or 0)
        self._left = loaded.padding_side == "left"

    def frame(self, prefix: Sequence[int]) -> Frame:
        """CLIP looks to the left only, so it needs no padding; SigLIP was trained on full rows without a mask."""
        before = (*self.tokenizer.before, *prefix)
        if self._clip:
            return Frame(before, self.tokenizer.after, self._pad)
        return Frame(before, self.tokenizer.after, self._pad, self.positions, self._left)

    def run(self, rows: Rows, mask: Rows | None, layers: Sequence[int]) -> Passed:
        torch = module("torch")
        every = any(layer < self.blocks for layer in layers)
        with self._model.running() as network:
            ids = torch.from_numpy(rows).to(self._model.device)
            found = network.text_model(input_ids=ids, output_hidden_states=every)
            pooled = network.text_projection(found.pooler_output) if self._clip else found.pooler_output
            return Passed(chosen_states(found, layers, self.blocks), found.last_hidden_state, pooled)


def chosen_states(found: Any, layers: Sequence[int], blocks: int, *, normed: bool = True) -> list[Any]:
    """Of each layer. The last is what the model hands on, after its closing normalisation if it has one."""
    if any(layer < blocks or not normed for layer in layers) and found.hidden_states is None:
        version = module("transformers").__version__
        raise InvalidInput(f"transformers {version} does not give out earlier layers of this model: upgrade it")
    return [found.last_hidden_state if layer == blocks and normed else found.hidden_states[layer] for layer in layers]


def text_tower(model: HubModel) -> TextTower:
    """The text network of a model."""
    if "text" not in model.family.kinds:
        raise InvalidInput(f"{model.name} is a model of type {model.family.model_type!r}: it encodes pictures only")
    if model.family.library == "open_clip":
        from zipfian.encode.hub.openclip import OpenClipTextTower

        return OpenClipTextTower(model)
    return DualTextTower(model) if model.family.dual else PlainTower(model)
