"""Batches that are read ahead of the one being written: the collection is the one made without, whatever goes wrong."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.device.faults import TORCH_CPU, needs_torch
from tests.encode.conftest import minilm as minilm
from zipfian import Collection
from zipfian.collection.following import Synced
from zipfian.encode import TextEncoder, register, registry
from zipfian.encode.cache import EncodingCache
from zipfian.encode.on_device import Matrix
from zipfian.encode.torch_bert import TorchBert
from zipfian.errors import DeviceFailed, InvalidInput, ZipfianError
from zipfian.ingest import follow, open_source
from zipfian.ingest.follow import Sync
from zipfian.ingest.source import Source

pytestmark = [needs_torch, pytest.mark.usefixtures("minilm", "small_batches")]

WORDS = "river stone light engine paper garden winter signal copper bridge market summer".split()
BATCH = 16
"""Texts of a batch here: one, times what a device takes at once."""


@pytest.fixture(scope="module")
def encoder(minilm: object) -> TextEncoder:
    return TextEncoder(device=TORCH_CPU)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch, encoder: TextEncoder, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(follow, "ADD_ENCODED", 1)
    monkeypatch.setattr("zipfian.encode.cache.root", lambda: tmp_path / "cache")
    monkeypatch.setattr("zipfian.storage.container.secrets.randbits", lambda _: 7)  # or no two files are equal
    monkeypatch.setattr(registry, "_KNOWN", {})
    register(encoder)
    yield


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(lines(90)))
    return path


def lines(n: int) -> list[str]:
    """Records, some of them with an equal text."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 20))) for _ in range(n)]
    texts[20] = texts[37] = texts[1]
    return [json.dumps({"id": f"d{i}", "text": text, "year": 1900 + i}) + "\n" for i, text in enumerate(texts)]


def create(path: Path, encoder: TextEncoder) -> Collection:
    fields = {"words": zf.Words(), "latent": zf.Latent(encoder=encoder), "dense": zf.Dense(encoder=encoder)}
    return Collection.create(path, fields)


def made(
    path: Path, source: Path, encoder: TextEncoder, ahead: bool, *, new: bool = True, **options: Any
) -> tuple[Synced, type[ZipfianError] | None, str]:
    """What one run over the source did to a collection, and how it ended."""
    with create(path, encoder) if new else Collection.open(path, mode="w") as collection:
        run = Sync(collection, open_source(source), clock=lambda: 0.0, **{"commit_every": 2 * BATCH} | options)
        assert run._ahead, "the encoder is on a device"
        run._ahead = ahead
        try:
            run.run()
        except ZipfianError as error:
            return run.done, type(error), str(error)
        return run.done, None, ""


def files(path: Path) -> list[str]:
    """What is in the files that a commit names, whatever they are called."""
    wanted = [one for one in path.iterdir() if one.suffix in (".doc", ".field", ".col", ".vec", ".del")]
    return sorted(one.suffix + hashlib.sha256(one.read_bytes()).hexdigest() for one in wanted)


def both(tmp_path: Path, source: Path, encoder: TextEncoder, **options: Any) -> tuple[Any, Any]:
    """The same run with and without reading ahead, after which the two collections are equal."""
    serial = made(tmp_path / "serial.zf", source, encoder, False, **options)
    ahead = made(tmp_path / "ahead.zf", source, encoder, True, **options)
    with Collection.open(tmp_path / "serial.zf") as one, Collection.open(tmp_path / "ahead.zf") as other:
        assert list(one.documents()) == list(other.documents())
        assert one.stats()["fields"] == other.stats()["fields"]
    assert files(tmp_path / "serial.zf") == files(tmp_path / "ahead.zf")
    return serial, ahead


def test_a_collection_is_the_same_to_the_last_bit(source: Path, tmp_path: Path, encoder: TextEncoder) -> None:
    serial, ahead = both(tmp_path, source, encoder)
    assert serial == ahead and ahead[0] == Synced(added=90, commits=3)
    assert len(files(tmp_path / "ahead.zf")) == 15, "three segments of five files"
    changed = [line.replace("river", "copper") for line in lines(95)[5:]]
    source.write_text("".join(changed))
    serial, ahead = both(tmp_path, source, encoder, new=False)
    assert serial == ahead and ahead[0].removed == 5 and ahead[0].updated > 30 and ahead[0].unchanged > 10


def test_while_a_batch_is_written_the_next_one_is_on_the_device(
    source: Path, tmp_path: Path, encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder.load()
    second, passes = threading.Event(), []
    plain, add = TorchBert.run, Collection.add

    def run(self: TorchBert, *args: Any) -> Any:
        passes.append(threading.get_ident())
        if len(passes) == 2:
            second.set()
        return plain(self, *args)

    waited = []
    under_way = []

    def slow_add(self: Collection, *args: Any, **settings: Any) -> int:
        waited.append(second.wait(20))
        under_way.append(len(self._store.encoding._ahead._waiting))  # type: ignore[attr-defined]
        return add(self, *args, **settings)

    monkeypatch.setattr(TorchBert, "run", run)
    monkeypatch.setattr(Collection, "add", slow_add)
    done, _, _ = made(tmp_path / "a.zf", source, encoder, True)
    assert done.added == 90 and all(waited), "the second pass did not begin before the first batch was written"
    assert len(passes) == 6 and threading.get_ident() not in passes, "every text once, none by the thread that writes"
    assert max(under_way) <= follow.AHEAD, "no more is in memory than was begun"


@pytest.mark.parametrize("at", [3, 20, 70])
def test_a_bad_record_stops_both_at_the_same_place(at: int, source: Path, tmp_path: Path, encoder: TextEncoder) -> None:
    found = lines(90)
    found[at] = "{no json\n"
    source.write_text("".join(found))
    serial, ahead = both(tmp_path, source, encoder, on_bad="fail")
    assert serial == ahead and ahead[1] is InvalidInput and f"texts.jsonl:{at + 1}: not JSON" in ahead[2]
    assert ahead[0].added == at // BATCH * BATCH and ahead[0].commits == at // (2 * BATCH)


def test_a_source_that_breaks_off_stops_both_at_the_same_place(
    source: Path, tmp_path: Path, encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Source.__iter__

    def torn(self: Source) -> Iterator[Any]:
        yield from itertools.islice(plain(self), 70)
        raise InvalidInput("the disk went away")

    monkeypatch.setattr(Source, "__iter__", torn)
    serial, ahead = both(tmp_path, source, encoder)
    assert serial == ahead and ahead[1:] == (InvalidInput, "the disk went away")
    assert (ahead[0].added, ahead[0].commits) == (4 * BATCH, 2)


def broken_for(word: int) -> Callable[..., Any]:
    """`TorchBert.run` that gives no numbers for texts with a word piece."""
    plain = TorchBert.run

    def run(self: TorchBert, pieces: Any, *rest: Any) -> Any:
        states = plain(self, pieces, *rest)
        for state in states.values():
            state[(pieces == word).any(dim=1)] = float("nan")
        return states

    return run


def test_what_is_skipped_is_the_same_and_in_the_same_order(
    source: Path, tmp_path: Path, encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lines(90)
    found[5], found[40], found[41] = "{no json\n", found[39], '{"id": "empty"}\n'
    source.write_text("".join(found))
    monkeypatch.setattr(TorchBert, "run", broken_for(2314))  # "river"
    serial, ahead = both(tmp_path, source, encoder, on_bad="skip")
    assert serial == ahead
    problems = [bad.problem for bad in ahead[0].bad]
    assert ahead[0].added == 90 - len(problems) and sum("not finite" in problem for problem in problems) > 10
    assert sum("appears twice" in problem for problem in problems) == 1 and "not JSON" in problems[0]


def failing_at(number: int, fault: BaseException) -> Callable[..., Any]:
    plain, passes = TorchBert.run, []

    def run(self: TorchBert, *args: Any) -> Any:
        passes.append(1)
        if len(passes) == number:
            raise fault
        return plain(self, *args)

    return run


def test_a_driver_that_fails_costs_nothing_that_was_complete(
    source: Path, tmp_path: Path, encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TorchBert, "run", failing_at(4, RuntimeError("CUDA error: device-side assert triggered")))
        done, kind, said = made(tmp_path / "a.zf", source, encoder, True)
    assert kind is DeviceFailed and "device-side assert triggered" in said
    with Collection.open(tmp_path / "a.zf") as collection:
        assert len(collection) == done.added == 3 * BATCH, "the batches before it, the last not due for a commit"
    done, kind, _ = made(tmp_path / "a.zf", source, encoder, True, new=False)
    assert (kind, done.added, done.unchanged, done.updated) == (None, 90 - 3 * BATCH, 3 * BATCH, 0)


def test_a_driver_that_fails_at_the_terms_is_no_fault_of_the_documents(
    source: Path, tmp_path: Path, encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise DeviceFailed(TORCH_CPU, RuntimeError("CUDA error: unspecified launch failure"))

    monkeypatch.setattr(Matrix, "through", broken)
    for number, ahead in enumerate((True, False)):
        done, kind, _ = made(tmp_path / f"{number}.zf", source, encoder, ahead, on_bad="skip")
        assert kind is DeviceFailed and not done.bad and done.added == 0


def test_an_interruption_leaves_the_last_commit_and_the_same_call_goes_on(
    source: Path, tmp_path: Path, encoder: TextEncoder
) -> None:
    def stop(done: int) -> None:
        if done >= 3 * BATCH:
            raise KeyboardInterrupt

    with create(tmp_path / "a.zf", encoder) as collection:
        run = Sync(collection, open_source(source), commit_every=2 * BATCH)
        with pytest.raises(KeyboardInterrupt):
            run.run(stop)
        assert run.committed == len(collection) == 2 * BATCH
        assert not [one for one in threading.enumerate() if one.name.startswith("zipfian")], "no thread goes on"
    done, kind, _ = made(tmp_path / "a.zf", source, encoder, True, new=False)
    assert kind is None and (done.added, done.unchanged) == (90 - 2 * BATCH, 2 * BATCH)
    assert made(tmp_path / "b.zf", source, encoder, True)[0].added == 90
    with Collection.open(tmp_path / "a.zf") as one, Collection.open(tmp_path / "b.zf") as other:
        assert list(one.documents()) == list(other.documents())


def test_progress_counts_items_that_are_written_and_ends_at_all(
    source: Path, tmp_path: Path, encoder: TextEncoder
) -> None:
    seen: list[int] = []
    with create(tmp_path / "a.zf", encoder) as collection:
        Sync(collection, open_source(source)).run(seen.append)
        assert seen == [16, 32, 48, 64, 80, 90]
        seen.clear()
        Sync(collection, open_source(source)).run(seen.append)
        assert seen == [*range(1, 91), 90], "what is unchanged is passed over at once"


def test_the_encode_cache_is_read_and_not_filled_with_what_a_device_made(
    source: Path, tmp_path: Path, encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "a.zf", source, encoder, True)
    assert EncodingCache().count() == 0
    records = [json.loads(line) for line in lines(90)[:5]]
    with create(tmp_path / "plain.zf", TextEncoder()) as collection:
        collection.add({"id": record["id"], "text": record["text"]} for record in records)
    assert EncodingCache().count() == 10, "what a processor made is worth a file"
    source.write_text("".join(lines(90)[:5]))
    monkeypatch.setattr(TorchBert, "run", lambda *_: pytest.fail("encoded again"))
    assert made(tmp_path / "b.zf", source, encoder, True)[0].added == 5
