"""A hub model on a device: found at once, loaded at the first use, never with code from the hub."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from zipfian.device import CPU, Precision
from zipfian.encode import base
from zipfian.encode.hub import files
from zipfian.encode.hub._torch import checked_device, checked_precision, frozen, module
from zipfian.encode.hub.family import Family, Library, family_of
from zipfian.encode.hub.names import named
from zipfian.errors import DeviceFailed, InvalidInput, ZipfianError

_SHARED: WeakValueDictionary[tuple[object, ...], HubModel] = WeakValueDictionary()
_SHARING = threading.Lock()

_MAY_BE_MISSING = ("pooler.", "position_ids", "embeddings.token_type_ids")
"""Parts no result depends on: zipfian pools by itself, and tables of numbers 0, 1, 2 are made anew."""


class HubModel:
    """Folder, configuration, device and, once needed, the network. Encoders of one model may share it.

    Parameters
    ----------
    name_or_path
        A folder, or a name on the hub, which is fetched now unless the hub's cache has it; `open_clip:` or `hf:` before
        it says what reads it, and `open_clip:MobileCLIP-S1` is a model of open_clip's own list.
    revision
        Of a hub name: branch, tag or commit.
    device, precision
        `auto`, `cpu`, `cuda`, `cuda:N`; `float32`, or mixed precision with `bfloat16` or `float16`. Neither is part of
        the fingerprint: what was indexed in one precision is searched in another.
    local_files_only
        Never ask the hub.
    library
        `transformers` or `open_clip`, for folders that hold both formats.
    recorded
        The precision that the fingerprint names: that of collections from when it was a part of it.
    """

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        device: str = "auto",
        precision: str = "float32",
        local_files_only: bool = False,
        library: Library | None = None,
        recorded: str = "float32",
    ) -> None:
        module("torch")
        module("transformers")
        self.device = checked_device(device)
        self.precision: Precision = checked_precision(precision, self.device)
        self.recorded = recorded
        found = named(name_or_path, library)
        self.folder = files.locate(found.place, revision=revision, local_files_only=local_files_only)
        self._is_folder = Path(found.place).expanduser().is_dir()
        self.given = str(name_or_path)
        self.revision = revision
        self.name = found.name
        self.family: Family = family_of(self.folder, found.library)
        files.check_weights(self.folder)
        self._lock = threading.RLock()
        self._networks: dict[str, Any] = {}
        self._hashes: dict[str, str] | None = None

    @classmethod
    def shared(cls, name_or_path: str | Path, **where: Any) -> HubModel:
        """The model that some encoder of this process runs already, or a new one; arguments as for `HubModel`.

        So the halves of a CLIP take its memory once. A folder whose files have changed is another model.
        """
        made = cls(name_or_path, **where)
        running = (made.device, made.precision, made.recorded)
        key = (made.given, made.revision, running, made.family.library, files.stamps(made.folder))
        with _SHARING:
            return _SHARED.setdefault(key, made)

    @property
    def settings(self) -> dict[str, Any]:
        """What finds the same model again; where and in which precision it runs is not part of it."""
        given = str(self.folder.resolve()) if self._is_folder else self.given
        found = {"name_or_path": given, "precision": self.recorded, "library": self.family.library}
        return found if self.revision is None else {**found, "revision": self.revision}

    @property
    def hashes(self) -> dict[str, str]:
        """Of all files of the model; reading them takes about a second per gigabyte, once."""
        with self._lock:
            if self._hashes is None:
                self._hashes = files.hashes(self.folder)
            return self._hashes

    def fingerprint(self, kind: str, revision: int, settings: Mapping[str, Any]) -> str:
        """Of an encoder: its kind, all files and `settings`; where the files came from is no part."""
        known = {"revision": revision, "kind": kind, "files": self.hashes, "precision": self.recorded}
        return base.fingerprint(self.name, {**known, **settings})

    @contextmanager
    def running(self, auto_class: str = "AutoModel") -> Iterator[Any]:
        """The network, for one pass of one thread at a time."""
        with self._lock:
            if auto_class not in self._networks:
                self._networks[auto_class] = self._load(auto_class)
            with _told(self.device), frozen(self.device, self.precision):
                yield self._networks[auto_class]

    def config(self) -> Any:
        """The configuration as transformers reads it."""
        transformers = module("transformers")
        try:
            return transformers.AutoConfig.from_pretrained(
                str(self.folder), trust_remote_code=False, local_files_only=True
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"{self.folder}: transformers {transformers.__version__} cannot read its config.json "
                f"({_short(error)}); a newer transformers may"
            ) from error

    def tokenizer(self) -> Any:
        """The model's tokenizer as transformers makes it."""
        transformers = module("transformers")
        try:
            return transformers.AutoTokenizer.from_pretrained(
                str(self.folder), trust_remote_code=False, local_files_only=True
            )
        except ImportError as error:
            raise InvalidInput(f"the tokenizer in {self.folder} needs another package: {error}") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{self.folder}: its tokenizer cannot be loaded ({_short(error)})") from error

    def image_processor(self) -> Any:
        """What prepares pictures; the variant on Pillow, which gives the same pixels on every machine."""
        transformers = module("transformers")
        new = int(transformers.__version__.partition(".")[0]) >= 5
        which: dict[str, Any] = {"backend": "pil"} if new else {"use_fast": False}
        try:
            return transformers.AutoImageProcessor.from_pretrained(
                str(self.folder), trust_remote_code=False, local_files_only=True, **which
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(
                f"{self.folder}: its preprocessor_config.json cannot be used ({_short(error)})"
            ) from error

    def fresh(self, auto_class: str = "AutoModel") -> Any:
        """The network once more, for its owner alone: one that is trained must not be an encoder's."""
        return self._load(auto_class)

    def _load(self, auto_class: str) -> Any:
        if self.family.library == "open_clip":
            from zipfian.encode.hub.openclip import load_network

            network = load_network(self.folder, self.family.config)
        else:
            network = self._load_transformers(auto_class)
        return network.float().eval().to(self.device)

    def _load_transformers(self, auto_class: str) -> Any:
        transformers = module("transformers")
        damaged = module("safetensors").SafetensorError
        try:
            with _quiet(transformers):
                network, info = getattr(transformers, auto_class).from_pretrained(
                    str(self.folder),
                    trust_remote_code=False,
                    local_files_only=True,
                    use_safetensors=True,
                    output_loading_info=True,
                )
        except (damaged, OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
            raise InvalidInput(f"{self.folder}: the model cannot be loaded ({_short(error)})") from error
        missing = [key for key in sorted(info["missing_keys"]) if not any(part in key for part in _MAY_BE_MISSING)]
        if missing or info["mismatched_keys"]:
            named = ", ".join(missing[:3]) or str(sorted(map(str, info["mismatched_keys"]))[:3])
            raise InvalidInput(
                f"{self.folder}: weights do not fit a {type(network).__name__}, {len(missing)} are missing: {named}. "
                "They would be random numbers, so the model was not used; a newer transformers may know this layout"
            )
        return network


@contextmanager
def _told(device: str) -> Iterator[None]:
    """What breaks down on a GPU as `DeviceFailed`; where it only lacks memory, the caller may go on with less."""
    torch = module("torch")
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        if device == CPU or isinstance(error, ZipfianError):
            raise
        raise DeviceFailed(device, error) from error


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """No bars and no remarks on unused weights: what matters is checked here and becomes an error."""
    log = transformers.utils.logging
    bars, level = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
