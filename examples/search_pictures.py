"""Find pictures with a picture and with words, and see which patches did it.

Needs the extras `image` and `text`; the encoders' weights are fetched once: zipfian weights get
"""

import math
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw

import zipfian as zf


def draw(path: Path, kind: str, colour: str, shift: int = 0) -> Path:
    """A simple picture: rings, bricks or waves."""
    image = Image.new("RGB", (240, 240), "white")
    pen = ImageDraw.Draw(image)
    for i in range(12):
        at = 20 * i + shift
        if kind == "rings":
            pen.ellipse((at / 2, at / 2, 240 - at / 2, 240 - at / 2), outline=colour, width=5)
        elif kind == "bricks":
            for j in range(7):
                left = 40 * j - 20 * (i % 2)
                pen.rectangle((left + 2, at + 2, left + 38, at + 18), fill=colour)
        else:
            pen.line([(x, at + 8 * math.sin(x / 12)) for x in range(240)], fill=colour, width=4)
    image.save(path)
    return path


CAPTIONS = {"rings": "Circles inside each other", "bricks": "A wall of bricks", "waves": "Waves on the water"}

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    with zf.Collection.create(folder / "pictures.zf", ["visual", "dense", "words", "latent"]) as pictures:
        for kind, caption in CAPTIONS.items():
            image = draw(folder / f"{kind}.png", kind, "navy")
            pictures.add([{"id": kind, "image": image, "text": caption}])
        pictures.commit()

        query = draw(folder / "query.png", "bricks", "firebrick", shift=7)
        found = pictures.search(image=query, k=3)
        print("with a picture:", [hit.id for hit in found][:1], "of", len(found))

        # Visual words are found in patches of a 12 x 12 grid over the picture.
        tree = pictures.explain(None, found[0].id, image=query, fields="visual")
        best = max(tree.parts, key=lambda part: part.value)
        place = best.evidence[0]
        print(f"strongest visual word: patch {place['row'], place['column']} of {place['rows']} x {place['columns']}")

        print("with words:", [hit.id for hit in pictures.search("masonry", k=1)])
