"""Where the vocabularies that ship with the package lie."""

from __future__ import annotations

from pathlib import Path

from zipfian.errors import InvalidInput
from zipfian.vocabulary._sae_weights import SETTINGS_FILE

SHIPPED = Path(__file__).resolve().parent.parent / "models"


def shipped() -> list[str]:
    """Names of the vocabularies that came with this installation."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{SETTINGS_FILE}"))


def find_model(model: str | Path) -> tuple[Path, str | None]:
    """The folder of a vocabulary, and its name where it is a shipped one.

    A name without a separator is a shipped vocabulary first and a folder second.
    """
    if not isinstance(model, str | Path) or not str(model):
        raise InvalidInput(f"a vocabulary is a name or a folder, not {model!r}")
    if isinstance(model, str) and model in shipped():
        return SHIPPED / model, model
    folder = Path(model).expanduser()
    if (folder / SETTINGS_FILE).is_file():
        return folder.resolve(), None
    raise InvalidInput(
        f"{model} is neither a shipped vocabulary ({', '.join(shipped()) or 'none here'}) nor a folder with a "
        f"{SETTINGS_FILE}"
    )
