"""A process that searches while another writes: `python -m tests.collection.reader FOLDER`.

It opens the newest commit again and again, or refreshes, and prints each generation it has not seen with its answers,
one JSON object a line. It stops when its standard input closes; the last line says how often it has looked.
"""

from __future__ import annotations

import json
import sys
import threading

import zipfian as zf
from tests.collection.history import answers


def main(folder: str) -> None:
    """Search until told to stop."""
    stop = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
    c = zf.Collection.open(folder)
    last = looked = 0
    ready = False
    while not stop.is_set() or not looked:
        if looked % 3 == 0:
            c.close()
            c = zf.Collection.open(folder)
        else:
            c.refresh()
        looked += 1
        found = answers(c)
        if c.generation < last:
            raise SystemExit("an older commit came back")
        if c.generation > last:
            last = c.generation
            sys.stdout.write(json.dumps({"generation": last, "answers": found}) + "\n")
        if not ready:
            ready = True
            sys.stderr.write("ready\n")
            sys.stderr.flush()
    sys.stdout.write(json.dumps({"looked": looked}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
