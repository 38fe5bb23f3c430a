"""How texts are cut: the rules of `tokenizer`, one line each."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.vocabulary import tokenizer
from zipfian.vocabulary.tokenizer import chunk_pattern, pieces


def cut(text: str, *, join: bool = True) -> list[str]:
    return [spelling for chunk in chunk_pattern(text).findall(text) for spelling, _, _ in pieces(chunk, join=join)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BM25 h2o 3D x86", ["BM25", "h2o", "3D", "x86"]),
        ("C++ c++, C++17 C# F#.", ["C++", "c++", "C++", "17", "C#", "F#"]),
        ("Notepad++ libstdc++", ["Notepad", "Notepad++", "libstdc", "libstdc++"]),
        ("item# #tag PR#12 a#b", ["item", "tag", "PR", "12", "a", "b"]),
        (
            ".NET (.net) asp.net ...net .networks",
            [".net", "NET", ".net", "net", "asp", "net", "aspnet", "net", "networks"],
        ),
        ("foo_bar", ["foo", "bar", "foobar"]),
        ("__init__ _emphasis_ _ ___", ["init", "emphasis"]),
        ("foo_bar.baz", ["foo", "bar", "baz", "foobarbaz"]),
        ("e-mail", ["e", "mail", "email"]),
        ("state-of-the-art", ["state", "of", "the", "art", "stateoftheart"]),
        ("node.js-based", ["node", "js", "nodejs", "based", "nodejsbased"]),
        ("before--after en\u2013dash em\u2014dash", ["before", "after", "en", "dash", "em", "dash"]),
        ("AT&T R&D", ["AT", "T", "ATT", "R", "D", "RD"]),
        ("U.S.A. U.S e.g. p.m.", ["USA", "US", "eg", "pm"]),
        ("U.S.-based", ["US", "based"]),
        ("Ph.D.", ["Ph", "D", "PhD"]),
        ("end.The", ["end", "The", "endThe"]),
        ("3.14 1.2.3 192.168.0.1 python3.11", ["3.14", "1.2.3", "192.168.0.1", "python3.11"]),
        ("10,000 1,234,567.89 1,2,3 1,23", ["10000", "1234567.89", "1", "2", "3", "1", "23"]),
        ("1990-2000 2024-01-15", ["1990", "2000", "2024", "01", "15"]),
        ("IL-6 COVID-19", ["IL", "6", "IL6", "COVID", "19", "COVID19"]),
        ("50% $10 (x) [y]", ["50", "10", "x", "y"]),
        ("don't O'Brien's dogs' 'quoted'", ["don't", "O'Brien's", "dogs", "quoted"]),
        ("5'10 1980's", ["5", "10", "1980's"]),
        ("a,b;c/d", ["a", "b", "c", "d"]),
        ("john.doe@example.com", ["john", "doe", "example", "com", "john.doe@example.com"]),
        ("https://www.example.com/a?x=1", ["https", "www", "example", "com", "wwwexamplecom", "a", "x", "1"]),
        ("\U0001f389\u2764\ufe0f\U0001f44d\U0001f3fd x", ["x"]),
        ("", []),
        (" .,;-'+# ++ -- ", []),
    ],
)
def test_rules(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京は", ["東", "東京", "京", "京は"]),
        ("茶", ["茶"]),
        ("カメラ", ["カメ", "メラ"]),
        ("の", ["の"]),
        ("ｶﾞｽ", ["ｶﾞｽ"]),
        ("iPhone用BM25", ["iPhone", "用", "BM25"]),
        ("3月", ["3", "月"]),
        ("ไทย", ["ไท", "ทย"]),
        ("ที่นี่", ["ที่นี่"]),
        ("한국어를 배우다", ["한국어를", "배우다"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שלום ירושלים", ["שלום", "ירושלים"]),
        ("cafe\u0301s na\u00efve", ["cafe\u0301s", "na\u00efve"]),
        ("don\u2019t", ["don\u2019t"]),
        ("co\u00adop", ["co\u00adop"]),
        ("\u0301x", ["x"]),
        ("\U00020000\U00020001", ["\U00020000", "\U00020000\U00020001", "\U00020001"]),
        ("\U0001d400\U0001d401 \U00010400", ["\U0001d400\U0001d401", "\U00010400"]),
        ("a\u200bb", ["a", "b"]),
        ("①½", ["①½"]),
    ],
)
def test_scripts(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_parts_only() -> None:
    assert cut("e-mail foo_bar U.S.A. node.js C++", join=False) == [
        "e",
        "mail",
        "foo",
        "bar",
        "USA",
        "node",
        "js",
        "C++",
    ]


def test_long_compounds_give_their_parts_only() -> None:
    assert cut("-".join("abcdefghij")) == list("abcdefghij")
    assert cut(".".join("abcdefghij")) == list("abcdefghij")


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_and_unicode_patterns_agree(text: str) -> None:
    ascii_only = tokenizer._ascii_patterns()
    for astral in (False, True):
        wide = tokenizer._unicode_patterns(astral=astral)
        assert wide.chunk_or_dot_net.findall(text) == ascii_only.chunk_or_dot_net.findall(text)
        assert wide.piece.findall(text) == ascii_only.piece.findall(text)
    if "." not in text:
        assert ascii_only.chunk.findall(text) == ascii_only.chunk_or_dot_net.findall(text)


@given(st.text(alphabet=st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])))
def test_basic_plane_patterns_agree_with_the_full_ones(text: str) -> None:
    basic, full = (tokenizer._unicode_patterns(astral=astral) for astral in (False, True))
    assert basic.chunk_or_dot_net.findall(text) == full.chunk_or_dot_net.findall(text)
    assert basic.cluster.findall(text) == full.cluster.findall(text)


@given(st.text())
def test_spans_lie_inside_and_in_order(text: str) -> None:
    for match in chunk_pattern(text).finditer(text):
        chunk = match.group()
        for _, start, end in pieces(chunk):
            assert 0 <= start < end <= len(chunk)


@pytest.mark.parametrize(
    "unit", ["a", "a-", "a.", "a_", "1,", "1.", "a'", "a+", "a++", "a#", "東", "ก\u0e34", "e\u0301", ".net"]
)
def test_time_is_linear(unit: str) -> None:
    """A pattern that backtracks would need minutes for these."""
    text = unit * (200_000 // len(unit))
    began = time.process_time()
    cut(text)
    assert time.process_time() - began < 10.0
