"""One process writes, others read: a reader keeps its commit until it asks for the newest one."""

import subprocess
import sys
import tempfile
from pathlib import Path

import zipfian as zf
from zipfian.errors import IndexLocked

READER = """
import sys, zipfian as zf
with zf.Collection.open(sys.argv[1]) as collection:           # needs no lock
    for _ in sys.stdin:                                       # whenever the writer says something
        before, now = collection.generation, collection.refresh()
        hits = [hit.id for hit in collection.search("news")]
        print(f"reader: generation {before} -> {now}, found {hits}", flush=True)
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "news.zf"
    with zf.Collection.create(path) as writer:
        writer.add([{"id": "monday", "text": "the news of Monday"}])
        writer.commit()

        reader = subprocess.Popen(
            [sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert reader.stdin is not None and reader.stdout is not None
        for day in ("tuesday", "wednesday"):
            reader.stdin.write("look\n")
            reader.stdin.flush()
            print(reader.stdout.readline(), end="")
            writer.add([{"id": day, "text": f"the news of {day}"}])
            print(f"writer: committed generation {writer.commit()}")
        print(reader.communicate("look\n")[0], end="")

        try:
            zf.Collection.open(path, "w")
        except IndexLocked as error:
            print("a second writer is refused:", type(error).__name__)
