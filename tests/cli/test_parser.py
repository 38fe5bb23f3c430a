"""Mistakes at the keyboard: the usage that matters, and what was probably meant."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("arguments", "usage", "hint"),
    [
        (["serach", "p", "q"], "usage: zipfian [-h]", "did you mean search?"),
        (["search", "p", "q", "--wher", "{}", "--hihglight"], "usage: zipfian search", "did you mean --highlight?"),
        (["index", ".", "--into", "c", "--feilds=words"], "usage: zipfian index", "did you mean --fields?"),
        (["eval", "txet", "d"], "usage: zipfian eval", "did you mean text?"),
        (["eval", "text", "d", "--method", "x", "--sppplit", "y"], "usage: zipfian eval text", "did you mean --split?"),
        (["index", ".", "--into", "c", "--on-bad", "skipp"], "usage: zipfian index", "did you mean skip?"),
    ],
)
def test_what_was_meant(arguments: list[str], usage: str, hint: str, zipfian: Command) -> None:
    code, out, err = zipfian(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(usage)
    assert err.rstrip().endswith(hint)


@pytest.mark.parametrize("arguments", [["xyzzy"], ["search", "p", "q", "--zzz"], ["check", "p", "more"]])
def test_nothing_is_guessed_where_nothing_is_near(arguments: list[str], zipfian: Command) -> None:
    code, _, err = zipfian(*arguments)
    assert code == 2
    assert "did you mean" not in err
    command = "" if len(arguments) == 1 else f" {arguments[0]}"
    assert err.startswith(f"usage: zipfian{command} ")
