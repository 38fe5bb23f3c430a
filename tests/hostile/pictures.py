"""Pictures, files that are none, and folders of both: as the encoders, the drawings and `zipfian index` meet them."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from tests.hostile import picture_files as files
from tests.hostile import picture_folders as folders
from tests.hostile.case import Case, WrongAnswer

FAMILY = "pictures"

LIGHT: dict[str, files.Forge] = {
    "sound pictures of every format and mode": files.honest,
    "bits flipped in a sound picture": files.flipped,
    "heads with the largest numbers there are": files.lying,
    "pictures cut short": files.cut,
    "one format inside another": files.nested,
    "PNG with pixels for another size": files.wrong_size,
    "JPEG that says it has a gigapixel": files.gigapixel,
}
HEAVY: dict[str, files.Forge] = {
    "PNG with a row of millions of pixels": files.long_side,
    "PNG in 16 bits and four channels": files.deep_pixels,
    "PNG with millions of chunks": files.many_chunks,
    "remark or profile that unpacks to gigabytes": files.packed_text,
    "EXIF whose entries are each as large as the file": files.exif_everywhere,
    "JPEG with megabytes of padding": files.padding,
    "JPEG with millions of empty segments": files.empty_segments,
    "JPEG with EXIF in a thousand pieces": files.exif_in_pieces,
    "JPEG with thousands of passes": files.many_passes,
    "GIF with half a million frames": files.gif_frames,
    "GIF with a remark in pieces of one byte": files.gif_remarks,
    "TIFF with tens of thousands of pages": files.tiff_pages,
    "TIFF tags that all point at the same megabytes": files.tiff_tags,
    "TIFF with millions of strips": files.tiff_strips,
    "TIFF that unpacks to most of a gigabyte": files.tiff_deep,
    "WebP with a tiny frame on a huge canvas": files.webp_canvas,
    "AVIF whose stream is larger than its boxes say": files.avif_lie,
    "AVIF with EXIF whose entries are each as large as the file": files.avif_exif,
    "HEIC with one tile thousands of times": files.tiles_again,
    "HEIC or AVIF with thousands of pictures": files.many_items,
    "HEIC with millions of boxes": files.many_boxes,
    "HEIC with megabytes of EXIF for each of hundreds of pictures": files.exif_of_all,
    "BMP in run lengths that only end rows": files.run_lengths,
    "BMP with millions of empty runs": files.slow_runs,
}
SPECIAL = ("a pipe", "a device", "a socket", "a folder", "links in a circle", "a terabyte of nothing")
NO_PICTURE = {f"{kind} in place of a picture": kind for kind in SPECIAL}

_OFTEN = (*LIGHT, *NO_PICTURE, *folders.ATTACKS)


def cases(count: int, seed: int) -> Iterator[Case]:
    """Every attack; those that take a second are a quarter at most, the others share the rest."""
    chance = random.Random(seed)
    for attack in list(HEAVY) * max(1, count // (4 * len(HEAVY))):
        yield Case(FAMILY, attack, chance.getrandbits(32))
    for place in range(max(len(_OFTEN), count - count // 4)):
        yield Case(FAMILY, _OFTEN[place % len(_OFTEN)], chance.getrandbits(32))


def forge(case: Case, folder: Path) -> None:
    """A file called `picture`, or a folder called `source`."""
    chance = random.Random(case.seed)
    if case.attack in folders.ATTACKS:
        folders.forge(case.attack, chance, folder)
    elif case.attack in NO_PICTURE:
        special(NO_PICTURE[case.attack], folder / "picture")
    else:
        make = LIGHT.get(case.attack) or HEAVY[case.attack]
        (folder / "picture").write_bytes(make(chance))


def special(kind: str, path: Path) -> None:
    """Something that has a name and is no file."""
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        os.symlink("/dev/zero", path)
    elif kind == "a socket":
        with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as server:  # a long path would not fit
            server.bind(path.name)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "links in a circle":
        os.symlink(path, path)
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)


def suffer(case: Case, folder: Path) -> str:
    """Decode as the encoder does, hash, and draw; or index the folder."""
    if case.attack in folders.ATTACKS:
        return folders.suffer(case.attack, folder)
    from zipfian.encode.cache import content_hash
    from zipfian.encode.image import ImageEncoder
    from zipfian.errors import ZipfianError
    from zipfian.explain import patches

    path = folder / "picture"
    try:
        seen = ImageEncoder().pixels(path)
        drawn = patches.outline(patches.load(path), (12, 12), [[(0, 0), (11, 11)]])
        patches.crop_patch(drawn, (12, 12), (3, 4))
        content_hash(path, "image")
    except ZipfianError:
        raise
    except OSError as error:
        if error.filename is None or case.attack not in NO_PICTURE:
            raise
        return f"the system's own words: {error.strerror}"
    if seen.shape != (384, 384, 3) or drawn.mode != "RGB":
        raise WrongAnswer(f"{seen.shape}, {drawn.mode}")
    if case.attack in NO_PICTURE:
        raise WrongAnswer("pixels of what is no picture")
    if case.attack == "sound pictures of every format and mode":
        _same(path)
    return f"a picture of {drawn.size}"


def _same(path: Path) -> None:
    """A sound picture looks like what Pillow alone makes of it."""
    from PIL import ImageOps

    from zipfian.encode.images import decode

    with Image.open(path) as opened:
        if opened.mode not in ("RGB", "L", "CMYK", "P", "1") or opened.has_transparency_data:
            return
        expected = np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    if not np.array_equal(np.asarray(decode(path)), expected):
        raise WrongAnswer("other pixels than Pillow's")
