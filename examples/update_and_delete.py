"""Change a collection: add, replace, delete, merge. Scores are always those of a collection built at once."""

import tempfile
from pathlib import Path

import zipfian as zf


def show(label: str, collection: zf.Collection) -> None:
    """The ranking that searches see now."""
    ranking = ", ".join(f"{hit.id} {hit.score:.4f}" for hit in collection.search("fresh water fish"))
    print(f"{label:<28} generation {collection.generation}: {ranking}")


with tempfile.TemporaryDirectory() as folder, zf.Collection.create(Path(folder) / "c") as collection:
    collection.add(
        [
            {"id": "river", "text": "A river is fresh water that flows to the sea."},
            {"id": "trout", "text": "The trout is a fish of cold, fresh water."},
            {"id": "shark", "text": "Sharks are fish of salt water."},
        ]
    )
    collection.commit()
    show("three documents", collection)

    collection.delete(["trout"])
    show("deleted, not yet committed", collection)  # searches see commits only
    collection.commit()
    show("deleted", collection)

    collection.upsert([{"id": "shark", "text": "Most sharks live in salt water, a few in fresh water."}])
    collection.commit()
    show("replaced", collection)

    before = [(hit.id, hit.score) for hit in collection.search("fresh water fish")]
    collection.merge()  # one segment, and deleted documents leave the files
    collection.commit()
    show("merged", collection)
    after = [(hit.id, hit.score) for hit in collection.search("fresh water fish")]
    print("the merge changed no score:", before == after)

    collection.add([{"id": "mistake", "text": "oops"}])
    collection.rollback()  # forget everything since the last commit
    print("documents:", list(collection.ids()))
