from __future__ import annotations

import pytest

from experiments.hybridvl.failures import CLASSES, Breakdown, sort_failures

GALLERY = {
    "target": ["a dog runs on the beach", "a brown dog at the sea"],
    "near": ["a black dog runs on a beach", "dog near water"],
    "cat": ["a cat sleeps on the sofa", "a striped cat rests"],
    "swap": ["a man holding a child rides a horse", "man and child with horse"],
    "park": ["people walk in the park", "people sit in a park"],
    "crowd": ["people walk on a street", "people in town"],
}
FILLER = [f"f{i}" for i in range(200)]


def kind_of(text: str, order: list[str], target: str = "target") -> tuple[str, str]:
    run = {"q": [(doc, 0.0) for doc in order]}
    found = sort_failures(run, {"q": text}, {"q": target}, GALLERY)
    return (found.failures[0].kind, found.failures[0].why) if found.failures else ("found", "")


def test_a_target_among_ten_is_no_failure() -> None:
    assert kind_of("a dog runs", [*FILLER[:9], "target"])[0] == "found"
    assert kind_of("a dog runs", [*FILLER[:10], "target"])[0] == "ranking"


@pytest.mark.parametrize(
    ("text", "order", "kind"),
    [
        ("a zebra runs on the beach", ["near", *FILLER], "vocabulary"),
        ("a brown dog runs on the beach", ["near", *FILLER], "vocabulary"),  # no other text is brown
        ("a striped dog runs on the beach", ["near", *FILLER], "fine-grained"),
        ("a child holding a man rides a horse", ["swap", *FILLER], "compositional"),
        ("people walk", [*FILLER[:40], "target"], "ranking"),
        ("people walk", FILLER, "ambiguous"),
    ],
)
def test_classes(text: str, order: list[str], kind: str) -> None:
    target = "crowd" if kind == "compositional" else "target"
    assert kind_of(text, order, target)[0] == kind


def test_the_reason_is_told() -> None:
    assert kind_of("a zebra runs on the beach", FILLER)[1] == "in no other text: zebra"
    assert kind_of("people walk", [*FILLER[:40], "target"])[1] == "at rank 41"
    assert "stripe" in kind_of("a striped dog runs on the beach", ["near", *FILLER])[1]


def test_counts_and_examples_come_in_a_fixed_order() -> None:
    run = {f"q{i}": [(doc, 0.0) for doc in FILLER] for i in range(5)}
    texts = {f"q{i}": "people walk" if i % 2 else "a zebra" for i in range(5)}
    found = sort_failures(run, texts, dict.fromkeys(run, "target"), GALLERY)
    assert list(found.counts()) == list(CLASSES)
    assert (found.counts()["vocabulary"], found.counts()["ambiguous"]) == (3, 2)
    assert [f.query for f in found.examples(1)] == ["q0", "q1"]
    assert Breakdown(0, ()).counts() == dict.fromkeys(CLASSES, 0)
