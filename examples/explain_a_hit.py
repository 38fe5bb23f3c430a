"""Take a score apart: every term's share, where it stands in the text, and why one document beats another."""

import json
import tempfile
from pathlib import Path

import zipfian as zf

TEXTS = {
    "photosynthesis": "Photosynthesis turns light energy into chemical energy. Plants, algae and some bacteria do it.",
    "solar": "A solar cell turns light into electrical energy. Light that is not absorbed is lost.",
    "diet": "A healthy diet has plants in it, and not too much sugar.",
}

with tempfile.TemporaryDirectory() as folder, zf.Collection.create(Path(folder) / "c") as collection:
    collection.add({"id": name, "text": text} for name, text in TEXTS.items())
    collection.commit()
    query = "energy from light in plants"
    found = collection.search(query)

    tree = found.explain(found[0])
    print(tree)
    print("\nthe parts sum to the score:", sum(part.value for part in tree.parts) == found[0].score)

    first, second = found[0].id, found[1].id
    print("\nwhy is", first, "above", second + "?")
    print(collection.why(query, first, second))

    # A document need not be found to be explained, and every tree is plain JSON as well.
    print("\n" + json.dumps(collection.explain("sugar", "solar").to_dict()))
