"""The process that takes PDF and Word files apart: `documents.py` starts it, and ends it when it takes too long.

It is run as a program of its own, imports nothing of the package, and limits its own memory first: whatever a file does
to a parser, it does it here. It reads requests from standard input, a line of JSON and the bytes of the file, and
answers on standard output, a line of JSON and the text. An error that nobody expects is an answer too, and its last.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from types import TracebackType
from typing import Any, BinaryIO
from xml.parsers import expat

BLOCK = 65_536
OLD = b"\xd0\xcf\x11\xe0"
"""How old Office files, and new ones with a password, begin."""


class Unread(Exception):
    """What is wrong with a file, in words."""


def read_pdf(data: bytes, limits: dict[str, int]) -> tuple[str, dict[str, Any]]:
    """The text of all pages, and what the file says about itself."""
    import pypdf
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unread("encrypted: it opens only with a password")
        count = len(reader.pages)
        if count > limits["pages"]:
            raise Unread(f"{count:,} pages, more than the limit of {limits['pages']:,}")
        pages, chars = [], 0
        for page in reader.pages:
            pages.append(page.extract_text().strip())
            chars += len(pages[-1])
            if chars > limits["chars"]:
                raise Unread(f"more than {limits['chars']:,} characters, the limit of one document")
        about = {"title": None, "author": None} if reader.metadata is None else {
            "title": reader.metadata.title, "author": reader.metadata.author
        }  # fmt: skip
    except (DependencyError, FileNotDecryptedError):
        raise Unread("encrypted: it opens only with a password") from None
    except PyPdfError as error:
        raise Unread(f"not PDF, or damaged ({error})") from None
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise Unread(f"no text in its {count:,} pages; where they are scanned, run OCR over them first")
    return text, {"pages": count, **about}


def read_docx(data: bytes, limits: dict[str, int]) -> tuple[str, dict[str, Any]]:
    """The paragraphs of a Word file, and what it says about itself."""
    if data.startswith(OLD):
        raise Unread("encrypted, or an old .doc; save it as .docx without a password")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            body = Body(limits["chars"])
            parse(archive, "word/document.xml", body.start, body.end, body.data, limits)
            core = Core()
            if "docProps/core.xml" in archive.namelist():
                parse(archive, "docProps/core.xml", core.start, core.end, core.data, limits)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError) as error:
        raise Unread(f"not a Word file, or damaged ({error})") from None
    except RuntimeError:  # what zipfile says about a password
        raise Unread("encrypted: it opens only with a password") from None
    except expat.ExpatError as error:
        raise Unread(f"damaged ({error})") from None
    text = "".join(body.parts).strip()
    if not text:
        raise Unread("no text in it")
    return text, {"title": core.values.get("title"), "author": core.values.get("creator")}


def parse(archive: zipfile.ZipFile, name: str, start: Any, end: Any, data: Any, limits: dict[str, int]) -> None:
    """One part of the archive through a parser, a block at a time; a part that unpacks to too much is left."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda tag, _: start(tag)
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    parser.buffer_text = True
    too_much = Unread(f"unpacks to more than {limits['unpacked']:,} bytes")
    total = 0
    if archive.getinfo(name).file_size > limits["unpacked"]:  # what it says itself, which may be a lie
        raise too_much
    with archive.open(name) as part:
        while block := part.read(BLOCK):
            total += len(block)
            if total > limits["unpacked"]:
                raise too_much
            parser.Parse(block, False)
    parser.Parse(b"", True)


def refuse(*_: object) -> None:
    """No Word file declares entities."""
    raise Unread("damaged (it declares a document type of its own)")


class Body:
    """The text of `word/document.xml`, a line for each paragraph; without deletions and copies for old programs."""

    def __init__(self, chars: int) -> None:
        self.parts: list[str] = []
        self._left = chars
        self._inside = False
        self._copy = 0

    def start(self, tag: str) -> None:
        local = tag.rpartition(" ")[2]
        self._copy += local == "Fallback"
        self._inside = local == "t" and "wordprocessingml" in tag
        if not self._copy and local in ("tab", "br", "cr") and "wordprocessingml" in tag:
            self._add("\t" if local == "tab" else "\n")

    def end(self, tag: str) -> None:
        local = tag.rpartition(" ")[2]
        self._inside = False
        self._copy -= local == "Fallback"
        if local == "p" and "wordprocessingml" in tag and not self._copy:
            self._add("\n")

    def data(self, text: str) -> None:
        if self._inside and not self._copy:
            self._add(text)

    def _add(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise Unread("more characters than one document may have")
        self.parts.append(text)


class Core:
    """Title and author of `docProps/core.xml`."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._name = ""

    def start(self, tag: str) -> None:
        self._name = tag.rpartition(" ")[2]

    def end(self, _: str) -> None:
        self._name = ""

    def data(self, text: str) -> None:
        if self._name in ("title", "creator"):
            self.values[self._name] = self.values.get(self._name, "") + text


READ = {"pdf": read_pdf, "docx": read_docx}


def clean(text: str) -> str:
    """Without what no text holds: NUL, and halves of characters."""
    return text.replace("\x00", "").replace("\r\n", "\n").encode("utf-8", "replace").decode()


def answer(out: BinaryIO, head: dict[str, Any], text: str = "") -> None:
    """One answer."""
    data = text.encode()
    out.write(json.dumps({**head, "bytes": len(data)}).encode() + b"\n" + data)
    out.flush()


def serve(out: BinaryIO, limits: dict[str, int]) -> None:
    """Answer until nobody asks any more."""
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        data = sys.stdin.buffer.read(asked["bytes"])
        try:
            text, about = READ[asked["kind"]](data, limits)
        except Unread as problem:
            answer(out, {"problem": str(problem)})
            continue
        said = {k: clean(v).strip()[: limits["about"]] if isinstance(v, str) else v for k, v in about.items()}
        answer(out, {"metadata": {name: value for name, value in said.items() if value}}, clean(text))


def main() -> None:
    """Limits as a JSON object in the only argument."""
    limits = json.loads(sys.argv[1])
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints is no answer

    def last_words(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
        why = "it takes too much memory" if kind is MemoryError else f"damaged ({kind.__name__}: {error})"
        answer(out, {"problem": why[:300], "last": True})

    sys.excepthook = last_words
    serve(out, limits)


if __name__ == "__main__":
    main()
