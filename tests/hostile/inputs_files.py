"""What happens to the files of a collection while somebody writes: locks, disks, manifests."""

from __future__ import annotations

import copy
import errno
import os
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import zipfian as zf
from tests.collection.parts import folder
from tests.hostile.case import WrongAnswer
from tests.hostile.inputs_base import taken
from zipfian.errors import ZipfianError


def lost_lock(rng: Random, c: zf.Collection) -> str:
    path = folder(c)._directory.path
    c.add([{"id": "mine", "text": "apple"}])
    if rng.random() < 0.5:
        folder(c)._store.flush()  # type: ignore[union-attr]
    (path / "write.lock").unlink()
    if rng.random() < 0.2:
        (path / "write.lock").touch()
    second = zf.Collection.open(path, "w", encodings=False)
    with second:
        if rng.random() < 0.7:
            second.add([{"id": "theirs", "text": "stone"}])
            second.commit()
        first, second_len = rng.random() < 0.5, len(second)
        if first:
            c.commit()
            raise WrongAnswer("two writers commit to one collection at once")
    try:
        c.commit()
    except ZipfianError:
        with zf.Collection.open(path) as now:
            if len(now) != second_len:
                raise WrongAnswer(f"{len(now)} documents where the second writer had {second_len}") from None
        raise
    raise WrongAnswer("a writer without a lock commits")


def full_disk(rng: Random, c: zf.Collection) -> str:
    left, plain = rng.randrange(8), os.fsync

    def full(fd: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(rng.choice([errno.ENOSPC, errno.EDQUOT]), "No space left on device")
        plain(fd)

    os.fsync = full  # type: ignore[assignment]
    try:
        c.add([{"id": f"more{i}", "text": "apple"} for i in range(3)])
        c.commit()
    finally:
        os.fsync = plain
    return "there was room"


def missing_manifest(rng: Random, c: zf.Collection) -> str:
    path = folder(c)._directory.path
    manifests = sorted(path.glob("manifest-*.json"))
    for old in manifests[:-1]:
        old.unlink()
    if rng.random() < 0.5:
        zf.Collection.open(path, generation=c.generation - 1)
        raise WrongAnswer("a commit without a manifest was opened")
    return taken(c, [{"id": "more", "text": "apple"}])


def pickled(rng: Random, c: zf.Collection) -> str:
    ways: list[Callable[[Any], Any]] = [pickle.dumps, copy.copy, copy.deepcopy]
    rng.choice(ways)(c)
    return "copied"
