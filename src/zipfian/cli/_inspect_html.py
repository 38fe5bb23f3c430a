"""Part of `zipfian inspect`: a term as one self-contained page. Nothing in it runs or is fetched."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape
from pathlib import Path

from zipfian.cli._inspect_page import Example, Page
from zipfian.types import Token

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin-top: 2rem } td { padding: .1rem .8rem .1rem 0 }
mark { background: #ffe08a; padding: 0 .1em } .dim { color: #666 } img { height: 9rem; margin: .3rem .3rem 0 0 }
"""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_PASSAGES, _PASSAGE_CHARS = 2, 320


def write_page(page: Page, path: Path) -> Path:
    """Write the page."""
    path.write_text("\n".join(_lines(page)) + "\n", encoding="utf-8")
    return path


def _lines(page: Page) -> Iterator[str]:
    title = escape(f"{page.term}: {page.label}")
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{title}</h1>"
    facts = [f"{page.kind} term" if page.kind else "", f"of {page.of}"]
    if page.df is not None:
        facts.append(f"in {page.df:,} of {page.documents or 0:,} documents")
    if page.idf is not None:
        facts.append(f"idf {page.idf:.2f}")
    yield f"<p>{escape(', '.join(fact for fact in facts if fact))}</p>"
    if page.pieces:
        pieces = ", ".join(f"{piece} {share:.0%}" for piece, share in page.pieces)
        yield f"<p>Word pieces: {escape(pieces)}</p>"
    if page.nearest:
        yield "<h2>Nearest terms by decoder cosine</h2><table>"
        for term, label, cosine in page.nearest:
            yield f"<tr><td>{cosine:.2f}</td><td>{term}</td><td>{escape(label)}</td></tr>"
        yield "</table>"
    if page.examples:
        yield "<h2>Strongest in the collection</h2>"
    for example in page.examples:
        yield from _example(example)
    yield "</body></html>"


def _example(example: Example) -> Iterator[str]:
    yield f'<p><b>{escape(example.id)}</b> <span class="dim">{example.weight:.2f}</span><br>'
    if example.note:
        yield f"{escape(example.note)}<br>"
    if example.text is not None and example.places:
        from zipfian.explain.highlight import highlight

        spans = [Token(str(place["text"]), place["start"], place["end"]) for place in example.places]
        for passage in highlight(example.text, spans, max_chars=_PASSAGE_CHARS, max_snippets=_PASSAGES):
            yield passage.render("<mark>", "</mark>", escape_html=True) + "<br>"
    for data in example.patches:
        yield f'<img alt="patch" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
    yield "</p>"
