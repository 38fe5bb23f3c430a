"""Find texts by what they mean, see which latent terms did it, and do it again without a neural network.

Needs the extra `text`; the encoder's weights (87 MB) are fetched once: zipfian weights get all-minilm-l6-v2
"""

import tempfile
from pathlib import Path

import zipfian as zf

NOTES = {
    "garden": "Tomatoes need a lot of sun and should be watered every evening.",
    "cats": "Cats sleep up to sixteen hours a day.",
    "bread": "Knead the dough, let it rise overnight and bake it in a very hot oven.",
    "router": "Restart the modem when the wireless connection drops.",
}
QUESTION = "my internet is down"

with (
    tempfile.TemporaryDirectory() as folder,
    zf.Collection.create(Path(folder) / "notes.zf", ["words", "latent", "dense"]) as notes,
):
    notes.add({"id": name, "text": text} for name, text in NOTES.items())
    notes.commit()

    print("by words:  ", [hit.id for hit in notes.search(QUESTION, fields="words")])
    found = notes.search(QUESTION, k=2)  # all fields together
    print("by meaning:", [hit.id for hit in found][:1])
    for name, field in found[0].fields.items():
        print(f"  {name}: rank {field.rank}, brought {field.share:.2f}")

    # Latent terms have labels, and every one says which words of the text made it fire.
    tree = notes.explain(QUESTION, found[0].id, fields="latent")
    for part in sorted(tree.parts, key=lambda part: -part.value)[:3]:
        words = ", ".join(place["text"] for place in part.evidence[:3])
        print(f"  {part.value:7.2f}  {part.label}  <- {words}")

    # The same from a table of word pieces: no encoder runs, and the answer takes microseconds to prepare.
    fast = notes.search(QUESTION, k=1, fields="latent", query_encoder="table")
    print("from the table:", [hit.id for hit in fast])
