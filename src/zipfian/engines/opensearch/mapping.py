"""The index of a collection: settings and mapping, made from the collection's settings and checked against them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zipfian._version import __version__
from zipfian.collection.settings import Settings
from zipfian.collection.trust import NOTHING, Trust
from zipfian.engines.opensearch import columns as metadata
from zipfian.engines.opensearch.client import Server
from zipfian.engines.opensearch.codes import DELIMITER, FieldCode, Storage, codes_from_json
from zipfian.errors import FingerprintMismatch, FormatTooNew, FormatTooOld, IndexCorrupt, InvalidInput
from zipfian.fields.base import PostingField
from zipfian.index.metadata import ColumnType
from zipfian.limits import MAX_COLUMNS, MAX_TERM_BYTES

FORMAT = 3
SEQUENCE = "zf_seq"
"""Order of the last upsert, which breaks ties between equal scores as the embedded engine does."""
WORDS = "zf_words"
"""Words of a document, as the first words field counts them: their mean is something a fusion asks for."""
STORED = "doc"
"""Text and metadata as they were given; not indexed."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of an index that never change once it is made."""

    settings: Settings
    codes: Mapping[str, FieldCode]
    shards: int = 3
    replicas: int = 1
    refresh: str = "-1"

    @classmethod
    def choose(
        cls, settings: Settings, server: Server, storage: Mapping[str, Storage] | None, shards: int, replicas: int,
        refresh: str,
    ) -> Layout:  # fmt: skip
        """For a new index."""
        for name, value, least in (("shards", shards, 1), ("replicas", replicas, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInput(f"{name} must be a whole number from {least}, not {value!r}")
        if not isinstance(refresh, str):
            raise InvalidInput(f"refresh is a time such as '1s', or '-1' for commits only, not {refresh!r}")
        wanted = storage or {}
        for name in wanted:
            settings.field(name)
        fields = settings.posting_fields
        for name, field in settings.fields.items():
            if not isinstance(field, PostingField) or field.of is None:
                continue
            if settings.postings(field.of).scoring != field.scoring:
                raise InvalidInput(
                    f"field {name!r} searches the postings of {field.of!r} by another formula, which an "
                    "index cannot do: "
                    "give both the same scoring"
                )
        codes = {name: FieldCode.choose(name, field, server, wanted.get(name)) for name, field in fields.items()}
        return cls(settings, codes, shards, replicas, refresh)

    def body(self) -> dict[str, Any]:
        """What `PUT /index` takes."""
        fields = self.settings.posting_fields
        similarity = {f"zf_{n}": s for n, field in fields.items() if (s := self.codes[n].similarity(field)) is not None}
        return {
            "settings": {
                "index": {
                    "number_of_shards": self.shards,
                    "number_of_replicas": self.replicas,
                    "refresh_interval": self.refresh,
                    "mapping.total_fields.limit": 2 * MAX_COLUMNS + 200,
                    "similarity": similarity,
                },
                "analysis": _analysis(any(c.storage == "frequencies" for c in self.codes.values())),
            },
            "mappings": {
                "dynamic": "strict",
                "_meta": {"zipfian": self.about()},
                "_source": {"excludes": ["field_*", "v_*"]},
                "properties": {
                    STORED: {"type": "object", "enabled": False},
                    SEQUENCE: {"type": "long", "index": False},
                    WORDS: {"type": "double", "index": False},
                    metadata.HAS: {"type": "keyword"},
                    **{
                        index_field(name): field_property(name, field, self.codes[name])
                        for name, field in fields.items()
                    },
                },
            },
        }

    def about(self) -> dict[str, Any]:
        """What the index says about itself."""
        return {
            "format": FORMAT,
            "version": __version__,
            "settings": {**self.settings.to_json(), "columns": {}},
            "codes": {name: code.to_json() for name, code in self.codes.items()},
        }


def index_field(name: str) -> str:
    """The field of the index that holds a field."""
    return f"field_{name}"


def vector_field(name: str, dim: int) -> str:
    """The stored field of a pooled vector; its name says how long the vectors are."""
    return f"v_{dim}_{metadata.escape(name)}"


def vector_dims(names: Iterable[str], source: str) -> dict[str, int]:
    """Names and lengths of the vectors that an index holds."""
    out: dict[str, int] = {}
    for entry in sorted(names):
        found = re.match(r"v_([0-9]+)_(.+)\Z", entry)
        if found:
            name, dim = metadata.unescape(found[2]), int(found[1])
            if out.setdefault(name, dim) != dim:
                raise IndexCorrupt(source, f"vectors {name!r} of {out[name]} and of {dim} numbers")
    return out


def field_property(name: str, field: PostingField, code: FieldCode) -> dict[str, Any]:
    """A field's entry in the mapping."""
    if code.storage == "features":
        return {"type": "rank_features"}
    out: dict[str, Any] = {
        "type": "text", "analyzer": f"zf_{code.storage}", "index_options": "freqs", "similarity": f"zf_{name}",
    }  # fmt: skip
    if code.similarity(field) is not None and field.scoring.to_json()["kind"] == "dot":
        out["norms"] = False  # a dot product has no lengths
    return out


def vector_property() -> dict[str, Any]:
    """A vector is read back, and by the script that scans."""
    return {"type": "binary", "doc_values": True}


def _analysis(frequencies: bool) -> dict[str, Any]:
    """Our tokens, cut at blanks: there is no analyser that could drift from ours."""
    out: dict[str, Any] = {
        "tokenizer": {"zf_blank": {"type": "whitespace", "max_token_length": 16 * MAX_TERM_BYTES}},
        "analyzer": {"zf_repeated": {"type": "custom", "tokenizer": "zf_blank"}},
    }
    if frequencies:
        out["filter"] = {"zf_tf": {"type": "delimited_term_freq", "delimiter": DELIMITER}}
        out["analyzer"]["zf_frequencies"] = {"type": "custom", "tokenizer": "zf_blank", "filter": ["zf_tf"]}
    return out


def read(found: Mapping[str, Any], source: str, trust: Trust = NOTHING) -> tuple[Layout, dict[str, ColumnType]]:
    """What an existing index (`GET /index`) is; anything that is not exactly ours is refused."""
    mappings = found.get("mappings", {})
    about = mappings.get("_meta", {}).get("zipfian")
    if not isinstance(about, Mapping):
        raise InvalidInput(f"{source}: this index was not made by zipfian; choose another name")
    version = about.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise FormatTooNew(f"{source}: made by zipfian {about.get('version')}, format {version}; upgrade the package")
    if version != FORMAT:
        raise FormatTooOld(
            f"{source}: made by zipfian {about.get('version')}, format {version}; this one reads {FORMAT}: index the "
            "documents into a new one"
        )
    try:
        settings = Settings.from_json(about["settings"], source, trust)
        codes = codes_from_json(about["codes"])
        index = found["settings"]["index"]
        layout = Layout(
            settings, codes, int(index["number_of_shards"]), int(index["number_of_replicas"]),
            str(index.get("refresh_interval", "1s")),
        )  # fmt: skip
        if set(codes) != set(settings.posting_fields):
            raise KeyError("codes")
    except (KeyError, TypeError, ValueError) as e:
        if isinstance(e, FingerprintMismatch | FormatTooNew | FormatTooOld | InvalidInput):
            raise
        raise IndexCorrupt(source, f"what the index says about itself cannot be read ({e!r})") from e
    _compare(found, layout.body(), source)
    return layout, metadata.from_mapping(mappings.get("properties", {}), source)


def _compare(found: Mapping[str, Any], expected: Mapping[str, Any], source: str) -> None:
    """Scores are only ours if analysis, similarities and columns are."""
    index = found["settings"]["index"]
    pairs = [
        ("analysis", index.get("analysis", {}), expected["settings"]["analysis"]),
        ("similarity", index.get("similarity", {}), expected["settings"]["index"]["similarity"]),
    ]
    properties = found["mappings"].get("properties", {})
    pairs += [
        (f"column {name}", properties.get(name, {}), entry)
        for name, entry in expected["mappings"]["properties"].items()
    ]
    for what, there, wanted in pairs:
        if _plain(there) != _plain(wanted):
            raise FingerprintMismatch(
                f"{source}: the {what} of this index is {there}, where its fields need {wanted}: it was "
                "changed after it "
                "was made; index the documents into a new one"
            )


def _plain(value: Any) -> Any:
    """Settings come back as strings, numbers in another form, single values without their list."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list) and len(value) == 1:
        return _plain(value[0])
    if isinstance(value, list):
        return [_plain(v) for v in value]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return repr(float(text))
    except ValueError:
        return text
