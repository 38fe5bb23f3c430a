"""A folder as a new user has it: texts, tables, PDF, Word, a picture, other languages, and files that are broken.

    python tools/mixed_folder.py FOLDER

docs/first-hour.md shows what zipfian makes of it. Everything is written by this program, so nothing has to be fetched.
"""

from __future__ import annotations

import argparse
import io
import json
import zipfile
import zlib
from pathlib import Path
from xml.sax.saxutils import escape

HUGE_BYTES = 65 * 1024 * 1024
"""A log file larger than the limit of one text."""

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(pages: list[str], *, title: str = "", encrypt: bool = False) -> bytes:
    """A PDF with a line of text on each page; `encrypt` only says that it is, with a key nobody has."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    for text in pages:
        said = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        stream = f"BT /F1 12 Tf 72 720 Td ({said}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title ({title}) /Author (Ann Example) >>")
    return _assembled([body.encode("cp1252") for body in objects], len(objects), encrypt)


def pdf_bomb(nbytes: int) -> bytes:
    """A PDF of one page whose content unpacks to so many bytes."""
    packer = zlib.compressobj(9)
    line = b"BT /F1 12 Tf (x) Tj ET\n" * 40_000
    packed = b"".join(packer.compress(line) for _ in range(nbytes // len(line) + 1)) + packer.flush()
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 3 0 R "
    page += b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
    content = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    pages = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
    return _assembled([b"<< /Type /Catalog /Pages 2 0 R >>", pages, content, page, b"<< >>"], 5, False)


def _assembled(objects: list[bytes], info: int, encrypt: bool) -> bytes:
    out, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, io.SEEK_END)
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % at for at in offsets)
    lock = ""
    if encrypt:
        key = "00" * 32
        lock = f" /Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >> /ID [<00> <00>]"
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {info} 0 R{lock} >>\n".encode())
    out.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()


def docx(paragraphs: list[str], *, title: str = "", body: str = "") -> bytes:
    """A Word file of some paragraphs; `body` is markup that is put before them as it is."""
    said = "".join(f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p>" for text in paragraphs)
    core = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title>'
        "<dc:creator>Ann Example</dc:creator></cp:coreProperties>"
    )
    return archive(
        {
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}{said}</w:body></w:document>',
            "docProps/core.xml": core,
        }
    )


def archive(parts: dict[str, str]) -> bytes:
    """A zip file of some texts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in parts.items():
            made.writestr(name, text)
    return out.getvalue()


def make(folder: Path) -> None:
    """Write all of it."""
    _texts(folder)
    _tables(folder / "exports")
    _papers(folder / "papers")
    _broken(folder / "broken")
    _left_out(folder)


def _texts(folder: Path) -> None:
    notes = folder / "notes"
    _write(notes / "bread.md", "---\ntitle: Sourdough\ndate: 2024-03-02\ntags: [baking, bread]\nrating: 5\n---\n"
           "Feed the starter the evening before. The dough rests for twelve hours in a cool place.\n")  # fmt: skip
    _write(notes / "garden.md", "---\ntitle: Tomatoes\ndate: 2023-05-14\ntags: garden\n---\n"
           "Plant them after the last frost. Water the roots, keep the leaves dry.\n")  # fmt: skip
    _write(notes / "bicycle.txt", "The rear derailleur needs a new cable. Brake pads are fine until autumn.\n")
    _write(notes / "reise.txt", "Im August fuhren wir mit dem Nachtzug nach Wien und besuchten das "
           "Naturhistorische Museum. Am Abend regnete es.\n")  # fmt: skip
    _write(notes / "recette.txt", "Pour la tarte aux pommes, il faut du beurre froid et un peu de cannelle.\n")
    _write(notes / "café.txt", "The café “Zur Brücke” closes at ten on Mondays.\n".encode("cp1252"))
    _write(notes / "nihongo.txt", "京都の寺は秋がいちばん美しい。紅葉を見に多くの人が訪れる。\n")
    _write(notes / "page.html", "<html><title>Router</title><body><p>The router restarts when the attic gets "
           "too hot.</p></body></html>")  # fmt: skip


def _tables(folder: Path) -> None:
    rows = ["Nr;Titel;Beschreibung;Preis;Am Lager;Seit"]
    rows += [
        f"{i};{name};{text};{price};{'true' if i % 2 else 'false'};{i:02d}.04.2024"
        for i, (name, text, price) in enumerate(PRODUCTS, 1)
    ]
    german = "\r\n".join(rows).replace("Nr;Titel;Beschreibung", "id;title;description") + "\r\n"
    _write(folder / "produkte.csv", german.encode("cp1252"))
    _write(folder / "contacts.csv", "\ufeffid,name,city,since\n1,Ann Example,Oslo,2019-05-01\n"
           "1,Ann Again,Oslo,2019-05-01\n2,Bo Sample,Bergen,2021-11-30\n")  # fmt: skip
    tickets = [
        {"id": "T-1", "subject": "Login fails", "body": "After the update the login page is blank.", "open": True},
        {"id": "T-2", "subject": "Slow search", "body": "Searching the archive takes a minute.", "open": False},
    ]
    _write(folder / "tickets.jsonl", "\n".join(map(json.dumps, tickets)) + "\n{broken\n")
    _parquet(folder / "weather.parquet")


PRODUCTS = (
    ("Stehlampe", "Eine Lampe aus Messing für das Wohnzimmer, drehbar.", "129,90"),
    ("Gießkanne", "Fünf Liter, verzinkt, mit langem Hals für Balkonkästen.", "24,50"),
    ("Brotkasten", "Hält das Brot frisch; Deckel aus Buchenholz.", "39"),
)


def _parquet(path: Path) -> None:
    """A table of another kind, where pyarrow is installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return
    rows = [
        {"id": i, "text": f"Station {i}: {said}", "wind": 2.5 * i} for i, said in enumerate(("fog", "hail", "thunder"))
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def _papers(folder: Path) -> None:
    pages = ["The tides follow the moon with a delay of some hours.", "A neap tide falls at the quarters of the moon."]
    _write(folder / "tides.pdf", pdf(pages, title="On tides"))
    _write(folder / "scan.pdf", pdf(["", ""]))
    _write(
        folder / "contract.docx",
        docx(["Rental agreement", "The tenant gives notice three months ahead."], title="Rent"),
    )


def _broken(folder: Path) -> None:
    _write(folder / "locked.pdf", pdf(["secret"], encrypt=True))
    _write(folder / "cut.pdf", pdf(["This file was not copied to its end."])[:300])
    _write(folder / "bomb.docx", docx([], body="<w:p/>" * 12_000_000))
    _write(folder / "damaged.txt", "Das Café am Fluß".encode() + b" \xff schlie\xc3\x9ft um zehn.")
    _write(folder / "photo.jpg", b"\xff\xd8\xff\xe0 not a picture")
    _write(folder / "columns.csv", "who,when\nAnn,today\n")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(HUGE_BYTES)


def _left_out(folder: Path) -> None:
    for i in range(50):
        _write(folder / "node_modules" / f"package-{i}" / "README.md", "Installed by npm; nobody searches this.\n")
    _write(folder / ".git" / "description.txt", "hidden")
    _write(folder / "papers" / "~$contract.docx", b"a lock file of Word")
    _picture(folder / "photos" / "sunset.png")


def _picture(path: Path) -> None:
    """A picture, where Pillow is installed: orange above blue."""
    try:
        from PIL import Image
    except ImportError:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    sky = Image.new("RGB", (320, 240), (250, 140, 40))
    sky.paste((20, 60, 120), (0, 150, 320, 240))
    sky.save(path)


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)
