"""Models of open_clip, folders (or hub names) with an open_clip_config.json: what is loaded, and the text half."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zipfian.encode.hub._torch import module
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.tokenizing import FastTokenizer, Frame, OtherTokenizer, Rows, tokenizer_of
from zipfian.encode.hub.towers import Passed
from zipfian.errors import InvalidInput, ZipfianError

_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors", "model.safetensors")


def check_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse what would fetch other files or could run code: open_clip passes such settings on unchecked."""
    text: Mapping[str, Any] = config.get("text_cfg") or {}
    vision: Mapping[str, Any] = config.get("vision_cfg") or {}
    more = text.get("tokenizer_kwargs") or {}
    for wrong, what in (
        ("hf_model_name" in text, "a text network of transformers inside (hf_model_name)"),
        (":" in str(vision.get("timm_model_name", "")), "an image network from elsewhere (timm_model_name)"),
        (bool(vision.get("timm_model_pretrained")), "weights from elsewhere (timm_model_pretrained)"),
        (bool(set(more) - {"clean"}), f"tokenizer settings {sorted(more)}"),
        (bool(text.get("tokenizer_mode")), f"a tokenizer of mode {text.get('tokenizer_mode')!r}"),
    ):
        if wrong:
            raise InvalidInput(f"{folder}: open_clip models with {what} are not supported")


def load_network(folder: Path, config: Mapping[str, Any]) -> Any:
    """The network with its weights; only a safetensors file is read."""
    check_config(folder, config)
    open_clip = module("open_clip", "an OpenCLIP model")
    path = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if path is None:
        raise InvalidInput(f"{folder} has none of {', '.join(_WEIGHTS)}: these are the weights that are read")
    try:
        with _quiet():
            network = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
        open_clip.load_checkpoint(network, str(path))
    except (module("safetensors").SafetensorError, RuntimeError, ValueError, KeyError, TypeError, OSError) as error:
        first = str(error).strip().splitlines()
        raise InvalidInput(f"{folder}: the model cannot be loaded ({first[0] if first else error!r})") from error
    return network


@contextmanager
def _quiet() -> Iterator[None]:
    """open_clip warns that the weights are random, which they are for one line only."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)


class OpenClipTextTower:
    """The text half. Rows always have the model's full width, as open_clip makes them."""

    masks = False
    mask_token: int | None = None

    def __init__(self, model: HubModel) -> None:
        self._model = model
        with model.running() as network:
            text = getattr(network, "text", network)
            if not hasattr(text, "ln_final") or getattr(text, "cls_emb", None) is not None:
                raise InvalidInput(f"{model.name}: only text networks of open_clip's plain CLIP design are supported")
            self.positions = int(text.positional_embedding.shape[0])
            self.width = int(text.positional_embedding.shape[1])
            self.blocks = len(text.transformer.resblocks)
            self._pad = int(getattr(text, "pad_id", 0))
            projection = text.text_projection
            self.own_pooled: int | None = self.width if projection is None else _columns(projection)
        self.tokenizer: FastTokenizer | OtherTokenizer
        self.tokenizer, self.special = _tokenizer(model)

    def frame(self, prefix: Sequence[int]) -> Frame:
        return Frame((*self.tokenizer.before, *prefix), self.tokenizer.after, self._pad, self.positions)

    def run(self, rows: Rows, mask: Rows | None, layers: Sequence[int]) -> Passed:
        if 0 in layers:
            raise InvalidInput("layer 0 is not available for OpenCLIP models; choose 1 or more")
        torch = module("torch")
        ids = torch.from_numpy(rows).to(self._model.device)
        asked = sorted({*layers, self.blocks})
        indices = [n - 1 for n in asked]
        with self._model.running() as network:
            if hasattr(network, "text"):
                found = network.text.forward_intermediates(ids, indices=indices, output_fmt="NLC")
                norm = network.text.ln_final
            else:
                found = network.forward_intermediates(text=ids, text_indices=indices, normalize=False)
                norm = network.ln_final
            states = dict(zip(asked, found["text_intermediates"], strict=True))
            states[self.blocks] = norm(states[self.blocks])
            return Passed([states[n] for n in layers], states[self.blocks], found["text_features"])


def _tokenizer(model: HubModel) -> tuple[OtherTokenizer, frozenset[int]]:
    """open_clip's own byte pairs, or the tokenizer in the folder behind open_clip's cleaning of the text."""
    known = module("open_clip.tokenizer")
    about = model.family.config.get("text_cfg") or {}
    clean = (about.get("tokenizer_kwargs") or {}).get("clean")
    if not about.get("hf_tokenizer_name"):
        simple = known.SimpleTokenizer(clean=clean or "lower")
        special = frozenset(simple.all_special_ids)
        return OtherTokenizer(_Surfaces(simple), (simple.sot_token_id,), (simple.eot_token_id,)), special
    loaded = model.tokenizer()
    inner = tokenizer_of(loaded)
    cleaned = known.get_clean_fn(clean or "whitespace")

    def surfaces(text: str) -> tuple[list[int], list[str]]:
        shown = cleaned(text)
        (pieces,) = inner.tokenize([shown])
        if isinstance(pieces, ZipfianError):
            raise pieces
        return pieces.ids.tolist(), [shown[a:b].strip() for a, b in pieces.spans.tolist()]

    return OtherTokenizer(surfaces, inner.before, inner.after), frozenset(loaded.all_special_ids)


class _Surfaces:
    """Pieces of open_clip's own byte-pair tokenizer with the characters they stand for."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> tuple[list[int], list[str]]:
        ids = self._tokenizer.encode(text)
        return ids, _characters([self._bytes(i) for i in ids])

    def _bytes(self, token: int) -> bytes:
        piece = self._tokenizer.decoder[token].removesuffix("</w>")
        return bytes(self._tokenizer.byte_decoder.get(char, 0x20) for char in piece)


def _characters(parts: Sequence[bytes]) -> list[str]:
    """Text of byte pieces; a character in several pieces is the last one's, where it is complete."""
    found: list[str] = []
    open_bytes = b""
    for part in parts:
        open_bytes += part
        try:
            found.append(open_bytes.decode())
            open_bytes = b""
        except UnicodeDecodeError as error:
            complete = error.reason != "unexpected end of data"
            found.append(open_bytes[: error.start].decode())
            open_bytes = b"" if complete else open_bytes[error.start :]
    return found


def _columns(projection: Any) -> int:
    return int(projection.out_features if hasattr(projection, "out_features") else projection.shape[1])
