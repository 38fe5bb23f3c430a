"""HTML to plain text with the standard library's parser: tags are dropped, blocks become lines."""

from __future__ import annotations

import re
from html.parser import HTMLParser

UNSEEN = frozenset({"script", "style", "template", "noscript", "svg"})
"""Elements whose content a reader of the page does not see as text."""

INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q"}
    | {"s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
)
"""Elements that do not end a line; any other tag does, so words of two blocks never run together."""


class _Stripper(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.text: list[str] = []
        self._unseen = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNSEEN:
            self._unseen += 1
        elif tag == "title" and not self._unseen:
            self._in_title = True
        elif tag not in INLINE:
            self.text.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in INLINE:
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag == "title":
            self._in_title = False
        elif tag not in INLINE:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.text.append(data)


def html_to_text(page: str) -> tuple[str, str]:
    """The title and the visible text of a page; the title is also the first line of the text."""
    stripper = _Stripper()
    stripper.feed(page)
    stripper.close()
    title = " ".join("".join(stripper.title).split())
    body = re.sub(r"[^\S\n]+", " ", "".join(stripper.text))
    body = re.sub(r" ?\n[ \n]*", "\n", body).strip()
    return title, f"{title}\n{body}".strip()
