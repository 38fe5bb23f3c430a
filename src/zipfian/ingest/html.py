"""HTML to plain text: tags are dropped, blocks become lines, in time by the length of a page, however broken it is."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from zipfian.errors import LimitExceeded
from zipfian.limits import MAX_HTML_MARKS

UNSEEN = frozenset({"script", "style", "template", "noscript", "svg"})
"""Elements whose content a reader of the page does not see as text."""

INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q"}
    | {"s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
)
"""Elements that do not end a line; any other tag does, so words of two blocks never run together."""

_RAW = {name: re.compile(f"</{name}(?=[\\s/>])", re.IGNORECASE) for name in ("script", "style")}
"""Where elements end in which a '<' is no tag."""

_OPEN = re.compile(r"<([a-zA-Z][^\s/>]*)((?:=\s*\"[^\"]*+\"|=\s*'[^']*+'|[^>])*+)>")
_CLOSE = re.compile(r"</([a-zA-Z][^\s/>]*)[^>]*+>")
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}+|[xX][0-9a-fA-F]{7,}+);?")
"""Characters that do not exist, in numbers of any length."""


def html_to_text(page: str) -> tuple[str, str]:
    """The title and the visible text of a page; the title is also the first line of the text."""
    marks = page.count("<") + page.count("&")
    if marks > MAX_HTML_MARKS:
        raise LimitExceeded(f"{marks:,} tags and entities, more than the limit of {MAX_HTML_MARKS:,}")
    titles: list[str] = []
    texts: list[str] = []
    unseen, in_title = 0, False
    for kind, content in _pieces(page):
        if kind == "text":
            if in_title:
                titles.append(content)
            elif not unseen:
                texts.append(content)
        elif content in UNSEEN and kind != "empty":
            unseen = unseen + 1 if kind == "open" else max(0, unseen - 1)
        elif content == "title" and kind != "empty" and (kind == "close" or not unseen):
            in_title = kind == "open"
        elif content not in INLINE:
            texts.append("\n")
    title = " ".join("".join(titles).split())
    body = re.sub(r"[^\S\n]+", " ", "".join(texts))
    body = re.sub(r" ?\n[ \n]*", "\n", body).strip()
    return title, f"{title}\n{body}".strip()


def _pieces(page: str) -> Iterator[tuple[str, str]]:
    """`text` with its characters, or `open`, `close` and `empty` with the name of the tag, in order.

    A remark that never ends is dropped with all that follows, as browsers do; after the last '>' all is text.
    """
    at = start = 0
    while (at := page.find("<", at)) >= 0:
        follows = page[at + 1 : at + 2]
        if not (follows in ("!", "?", "/") or (follows.isascii() and follows.isalpha())):
            at += 1
            continue
        yield "text", _unescaped(page[start:at])
        start = at
        if page.startswith("<!--", at):
            end = page.find("-->", at + 4)
            at = start = end + 3 if end >= 0 else len(page)
            continue
        pattern = _CLOSE if follows == "/" else _OPEN
        found = None if follows in ("!", "?") else pattern.match(page, at)
        if found is None:
            end = page.find(">", at)
            if end < 0:
                break
            at = start = end + 1
            continue
        name = found[1].lower()
        at = start = found.end()
        if follows == "/":
            yield "close", name
        elif found[2].endswith("/"):
            yield "empty", name
        else:
            yield "open", name
            if name in _RAW:
                closing = _RAW[name].search(page, at)
                at = start = closing.start() if closing else len(page)
    yield "text", _unescaped(page[start:])


def _unescaped(text: str) -> str:
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
