"""PDF and Word files as texts, through a process of their own with limits on its memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from zipfian.errors import check_extra
from zipfian.ingest.items import BadItem, FoundDocument, suffix_of
from zipfian.limits import (
    MAX_DOCUMENT_MEMORY,
    MAX_DOCUMENT_PAGES,
    MAX_DOCUMENT_SECONDS,
    MAX_DOCUMENT_UNPACKED,
    MAX_LABEL_CHARS,
    MAX_READ_BYTES,
    MAX_TEXT_CHARS,
)
from zipfian.storage.regular import read_regular

CHILD = Path(__file__).with_name("_document_child.py")
"""Run as a program, never imported."""


class Documents:
    """Reads PDF and Word files; the process that does it starts with the first, and again after one that ended it."""

    def __init__(self, seconds: float = MAX_DOCUMENT_SECONDS) -> None:
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, path: Path, doc_id: str) -> FoundDocument | BadItem:
        """One file as one document; `MissingExtra`, `OSError` and `LimitExceeded` as for any other."""
        kind = suffix_of(path.name).lstrip(".")
        if kind == "pdf":
            check_extra("reading PDF", "documents", "pypdf")
        head, text = self._ask(kind, read_regular(path, MAX_READ_BYTES))
        if "problem" in head:
            return BadItem(str(path), head["problem"], doc_id)
        metadata = {"path": doc_id, "type": kind, **head["metadata"]}
        return FoundDocument(doc_id, text, metadata, str(path))

    def _ask(self, kind: str, data: bytes) -> tuple[dict[str, Any], str]:
        child = self._started()
        late = threading.Event()

        def end() -> None:
            late.set()
            child.kill()

        assert child.stdin is not None and child.stdout is not None  # both are pipes
        watch = threading.Timer(self._seconds, end)
        watch.start()
        try:
            child.stdin.write(json.dumps({"kind": kind, "bytes": len(data)}).encode() + b"\n" + data)
            child.stdin.flush()
            line = child.stdout.readline()
            head = json.loads(line) if line.endswith(b"\n") else {}
            body = child.stdout.read(head.get("bytes", 0))
        except BrokenPipeError:
            head, body = {}, b""
        finally:
            watch.cancel()
        if not head or len(body) != head["bytes"]:
            self.close()
            why = (
                f"reading it takes more than {self._seconds:g} seconds" if late.is_set() else "damaged: its reader died"
            )
            return {"problem": why}, ""
        if "last" in head:  # it is about to end
            self.close()
        return head, body.decode()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self.close()
        limits = {
            "pages": MAX_DOCUMENT_PAGES, "chars": MAX_TEXT_CHARS, "unpacked": MAX_DOCUMENT_UNPACKED,
            "memory": MAX_DOCUMENT_MEMORY, "about": MAX_LABEL_CHARS,
        }  # fmt: skip
        # -P: beside the program lie modules of ours with names of the standard library
        command = [sys.executable, "-P", str(CHILD), json.dumps(limits)]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )  # fmt: skip
        return self._child

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
        child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
