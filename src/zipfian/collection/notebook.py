"""Results as a notebook shows them: hits with marked passages, thumbnails and reasons.

Everything that comes out of a collection or a query is text of strangers: it is escaped and cut. A picture is opened
only where the collection's reader allows it (`trust.py`), decoded by the one decoder, and shown as a small JPEG made
anew, so that no byte of the file itself reaches the page. There is no script, no link and nothing to fetch.
"""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

from zipfian import limits
from zipfian.encode.images import decode
from zipfian.errors import ZipfianError
from zipfian.explain.reasons import reasons_of

if TYPE_CHECKING:
    from zipfian.collection.results import Hit, Results

REASONS = 3
"""Reasons named for a hit; `explain` has them all."""

_CELL = "text-align:left;vertical-align:top"
_DIM = "opacity:.65;font-size:smaller"


def to_html(found: Results) -> str:
    """A table of the first hits."""
    rows = [_row(found, hit) for hit in found[: limits.MAX_SHOWN_HITS]]
    left = len(found) - len(rows)
    more = f'<p style="{_DIM}">and {left:,} more</p>' if left else ""
    query = f" for {_text(found.query)}" if isinstance(found.query, str) else ""
    title = f'<p style="{_DIM}">{len(found):,} hits{query}, {found.timings["total"] * 1e3:.1f} ms</p>'
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("", "document", "score", "confidence", "why"))
    said = "".join(f"<p>{_text(note)}</p>" for note in found.notes)
    return f"<div>{title}{said}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}</div>"


def _row(found: Results, hit: Hit) -> str:
    document = f"<b>{_text(hit.id)}</b>{_picture(found, hit)}{_passage(found, hit)}"
    reasons = reasons_of(found.explain(hit))[:REASONS]
    why = "<br>".join(_text(f"{reason.share:.0%} {reason}") for reason in reasons)
    fields = [f"{name} {seen.share:+.3f}" for name, seen in hit.fields.items()] if len(hit.fields) > 1 else []
    shares = "".join(f'<div style="{_DIM}">{_text(field)}</div>' for field in fields)
    cells = (str(hit.rank), document, f"{hit.score:.4f}{shares}", f"{hit.confidence:.2f}", why)
    return "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells) + "</tr>"


def _passage(found: Results, hit: Hit) -> str:
    if not (hit.text or "").strip():
        return ""
    most = limits.MAX_SHOWN_CHARS
    snippet = found.highlight(hit, max_chars=most, max_snippets=1)[0]
    if len(snippet.text) > 2 * most:  # around one character made of any number of marks
        return f"<div>{_text(snippet.text)}</div>"
    return f"<div><bdi>{snippet.render('<mark>', '</mark>', escape_html=True)}</bdi></div>"


def _picture(found: Results, hit: Hit) -> str:
    """A thumbnail; or why there is none, where the document names a picture."""
    try:
        data = found.picture(hit)
        if data is None:
            return ""
        thumbnail = _thumbnail(data)
    except (ZipfianError, OSError) as error:
        return f'<div style="{_DIM}">no picture: {_text(str(error))}</div>'
    if len(thumbnail) > limits.MAX_THUMBNAIL_BYTES:
        return f'<div style="{_DIM}">no picture: its thumbnail is too large</div>'
    return f'<div><img alt="" src="data:image/jpeg;base64,{base64.b64encode(thumbnail).decode()}"></div>'


def _thumbnail(data: bytes) -> bytes:
    side = limits.MAX_THUMBNAIL_SIDE
    image = decode(data, reduce_to=side)
    image.thumbnail((side, side))
    image.info = {}  # comments and profiles of the file would go along
    out = io.BytesIO()
    image.save(out, format="JPEG", quality=80)
    return out.getvalue()


def _text(value: str) -> str:
    """As it may stand in a page: short, and with a direction of its own."""
    most = limits.MAX_SHOWN_CHARS
    return f"<bdi>{html.escape(value if len(value) <= most else value[: most - 1] + chr(0x2026))}</bdi>"
