"""What all shapes share: nothing unknown is accepted, numbers are finite, texts and names are bounded."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, StringConstraints

from zipfian import limits

Name = Annotated[str, StringConstraints(min_length=1, max_length=limits.MAX_NAME_CHARS)]
"""Of a field or a column."""

DocId = Annotated[str, StringConstraints(min_length=1, max_length=limits.MAX_ID_BYTES)]

QueryText = Annotated[str, StringConstraints(min_length=1, max_length=limits.MAX_SERVED_QUERY_CHARS)]

Where = Annotated[
    dict[str, JsonValue],
    Field(
        max_length=limits.MAX_FILTER_NODES,
        description="A metadata filter, applied before scoring. Operators: ==, !=, <, <=, >, >=, in, not in, exists; "
        "and, or, not join conditions.",
        examples=[{"lang": "en", "year": {">=": 2020}}],
    ),
]

Factor = Annotated[float, Field(ge=0.0, le=limits.MAX_SERVED_FACTOR, allow_inf_nan=False)]


def _decoded(value: Any) -> Any:
    """The bytes that base64 stands for; what is no text is left for the type check to refuse."""
    if not isinstance(value, str):
        raise ValueError("a picture is its file in base64, as a string")
    if len(value) > limits.MAX_SERVED_IMAGE_BYTES * 4 // 3 + 4:
        raise ValueError(f"a picture may have {limits.MAX_SERVED_IMAGE_BYTES:,} bytes at most")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not base64: send the file's bytes, encoded, without a data: prefix") from None


Picture = Annotated[
    bytes,
    BeforeValidator(_decoded, json_schema_input_type=str),
    Field(
        min_length=1,
        description=(
            "The file of a picture (JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF or HEIC) in base64. "
            "No path and no URL is read."
        ),
        json_schema_extra={"contentEncoding": "base64"},
    ),
]


class Shape(BaseModel):
    """A request: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Answer(BaseModel):
    """An answer; `time` is in all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time: float = Field(ge=0.0, description="Seconds that the service took for it.", examples=[0.0021])
