"""What writers say about their Markdown."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from zipfian.ingest.frontmatter import split
from zipfian.ingest.source import FoundDocument, open_source
from zipfian.limits import MAX_FRONT_CHARS, MAX_FRONT_KEYS


@pytest.mark.parametrize(
    ("block", "metadata"),
    [
        ("title: Cats", {"title": "Cats"}),
        ("title: 'It''s'\nother: \"a \\\"b\\\" # c\"", {"title": "It's", "other": 'a "b" # c'}),
        ("n: 3\nx: 1.5\nd: 2024-05-01\ndone: true", {"n": 3, "x": 1.5, "d": date(2024, 5, 1), "done": True}),
        ("n: 3 # three\n# all of it\n\nurl: https://a.b/#c", {"n": 3, "url": "https://a.b/#c"}),
        ("time: 10:30", {"time": "10:30"}),
        ("tags: [a, 'b, c', \"d\"]", {"tags": ["a", "b, c", "d"]}),
        ("tags:\n  - a\n  - b", {"tags": ["a", "b"]}),
        ("tags:\n- 1\n- 2\nn: 1", {"tags": [1, 2], "n": 1}),
        ("tags: [1, a]", {"tags": ["1", "a"]}),
        ("long: >\n  one\n  two\nlines: |\n  one\n  two", {"long": "one two", "lines": "one\ntwo"}),
        ("none: null\nempty:\ntilde: ~\nn: 1", {"n": 1}),
        ("deep:\n  a: 1\n  b: 2\nn: 1", {"n": 1}),
        ("flow: {a: 1}\nn: 1", {"n": 1}),
        ("a: &x [1, 2]\nb: *x\nc: !!python/object/apply:os.system [ls]\nn: 1", {"n": 1}),
        ("path: /etc/passwd\ntype: post\nimage: /etc/passwd\n_source: me\nn: 1", {
            "front.path": "/etc/passwd", "front.type": "post", "front.image": "/etc/passwd", "front._source": "me",
            "n": 1,
        }),
        ("and: 1\nn: 1", {"n": 1}),
    ],
)  # fmt: skip
def test_what_is_read(block: str, metadata: dict[str, Any]) -> None:
    assert split(f"---\n{block}\n---\n\nBody.") == (metadata, "Body.")


def test_toml() -> None:
    block = '+++\ntitle = "Cats"\nn = 3\nd = 2024-05-01\n[deep]\na = 1\n+++\nBody.'
    assert split(block) == ({"title": "Cats", "n": 3, "d": date(2024, 5, 1)}, "Body.")


@pytest.mark.parametrize(
    "text",
    [
        "No front matter.",
        "---\nnever closed: 1",
        "---\nThis is a line of prose.\n---\nMore.",
        "---\n---\nBody.",
        "----\na: 1\n----\n",
        "Text\n---\na: 1\n---\n",
        "+++\nnot toml\n+++\nBody.",
        "+++\na = " + "[" * 5_000 + "\n+++\nBody.",
        "---\n" + "".join(f"k{i}: 1\n" for i in range(MAX_FRONT_KEYS + 1)) + "---\nBody.",
        "---\na: " + "x" * MAX_FRONT_CHARS + "\n---\nBody.",
    ],
)
def test_what_is_text_after_all(text: str) -> None:
    assert split(text) == ({}, text)


@pytest.mark.parametrize("piece", ["a: [", "- ", 'a: "', "a:\n  - ", "'", "a" * 300, "a: [x, ", " \t", "k: '''"])
def test_hostile_blocks_take_time_by_their_length(piece: str) -> None:
    start = time.perf_counter()
    split("---\n" + "k: " + piece * (MAX_FRONT_CHARS // len(piece) - 10) + "\n---\n")
    split("---\n" + (piece + "\n") * (MAX_FRONT_CHARS // (len(piece) + 1) - 10) + "\n---\n")
    assert time.perf_counter() - start < 2


def test_a_file_with_front_matter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf---\r\ntitle: Cats\r\nyear: 2020\r\n---\r\nThey sleep.\r\n")
    (tmp_path / "b.txt").write_text("---\ntitle: Cats\n---\n")
    first, second = open_source(tmp_path)
    assert isinstance(first, FoundDocument) and isinstance(second, FoundDocument)
    assert first.text == "Cats\n\nThey sleep.\n"
    assert first.metadata == {"path": "a.md", "type": "md", "title": "Cats", "year": 2020}
    assert second.text == "---\ntitle: Cats\n---\n", "only Markdown has front matter"


def test_writers_who_disagree_about_a_type_lose_no_document(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    said = {
        "a": "year: 2020\ntags: [x, y]",
        "b": "year: unknown\ntags: z",
        "c": "year: '2021'\nwho: Ann",
        "d": "who: 7",
    }
    for name, block in said.items():
        (notes / f"{name}.md").write_text(f"---\n{block}\n---\nText.")
    with zf.Collection.create(tmp_path / "c.zf") as collection:
        done = collection.sync(notes)
        assert (done.added, done.bad, done.left_out) == (4, [], {"year": 1})
        assert str(done).endswith("values left out that do not fit their column: year (1)")
        found = {d.id: d.metadata for d in collection.documents()}
        assert [found[f"{name}.md"].get("year") for name in "abc"] == [2020, None, 2021]
        assert [found[f"{name}.md"].get("tags") for name in "ab"] == [["x", "y"], ["z"]]
        assert found["d.md"]["who"] == "7"
        again = collection.sync(notes)
        assert (again.unchanged, again.updated) == (4, 0)
