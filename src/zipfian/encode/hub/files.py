"""The files of a hub model: where they are, what they say and what they hash to.

A model is a folder. A hub name is turned into one (the hub's own cache), so that everything after that, the hashes of
the fingerprint included, is the same for a name and for a local copy. Only safetensors weights are read: pickled ones
can run code, and converting them is one command.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.encode.hub._torch import module
from zipfian.errors import InvalidInput, LimitExceeded, ModelNotFound
from zipfian.storage.regular import sha256_of

CONFIG = "config.json"
OPEN_CLIP_CONFIG = "open_clip_config.json"
WEIGHTS = "*.safetensors"

PATTERNS = ("*.json", "*.txt", "*.model", "*.spm", WEIGHTS)
"""Of a repository: configurations, tokenizers and safetensors weights."""
IGNORED = ("onnx/*", "openvino/*", "coreml/*", "gguf/*", ".*")

HASHED = (
    WEIGHTS, "*.safetensors.index.json", "config.json", "open_clip_config.json", "modules.json",
    "*processor_config.json", "config_sentence_transformers.json", "tokenizer*.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "*.model", "*.spm",
)  # fmt: skip
"""What a vector can depend on; notes and licences beside it do not count."""


def locate(name_or_path: str | Path, *, revision: str | None = None, local_files_only: bool = False) -> Path:
    """The folder of a model; a hub name is fetched into the hub's cache unless it is there."""
    given = str(name_or_path)
    path = Path(name_or_path).expanduser()
    if given and path.is_dir():
        return path
    if given and path.exists():
        raise InvalidInput(f"{given} is a file; give the folder it is in")
    looks_local = isinstance(name_or_path, Path) or given.startswith((".", "/", "~")) or given.count("/") > 1
    if looks_local or not given or "\\" in given:
        raise ModelNotFound(given, "there is no such folder")
    return _from_hub(given, revision, local_files_only)


def _from_hub(name: str, revision: str | None, local_files_only: bool) -> Path:
    hub = module("huggingface_hub", "fetching a model from the hub")
    errors = module("huggingface_hub.errors")
    try:
        found = hub.snapshot_download(
            name,
            revision=revision,
            local_files_only=local_files_only,
            allow_patterns=list(PATTERNS),
            ignore_patterns=list(IGNORED),
        )
    except errors.LocalEntryNotFoundError as error:
        raise ModelNotFound(
            name, "it is not in the hub's cache here and the hub was not or could not be asked"
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
        raise ModelNotFound(name, f"the hub does not have it ({_first_line(error)})") from error
    except (errors.HfHubHTTPError, OSError) as error:
        raise ModelNotFound(name, f"the hub could not be reached ({_first_line(error)})") from error
    return Path(found)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def read_json(folder: Path, name: str, *, needed: bool = False) -> dict[str, Any]:
    """A small JSON file of the folder; an empty mapping where it may be missing and is."""
    path = folder / name
    if not path.is_file():
        if needed:
            raise InvalidInput(f"{folder} has no {name}: it is no folder of a model")
        return {}
    if path.stat().st_size > limits.MAX_CONFIG_BYTES:
        raise LimitExceeded(f"{path} has {path.stat().st_size:,} bytes, more than {limits.MAX_CONFIG_BYTES:,}")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{path} holds a {type(value).__name__}, not an object")
    return value


def check_weights(folder: Path) -> None:
    """Refuse a folder without safetensors, saying how to get them."""
    if any(folder.glob(WEIGHTS)):
        return
    pickled = sorted(p.name for pattern in ("*.bin", "*.pt", "*.pth") for p in folder.glob(pattern))
    if pickled:
        raise InvalidInput(
            f"{folder} has only pickled weights ({', '.join(pickled)}), which can run code and are never loaded. "
            "Choose a revision with model.safetensors (many models have one under refs/pr/), or convert them with "
            "transformers: AutoModel.from_pretrained(FOLDER).save_pretrained(NEW, safe_serialization=True)"
        )
    raise InvalidInput(f"{folder} has no weights (*.safetensors): the copy is not complete")


def hashes(folder: Path) -> dict[str, str]:
    """sha256 of every file that can change a vector: weights, configurations and tokenizers."""
    return {name: sha256_of(folder / name) for name in _counted(folder)}


def stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of the same files: what tells at once, without reading them, that one has changed."""
    about = [(name, (folder / name).stat()) for name in _counted(folder)]
    return tuple((name, found.st_size, found.st_mtime_ns) for name, found in about)


def _counted(folder: Path) -> list[str]:
    found = {p for pattern in HASHED for p in (*folder.glob(pattern), *folder.glob(f"[0-9]_*/{pattern}"))}
    return sorted(p.relative_to(folder).as_posix() for p in found if p.is_file())
