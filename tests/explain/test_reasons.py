"""What is shown as a reason, and what a printed explanation leaves to `full()`."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from zipfian.explain.reasons import Reason, reasons_of
from zipfian.types import LEAST_SHARE, Explanation, marked


def term(value: float, label: str, field: str = "words", number: int | None = None) -> Explanation:
    return Explanation(value, label, kind="term", field=field, term=label if number is None else number)


def field(*parts: Explanation, name: str = "words") -> Explanation:
    return Explanation(sum(part.value for part in parts), f"{name}: BM25", parts, kind="field", field=name)


class TestReasons:
    def test_a_part_of_less_than_the_least_share_is_none(self) -> None:
        tree = field(term(97.0, "whale"), term(3.0, "sea"), term(2.99, "wet"))
        assert [reason.label for reason in reasons_of(field(*tree.parts[:2]))] == ["whale", "sea"]
        assert [reason.label for reason in reasons_of(tree)] == ["whale"], "of 102.99, 3 is less than 3 %"

    def test_the_share_is_of_all_that_speaks_for_it(self) -> None:
        """What counts against a document, and where its field counts from, do not make a small part large."""
        less = Explanation(-89.0, "less what its best documents score on average", kind="baseline", field="words")
        tree = field(term(90.0, "whale"), term(2.0, "sea"), term(8.0, "wet"), term(-10.0, "dry"), less)
        assert tree.value == 1.0 and tree.support == 100.0
        assert [(reason.label, reason.share) for reason in reasons_of(tree)] == [("whale", 0.9), ("wet", 0.08)]

    def test_neither_rounding_nor_a_baseline_is_one_however_large(self) -> None:
        rest = Explanation(5.0, "rounding", kind="correction")
        above = Explanation(5.0, "less what its best documents score on average", kind="baseline", field="words")
        assert [reason.label for reason in reasons_of(field(term(1.0, "whale"), rest, above))] == ["whale"]
        assert field(term(1.0, "whale"), rest, above).support == 1.0
        assert reasons_of(field(rest, above)) == []

    def test_where_all_parts_are_small_it_says_so(self) -> None:
        (one,) = reasons_of(field(*(term(1.0, str(n)) for n in range(40))))
        assert one == Reason("40 small parts, none of which brought 3%", 40.0, 1.0, None)

    def test_parts_of_one_name_are_one_reason_with_the_places_of_the_strongest(self) -> None:
        place = {"row": 4, "column": 9, "rows": 12, "columns": 12, "strength": 2.0}
        weak = Explanation(1.0, "beach", (), {}, ({**place, "row": 0},), "term", "translated", 7)
        strong = Explanation(2.0, "beach", (), {}, (place,), "term", "translated", 9)
        other = Explanation(7.0, "beach", (), {}, (), "term", "words", "beach")
        found = reasons_of(Explanation(10.0, "fused", (field(weak, strong), other), kind="fusion"))
        assert found == [
            Reason("beach", 7.0, 0.7, "words", "beach"),
            Reason("beach", 3.0, 0.3, "translated", None, (place,)),
        ]
        assert str(found[1]) == "beach (middle right: row 5, column 10 of 12 x 12)"

    def test_a_likeness_is_one_reason_and_shows_the_patches_that_speak_for_it(self) -> None:
        place = {"row": 0, "column": 0, "rows": 3, "columns": 3, "strength": 0.9}
        parts = (
            Explanation(-0.4, "unlike it", (), {}, ({**place, "row": 2},), "against", "aligned"),
            Explanation(0.9, "like it", (), {}, (place,), "patches", "aligned"),
            Explanation(0.1, "whatever it shows", kind="constant", field="aligned"),
        )
        tree = Explanation(1.2, "score", parts, {"raw": 0.6}, kind="cosine", field="aligned")
        assert tree.support == 1.2
        assert reasons_of(tree) == [
            Reason("alike as a whole (cosine 0.600), strongest", 1.2, 1.0, "aligned", None, (place,))
        ]

    @given(st.lists(st.floats(-100, 100), max_size=12))
    def test_shares_are_of_one_whole(self, values: list[float]) -> None:
        found = reasons_of(field(*(term(value, str(n)) for n, value in enumerate(values))))
        above = [value for value in values if value > 0]
        assert math.fsum(reason.share for reason in found) <= 1.0 + 1e-9
        if found and found[0].field:
            assert [reason.value for reason in found] == sorted(
                (value for value in above if value / sum(above) >= LEAST_SHARE), reverse=True
            )


class TestPrinted:
    def test_what_counts_is_named_and_the_rest_is_one_line(self) -> None:
        tree = field(
            term(0.2, "wet"), term(10.0, "whale"), term(0.1, "fin"), Explanation(0.0, "rounding", kind="correction")
        )
        assert str(tree).splitlines() == [
            "10.3000  words: BM25",
            "  10.0000  whale",
            "  0.3000  2 more, together",
        ]

    def test_a_single_one_that_is_left_is_named(self) -> None:
        assert str(field(term(10.0, "whale"), term(0.2, "wet"))).splitlines()[1:] == [
            "  10.0000  whale",
            "  0.2000  wet",
        ]

    def test_five_parts_of_a_node_at_most(self) -> None:
        lines = str(field(*(term(float(n), f"t{n}") for n in range(1, 9)))).splitlines()
        assert lines[1:] == [f"  {n}.0000  t{n}" for n in (8, 7, 6, 5, 4)] + ["  6.0000  3 more, together"]

    def test_an_abstract_with_many_places_stays_on_a_screen(self) -> None:
        places = tuple({"start": n, "end": n + 1, "text": f"w{n}", "strength": 1.0} for n in range(64))
        terms = [Explanation(1.0 + n, f"t{n}", (), {"tf": 1.0}, places, "term", "latent", n) for n in range(60)]
        fields = [field(*terms, name=name) for name in ("words", "latent", "splade")]
        tree = Explanation(sum(one.value for one in fields), "fused", tuple(fields), kind="fusion")
        assert len(str(tree).splitlines()) < 25
        assert len(tree.full().splitlines()) == 1 + 3 + 3 * 60 * 65

    def test_places_that_show_nothing_are_left_out(self) -> None:
        places = (
            {"start": 0, "end": 1, "text": ".", "strength": 9.0, "mark": False},
            {"start": 2, "end": 5, "text": "sun", "strength": 8.0},
            {"start": 9, "end": 12, "text": "sun", "strength": 8.0},
            {"start": 6, "end": 9, "text": "fog", "strength": 1.0},
        )
        assert str(Explanation(1.0, "light", (), {}, places)) == "1.0000  light  at 'sun'"
        assert marked(places) == [places[1], places[2]]

    def test_cells_of_a_picture_count_from_one(self) -> None:
        places = tuple({"row": n, "column": 2, "rows": 9, "columns": 9} for n in range(4))
        assert str(Explanation(1.0, "sea", (), {}, places)) == "1.0000  sea  at row, column (1, 3), (2, 3), (3, 3) ..."

    def test_a_note_is_said(self) -> None:
        assert (
            str(Explanation(1.0, "visual", (), {"note": "the picture is gone"}))
            == "1.0000  visual  (the picture is gone)"
        )
