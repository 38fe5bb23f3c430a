"""Tiny models of the real classes with random weights, saved as their authors would save them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MISSING = [name for name in ("torch", "transformers", "PIL") if importlib.util.find_spec(name) is None]
needs_hub = pytest.mark.skipif(bool(MISSING), reason=f"LEFT OUT: {', '.join(MISSING)} not installed (extra 'hub')")
needs_open_clip = pytest.mark.skipif(
    bool(MISSING) or importlib.util.find_spec("open_clip") is None,
    reason="LEFT OUT: open_clip or torch is not installed (extra 'hub')",
)

TEXT = "The river ran past the copper mill; summer light, winter stone."
TEXTS = [
    TEXT,
    "copper",
    "Rivers ran.",
    "a mill of stone and light",
    "the mill",
    "",
    "Stone river copper light winter summer mill " * 3,
]
WORDS = "the river ran past copper mill summer light winter stone a of and search document query rivers".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def _seed() -> Any:
    import torch

    torch.manual_seed(7)
    torch.set_num_threads(1)
    return torch


def shake(model: Any) -> Any:
    """Random weights everywhere, so that no part is a constant whose absence nobody would notice."""
    torch = _seed()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    return model.eval()


def _save_tokenizer(tokenizer: Any, folder: Path, **about: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", **about}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))


def word_pieces(folder: Path, **about: Any) -> int:
    """A BERT tokenizer; gives the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = [*SPECIAL, *WORDS, "_", ":", ";", ",", ".", "##s", *"abcdefghijklmnopqrstuvwxyz"]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])]
    )
    tokenizer.add_special_tokens(SPECIAL)
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    _save_tokenizer(tokenizer, folder, **{f"{k}_token": v for k, v in names.items()}, model_max_length=64, **about)
    return len(vocab)


def byte_pieces(
    folder: Path, special: list[str], single: str, added: tuple[str, ...] = (), **about: Any
) -> dict[str, int]:
    """A byte-level tokenizer, as ModernBERT and CLIP have; gives its vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([TEXT, *TEXTS, "search_document: x"], trainer)
    tokenizer.add_special_tokens(special)
    if added:
        tokenizer.add_tokens(list(added))
    ids = tokenizer.get_vocab()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[(token, ids[token]) for token in special if token in single]
    )
    _save_tokenizer(tokenizer, folder, **about)
    return dict(ids)


def gemma_pieces(folder: Path) -> dict[str, int]:
    """A tokenizer as SigLIP2 has it: spaces are letters, unknown characters are bytes."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    letters = ["\u2581", *"abcdefghijklmnopqrstuvwxyz"]
    merges = [("t", "h"), ("th", "e"), ("m", "i"), ("mi", "l"), ("mil", "l"), ("\u2581", "mill"), ("s", "t")]
    pieces = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *(a + b for a, b in merges)]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A <eos>", special_tokens=[("<eos>", 1)])
    tokenizer.add_special_tokens(special)
    names = {f"{token[1:-1]}_token": token for token in special}
    _save_tokenizer(tokenizer, folder, **names, model_max_length=16, padding_side="right")
    return vocab


def bert(folder: Path, **changes: Any) -> Any:
    """BertModel."""
    from transformers import BertConfig, BertModel

    return _text(folder, BertConfig, BertModel, **changes)


def masked_bert(folder: Path, **changes: Any) -> Any:
    """BertForMaskedLM, as SPLADE models are."""
    from transformers import BertConfig, BertForMaskedLM

    return _text(folder, BertConfig, BertForMaskedLM, **changes)


def nomic(folder: Path) -> Any:
    """NomicBertModel."""
    import transformers

    if not hasattr(transformers, "NomicBertModel"):
        pytest.skip("LEFT OUT: this transformers has no NomicBertModel")
    return _text(folder, transformers.NomicBertConfig, transformers.NomicBertModel)


def _text(folder: Path, config_class: Any, model_class: Any, **changes: Any) -> Any:
    size = word_pieces(folder)
    _seed()
    config = config_class(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        pad_token_id=0,
        **changes,
    )
    model = shake(model_class(config))
    model.save_pretrained(folder)
    return model


def modern_colbert(folder: Path, attend: bool = False) -> tuple[Any, Any]:
    """ModernBertModel with a projection, saved as PyLate does; gives the model and the projection."""
    from safetensors.numpy import save_file
    from transformers import ModernBertConfig, ModernBertModel

    ids = byte_pieces(
        folder,
        SPECIAL,
        "[CLS] $A [SEP]",
        ("[Q] ", "[D] "),
        model_max_length=64,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        unk_token="[UNK]",
    )
    _seed()
    config = ModernBertConfig(
        vocab_size=len(ids),
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        local_attention=8,
        pad_token_id=ids["[PAD]"],
        cls_token_id=ids["[CLS]"],
        sep_token_id=ids["[SEP]"],
        bos_token_id=ids["[CLS]"],
        eos_token_id=ids["[SEP]"],
    )
    model = shake(ModernBertModel(config))
    model.save_pretrained(folder)
    weight = np.random.default_rng(0).normal(size=(12, 32)).astype(np.float32)
    (folder / "1_Dense").mkdir()
    save_file({"linear.weight": weight}, folder / "1_Dense" / "model.safetensors")
    dense = {"in_features": 32, "out_features": 12, "bias": False}
    dense["activation_function"] = "torch.nn.modules.linear.Identity"  # type: ignore[assignment]
    (folder / "1_Dense" / "config.json").write_text(json.dumps(dense))
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    about = {
        "query_prefix": "[Q] ",
        "document_prefix": "[D] ",
        "query_length": 24,
        "attend_to_expansion_tokens": attend,
    }
    (folder / "config_sentence_transformers.json").write_text(json.dumps(about))
    return model, weight


def clip(folder: Path) -> Any:
    """CLIPModel with its tokenizer and image processor: 4 x 4 patches."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    special = ["<|startoftext|>", "<|endoftext|>"]
    ids = byte_pieces(
        folder,
        special,
        "<|startoftext|> $A <|endoftext|>",
        model_max_length=20,
        bos_token=special[0],
        eos_token=special[1],
        pad_token=special[1],
        unk_token=special[1],
    )
    text = {
        "vocab_size": len(ids), "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 48, "max_position_embeddings": 20, "bos_token_id": ids[special[0]],
        "eos_token_id": ids[special[1]], "pad_token_id": ids[special[1]], "projection_dim": 16,
    }  # fmt: skip
    vision = {
        "hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48,
        "image_size": 32, "patch_size": 8, "projection_dim": 16,
    }  # fmt: skip
    _seed()
    model = shake(CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)))
    model.save_pretrained(folder)
    CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(folder)
    return model


def siglip(folder: Path, two: bool = False, size: int = 32) -> Any:
    """SiglipModel (fixed size, as most SigLIP2 models are too) or Siglip2Model (any shape)."""
    import transformers as t

    ids = gemma_pieces(folder)
    text = {
        "vocab_size": len(ids), "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 48, "max_position_embeddings": 16, "projection_size": 32,
    }  # fmt: skip
    vision = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "patch_size": 8,
    }
    _seed()
    if two and not hasattr(t, "Siglip2Model"):
        pytest.skip("LEFT OUT: this transformers has no Siglip2Model")
    if two:
        model = shake(t.Siglip2Model(t.Siglip2Config(text_config=text, vision_config={**vision, "num_patches": 16})))
        t.Siglip2ImageProcessor(patch_size=8, max_num_patches=16).save_pretrained(folder)
    else:
        model = shake(t.SiglipModel(t.SiglipConfig(text_config=text, vision_config={**vision, "image_size": size})))
        t.SiglipImageProcessor(size={"height": size, "width": size}).save_pretrained(folder)
    model.save_pretrained(folder)
    return model


def dinov2(folder: Path, registers: bool = False) -> Any:
    """Dinov2Model, or the one with registers: 4 x 4 patches out of a middle of 28 pixels."""
    import transformers as t

    about = {
        "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "mlp_ratio": 2, "image_size": 42,
        "patch_size": 7,
    }  # fmt: skip
    _seed()
    if registers:
        model = t.Dinov2WithRegistersModel(t.Dinov2WithRegistersConfig(**about, num_register_tokens=3))
    else:
        model = t.Dinov2Model(t.Dinov2Config(**about))
    shake(model).save_pretrained(folder)
    size, crop = {"shortest_edge": 32}, {"height": 28, "width": 28}
    t.BitImageProcessor(size=size, crop_size=crop, do_convert_rgb=True).save_pretrained(folder)
    return model


def resnet(folder: Path) -> Any:
    """ResNetModel with bottlenecks, as ResNet-101 has them: a map of 2 x 2 cells for 64 pixels."""
    import transformers as t

    config = t.ResNetConfig(
        embedding_size=8, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 2, 1], layer_type="bottleneck"
    )
    _seed()
    model = shake(t.ResNetModel(config)).eval()
    model.save_pretrained(folder)
    t.ConvNextImageProcessor(size={"shortest_edge": 96}, crop_pct=0.875).save_pretrained(folder)
    return model


def open_clip_model(folder: Path, custom_text: bool = False, pieces: bool = False) -> Any:
    """A CLIP of open_clip, in the layout of its hub folders: 4 x 4 patches."""
    import open_clip
    from safetensors.torch import save_file

    config = {
        "embed_dim": 16,
        "custom_text": custom_text,
        "vision_cfg": {"image_size": 32, "layers": 3, "width": 32, "head_width": 16, "patch_size": 8},
        "text_cfg": {"context_length": 20, "vocab_size": 49_408, "width": 32, "heads": 2, "layers": 3},
    }
    folder.mkdir(parents=True, exist_ok=True)
    if pieces:  # as its SigLIP models: another tokenizer, full rows, the last position pooled
        size = len(gemma_pieces(folder))
        more = {
            "hf_tokenizer_name": "someone/model",
            "tokenizer_kwargs": {"clean": "canonicalize"},
            "pool_type": "last",
        }
        config["text_cfg"] = {**config["text_cfg"], **more, "vocab_size": size, "no_causal_mask": True}  # type: ignore[dict-item]
    _seed()
    arguments = {key: value for key, value in config.items() if key != "custom_text"}
    model = shake((open_clip.CustomTextCLIP if custom_text else open_clip.CLIP)(**arguments))
    preprocess = {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "size": [32, 32]}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": preprocess}))
    tensors = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    save_file(tensors, folder / "open_clip_model.safetensors")
    return model


def mobile_clip(folder: Path) -> Any:
    """A convolutional network of timm as MobileCLIP has it, in the layout of open_clip's hub folders: 2 x 2 cells."""
    import open_clip
    from safetensors.torch import save_file

    config = {
        "embed_dim": 16,
        "custom_text": True,
        "vision_cfg": {
            "timm_model_name": "test_convnext", "timm_model_pretrained": False, "timm_pool": "avg", "timm_proj": None,
            "timm_drop": 0.0, "timm_drop_path": 0.0, "image_size": 64,
        },
        "text_cfg": {
            "context_length": 20, "vocab_size": 49_408, "width": 32, "heads": 2, "layers": 2, "no_causal_mask": True,
        },
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    _seed()
    model = shake(open_clip.CustomTextCLIP(**{key: value for key, value in config.items() if key != "custom_text"}))
    preprocess = {"mean": [0.0] * 3, "std": [1.0] * 3, "size": [64, 64], "resize_mode": "shortest"}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": preprocess}))
    save_file(
        {k: v.contiguous().clone() for k, v in model.state_dict().items()}, folder / "open_clip_model.safetensors"
    )
    return model


def pictures(count: int = 3) -> list[np.ndarray]:
    """Smooth random pictures of different shapes."""
    from PIL import Image

    rng = np.random.default_rng(3)
    shapes = [(48, 64), (64, 48), (50, 50), (33, 90)]
    found = []
    for i in range(count):
        height, width = shapes[i % len(shapes)]
        small = Image.fromarray(rng.integers(0, 256, size=(5, 7, 3), dtype=np.uint8))
        found.append(np.asarray(small.resize((width, height), Image.Resampling.BILINEAR)))
    return found
