"""The encoding of a text that somebody's program wrote, found in its bytes before one of them is decoded.

UTF-8, UTF-16 where a mark at the beginning says so, or Windows-1252, in which every accent is one byte: what Notepad
and Excel wrote for decades. Almost any bytes can be taken for Windows-1252, so this is done only where they look like
it; everything else counts as UTF-8, and whoever decodes it learns where it is not.
"""

from __future__ import annotations

import codecs
import re
import string
from collections.abc import Callable, Iterable, Iterator

UTF8 = "utf-8-sig"
UTF16 = "utf-16"
WINDOWS_1252 = "cp1252"

DAMAGED = 0.1
"""Letters of UTF-8 for each byte that is none, above which a text is UTF-8 and damaged. Windows-1252 has some by
chance: a capital É and the hard space of French before a colon are one."""
IN_RUNS = 0.5
"""Bytes beyond ASCII that may stand in threes or longer. Accents stand alone; other scripts write whole words so."""

_NO_UTF8 = re.compile("[\udc80-\udcff]+")
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
"""Control bytes, and those that mean nothing in Windows-1252."""
_REPEATED = re.compile(rb"([\x80-\xff])\1+")
"""A line of dashes is no word."""
_RUN = re.compile(rb"[\x80-\xff]{3,}")
_PLAIN = (string.ascii_letters + string.digits).encode()
_BEYOND = bytes(range(0x80, 0x100))
_BLOCK = 1 << 20


def in_blocks(data: bytes) -> Iterator[bytes]:
    """Bytes that are in memory, for `encoding_of`: what it counts with takes more memory than what it looks at."""
    return (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))


def encoding_of(read: Callable[[], Iterable[bytes]]) -> str:
    """What to decode a text with; `read` gives its bytes in blocks, and is called again where one look is not enough.

    >>> encoding_of(lambda: [b"caf\\xe9"]), encoding_of(lambda: [b"caf\\xc3\\xa9"])
    ('cp1252', 'utf-8-sig')
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    letters = none = 0
    for number, block in enumerate(read()):
        if number == 0 and block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return UTF16
        if number == 0 and block.startswith(codecs.BOM_UTF8):
            return UTF8
        found = _beyond_ascii(decoder.decode(block))
        letters, none = letters + found[0], none + found[1]
    none += _beyond_ascii(decoder.decode(b"", final=True))[1]
    return WINDOWS_1252 if letters <= DAMAGED * none and none and _like_windows(read()) else UTF8


def _beyond_ascii(decoded: str) -> tuple[int, int]:
    """Letters beyond ASCII, and bytes that belong to none."""
    if decoded.isascii():
        return 0, 0
    none = sum(map(len, _NO_UTF8.findall(decoded)))
    return len(decoded) - len(decoded.encode("ascii", "ignore")) - none, none


def _like_windows(blocks: Iterable[bytes]) -> bool:
    """Whether bytes are text with accents and signs in it: no control, mostly ASCII, and accents that stand alone."""
    plain = beyond = in_runs = 0
    for block in blocks:
        if _NO_TEXT.search(block):
            return False
        plain += len(block) - len(block.translate(None, _PLAIN))
        beyond += len(block) - len(block.translate(None, _BEYOND))
        in_runs += sum(map(len, _RUN.findall(_REPEATED.sub(rb"\1", block))))
    return plain >= beyond and in_runs <= IN_RUNS * beyond
