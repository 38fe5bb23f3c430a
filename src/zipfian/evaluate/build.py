"""A collection for a dataset: built once, kept where the caller wants it, extended by the fields that are missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zipfian.collection import Collection
from zipfian.encode.base import Encoder
from zipfian.errors import IndexNotFound, InvalidInput
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import Kind, Method
from zipfian.fields import Aligned, Dense, Field, Translated
from zipfian.fields.named import default_field

Progress = Callable[[int], None]


def fields_of(methods: Iterable[Method], kind: Kind) -> tuple[str, ...]:
    """The fields that some methods need, each once."""
    return tuple(dict.fromkeys(field for method in methods for field in method.fields_for(kind)))


def grouped(methods: Sequence[Method], kind: Kind) -> list[tuple[tuple[str, ...], list[Method]]]:
    """Methods that may share a collection, and its fields.

    A fusion ranks with every field there is: what it gives must not depend on which other methods are measured beside
    it, so it gets a collection of exactly its own fields. Single fields go where they fit.
    """
    groups: dict[frozenset[str], list[Method]] = {}
    for method in methods:
        if method.alone:
            groups.setdefault(frozenset(method.fields_for(kind)), []).append(method)
    rest = []
    for method in methods:
        if not method.alone:
            fitting = [fields for fields in groups if fields >= set(method.fields_for(kind))]
            if fitting:
                groups[max(fitting, key=len)].append(method)
            else:
                rest.append(method)
    out = [(fields_of(part, kind), part) for part in groups.values()]
    return [*out, (fields_of(rest, kind), rest)] if rest else out


@contextmanager
def built(
    dataset: Dataset, fields: Sequence[str], work: Path | None = None, progress: Progress | None = None,
    encoder: Encoder[Any] | None = None,
) -> Iterator[Collection]:  # fmt: skip
    """The dataset as a searchable collection with these fields; in a temporary folder unless `work` is given.

    A collection kept in `work` from an earlier run with the same fields is used again; it must hold the same documents.
    `encoder` is that of the dense field; None: the default one.
    """
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
        mark = "" if encoder is None else f"+{hashlib.sha256(encoder.fingerprint.encode()).hexdigest()[:12]}"
        name = f"{_file_name(dataset.name)}+{'+'.join(sorted(fields))}{mark}.zf"
        with _opened(dataset, fields, work / name, progress, encoder) as collection:
            yield collection
        return
    with (
        TemporaryDirectory(prefix="zipfian-eval-") as folder,
        _opened(dataset, fields, Path(folder) / "collection.zf", progress, encoder) as collection,
    ):
        yield collection


@contextmanager
def _opened(
    dataset: Dataset, fields: Sequence[str], path: Path, progress: Progress | None, encoder: Encoder[Any] | None
) -> Iterator[Collection]:
    mark = fingerprint(dataset)
    try:
        collection = Collection.open(path, mode="w", trust=() if encoder is None else [encoder])
    except IndexNotFound:
        collection = Collection.create(path, make_fields(fields, dataset, encoder))
    with collection:
        if len(collection) and collection.user.get("dataset") != mark:
            raise InvalidInput(
                f"{path}: holds a collection of other documents than {dataset.name}; give another --work folder"
            )
        if len(collection) != dataset.n_docs:
            collection.add(_readable(dataset, collection.fields), "skip", progress)
            collection.commit({"dataset": mark})
        yield collection


def make_fields(names: Sequence[str], dataset: Dataset, encoder: Encoder[Any] | None = None) -> dict[str, Field]:
    """The fields that names mean for a dataset, by what its documents are; `encoder` is that of a dense field.

    `dense` reads pictures in picture sets and texts elsewhere; `aligned` and `translated` are over pictures where there
    are any, and a translated field over pictures borrows the postings of a visual one.
    """
    pictures = "image" in next(dataset.documents())
    out: dict[str, Field] = {}
    for name in names:
        if name == "dense" and encoder is not None:
            out[name] = Dense(encoder=encoder)
        elif name == "aligned":
            out[name] = Aligned("image" if pictures else "text")
        elif name == "translated":
            if pictures:
                out.setdefault("visual", default_field("visual"))
            out[name] = Translated("image" if pictures else "text")
        else:
            out[name] = default_field("dense-image" if name == "dense" and dataset.kind == "image" else name)
    return out


def _readable(dataset: Dataset, fields: Mapping[str, Field]) -> Iterator[dict[str, Any]]:
    """The documents; without their pictures where no field looks at them, which a collection would refuse."""
    looks = any(field.reads == "image" for field in fields.values())
    for item in dataset.documents():
        yield item if looks else {key: value for key, value in item.items() if key != "image"}


def fingerprint(dataset: Dataset) -> str:
    """Of the documents' ids and texts: two datasets with the same one may share a collection."""
    digest = hashlib.sha256(dataset.kind.encode())
    for item in dataset.documents():
        for value in (item["id"], item.get("text") or "", Path(item["image"]).name if "image" in item else ""):
            digest.update(f"{len(value)}:{value}".encode())
    return digest.hexdigest()[:32]


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name) or "dataset"
