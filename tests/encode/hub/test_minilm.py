"""The default text encoder's real weights through transformers: two independent ways to the same vectors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tests.encode.hub.tiny import needs_hub
from zipfian.encode import TextEncoder, hub

pytestmark = needs_hub

CONFIG = {
    "model_type": "bert", "architectures": ["BertModel"], "hidden_size": 384, "num_hidden_layers": 6,
    "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512,
    "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0,
}  # fmt: skip


def test_hub_and_default_encoder_agree(minilm: dict[str, Path], reference: dict[str, Any], tmp_path: Path) -> None:
    for name, path in minilm.items():
        shutil.copy(path, tmp_path / name)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    tokens = {"cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "unk": "[UNK]", "mask": "[MASK]"}
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({**about, **{f"{k}_token": v for k, v in tokens.items()}})
    )
    layers = ((-2, 0.5), -1)
    texts = [*sorted(reference["texts"], key=len)[:6], "the river runs past seven copper mills; " * 60]
    ours = TextEncoder(layers=layers, threads=1).encode_documents(texts)
    theirs = hub.load(tmp_path, layers=layers).encode_documents(texts)
    for a, b in zip(ours, theirs, strict=True):
        assert a.pieces.tolist() == b.pieces.tolist() and a.places.tolist() == b.places.tolist()
        np.testing.assert_allclose(a.vectors, b.vectors, atol=1e-4)
        np.testing.assert_allclose(a.pooled, b.pooled, atol=1e-5)
