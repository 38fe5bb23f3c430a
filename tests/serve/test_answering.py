"""Answers as JSON: what `objects.plain` makes of them, written without the copy."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from zipfian.objects import plain
from zipfian.serve.answering import written


@dataclass
class Pair:
    a: float
    b: Any


@pytest.mark.parametrize(
    "content",
    [
        {"a": 1, "b": [1.5, None, True, "\u00e4\u4e2d"], "c": {"d": (1, 2)}},
        {"a": math.nan, "b": [math.inf, {"c": -math.inf}], "d": 1.0},
        {"a": np.float64(0.1), "b": np.int64(3), "c": np.float32(0.5), "d": np.bool_(True), "e": np.arange(3)},
        {"a": np.float64("nan"), "b": np.array([1.0, math.nan])},
        {"a": Pair(1.0, Pair(math.nan, {"x"})), "b": date(2024, 2, 3), "c": MappingProxyType({"d": 1})},
        {"a": {1: "x", np.int64(2): "y", ("t",): "z", date(2024, 2, 3): "w"}},
    ],
)
def test_the_json_is_that_of_plain_values(content: Any) -> None:
    assert json.loads(written(content)) == plain(content)
    assert written(content) == json.dumps(plain(content), ensure_ascii=False, separators=(",", ":")).encode()
