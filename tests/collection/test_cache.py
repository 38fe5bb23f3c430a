"""How much is cached changes how fast a search is, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.collection.parts import folder
from tests.equality.compare import ranking
from tests.equality.texts import paragraphs


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache") / "c"
    with zf.Collection.create(folder) as c:
        for start in range(0, len(paragraphs()), 600):
            c.add(paragraphs()[start : start + 600])
            c.commit()
    return folder


QUERIES = [" ".join(d["text"].split()[: n % 7 + 1]) for n, d in enumerate(paragraphs()[::45])]


@pytest.mark.parametrize("cache_bytes", [0, 1, 3_000, 30_000, 120_000])
def test_any_cache_gives_the_same_answers(path: Path, cache_bytes: int) -> None:
    with zf.Collection.open(path) as whole, zf.Collection.open(path, cache_bytes=cache_bytes) as tight:
        for query in QUERIES:
            wanted = whole.search(query, 25)
            found = tight.search(query, 25)
            assert ranking(found) == ranking(wanted)
            if found:
                assert found.explain(found[-1]) == wanted.explain(wanted[-1])
            ids = [h.id for h in wanted]
            assert tight.score("words", query, ids).tolist() == [h.score for h in wanted]
            assert tight.stats()["fields"]["words"]["cached_bytes"] <= cache_bytes
        cache = folder(tight)._searcher.field_searcher("words")._cache
        assert cache is not None
        if cache_bytes in (3_000, 30_000):
            assert cache.overflows > 0
        if cache_bytes <= 1:
            assert cache.nbytes == 0
        assert whole.stats()["fields"]["words"]["cached_bytes"] > 0


def test_nothing_is_decoded_before_the_first_search(path: Path) -> None:
    with zf.Collection.open(path) as c:
        assert c.stats()["fields"]["words"]["cached_bytes"] == 0
        assert folder(c)._searcher.field_searcher("words")._cache is None
