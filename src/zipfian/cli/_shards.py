"""Encoded shards on the command line: what `index --encoded` takes and what it says about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zipfian.cli._output import note

if TYPE_CHECKING:
    from zipfian.encode.shards import Form
    from zipfian.fields import Field


class Encoded:
    """The shards that were named."""

    def __init__(self, paths: Sequence[Path]) -> None:
        from zipfian.encode.shards import ShardedCache

        self.cache = ShardedCache(dict.fromkeys(paths))
        self._checked = False

    def check(self, fields: Mapping[str, Field]) -> None:
        """Refuse shards that do not fit the fields; say once what is not complete."""
        remarks = self.cache.check_forms(forms_of(fields))
        if not self._checked:
            self._checked = True
            for remark in remarks:
                note(remark)

    def report(self) -> None:
        """What had to be encoded after all."""
        if self.cache.missing:
            note(f"{self.cache.missing:,} texts and pictures were in no shard and were encoded here")


def forms_of(fields: Mapping[str, Field]) -> list[Form]:
    """What the encoders of the fields have to make."""
    from zipfian.collection.encoding import Encoding

    return Encoding({name: field for name, field in fields.items() if field.encoder is not None}, None).forms
