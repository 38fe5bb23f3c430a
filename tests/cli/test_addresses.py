"""`opensearch://host:9200/name` wherever a command takes a collection; what only a folder can do is one sentence.

Nothing listens on the port: a command that would talk to the cluster names the address as it was typed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from zipfian.collection.opening import ENGINES


@pytest.fixture
def address() -> Iterator[str]:
    pytest.importorskip("opensearchpy", reason="NO OPENSEARCH TESTS: the extra opensearch is not installed")
    with socket.socket() as taken:  # bound and not listening: every connection is refused
        taken.bind(("127.0.0.1", 0))
        yield f"opensearch://127.0.0.1:{taken.getsockname()[1]}/notes"


@pytest.mark.parametrize(
    "command",
    [
        ("search", "{at}", "light"),
        ("explain", "{at}", "light", "a"),
        ("inspect", "{at}"),
        ("delete", "{at}", "a"),
        ("merge", "{at}"),
        ("index", "{folder}", "--into", "{at}", "--fields", "words"),
        ("verify", "{at}", "{at}", "--queries", "{folder}/a.txt"),
    ],
    ids=lambda command: command[0],
)
def test_the_address_arrives_as_it_was_typed(
    command: tuple[str, ...], address: str, tmp_path: Path, zipfian: Command
) -> None:
    (tmp_path / "a.txt").write_text("light")
    code, out, err = zipfian(*(part.format(at=address, folder=tmp_path) for part in command))
    assert (code, out) == (1, "")
    assert err.startswith(f"zipfian: {address}: no node answers"), err


@pytest.mark.parametrize("scheme", sorted(ENGINES))
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("check", "{at}"), "its nodes check their own files; 'zipfian inspect {at}' says how it is"),
        (
            ("restore", "{at}", "1"),
            "it keeps no older commits; its snapshots are restored with the cluster's own tools",
        ),
        (("export", "surrogate", "{at}"), "export the folder that it was copied from"),
        (("export", "opensearch", "{at}", "--out", "x"), "export the folder that it was copied from"),
        (("inspect", "{at}", "--terms"), "terms are listed from a folder; inspect the one it came from"),
        (
            ("inspect", "{at}", "--zipf"),
            "all frequencies are read from a folder; inspect the one it came from",
        ),
        (
            ("index", "--into", "{at}", "--add-field", "latent"),
            "it takes no new fields; create another index with them and fill it",
        ),
    ],
    ids=lambda given: "" if isinstance(given, str) else "-".join(given[:2]),
)
def test_what_only_a_folder_can_do(scheme: str, command: tuple[str, ...], says: str, zipfian: Command) -> None:
    at = f"{scheme}://127.0.0.1:9/notes"
    code, out, err = zipfian(*(part.format(at=at) for part in command))
    assert (code, out, err) == (1, "", f"zipfian: {at} is in a cluster: {says.format(at=at)}\n")


def test_another_kind_of_address_is_named_whole(zipfian: Command) -> None:
    code, _, err = zipfian("search", "ftp://example.org/notes", "light")
    assert (code, "'ftp://example.org/notes' names no engine that is known" in err) == (1, True), err
