"""What was used last is kept within its budget, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from zipfian.recent import Recent


def test_what_was_not_asked_for_longest_makes_room() -> None:
    kept: Recent[str, int] = Recent(10)
    kept.put("a", 1, 4)
    kept.put("b", 2, 4)
    assert kept.get("a") == 1
    kept.put("c", 3, 4)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
    assert kept.nbytes == 8


def test_a_value_that_takes_the_place_of_another_is_counted_once() -> None:
    kept: Recent[str, int] = Recent(10)
    kept.put("a", 1, 4)
    kept.put("a", 2, 6)
    assert (kept.get("a"), kept.nbytes) == (2, 6)
    kept.put("a", 3, 11)  # too large: nothing is kept under its key, not the old one either
    assert (kept.get("a"), kept.nbytes) == (None, 0)


def test_threads_leave_the_count_as_it_is() -> None:
    kept: Recent[int, int] = Recent(1_000)

    def use(start: int) -> None:
        for i in range(start, start + 2_000):
            if kept.get(i % 97) is None:
                kept.put(i % 97, i, 10 + i % 7)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    left = [i for i in range(97) if kept.get(i) is not None]
    assert 0 < kept.nbytes <= 1_000
    for i in left:
        kept.put(i, 0, 0)
    assert kept.nbytes == 0
