"""Index a few texts, search them, and see why the best one was found."""

import tempfile
from pathlib import Path

import zipfian as zf

NOTES = {
    "garden": "Plants make food from light, water and air. Tomatoes need a lot of light.",
    "cats": "Cats sleep up to sixteen hours a day, often in the light of the sun.",
    "bread": "Bread needs flour, water, salt and time. The oven should be very hot.",
    "moon": "The moon has no light of its own; it reflects the light of the sun.",
}

with tempfile.TemporaryDirectory() as folder:
    with zf.Collection.create(Path(folder) / "notes.zf") as notes:
        notes.add({"id": name, "text": text} for name, text in NOTES.items())
        notes.commit()

        found = notes.search("how do plants make food?", k=3)
        for hit in found:
            print(f"{hit.rank}. {hit.id}  {hit.score:.3f}")
        print()
        print(found.explain(found[0]))
        print()
        print(found.highlight(found[0])[0].render("[", "]"))

    # Everything is on disk: open it again, here for reading only.
    with zf.Collection.open(Path(folder) / "notes.zf") as notes:
        print()
        print(len(notes), "documents;", "light of the sun:", [hit.id for hit in notes.search("light of the sun")])
