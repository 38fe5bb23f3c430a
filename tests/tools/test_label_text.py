"""The labelling tool on a text of a few lines: pieces become words, words become labels and kinds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tests.tools.loading import TOOLS, load

tokenizers = pytest.importorskip("tokenizers")

COLOURS = "red blue green black white grey pink gold brown violet orange silver".split()
LINES = [f"line {word} the galaxies and a galaxy near home" for word in COLOURS]
LINES += [f"They {verb} the {thing} with money" for verb, thing in [("buy", "car"), ("purchase", "house")] * 6]
LINES += ["Bletchley and Finchley and Purley in 1999"] * 5


@pytest.fixture(scope="module")
def tools() -> SimpleNamespace:
    parts = ("corpus", "judge", "names", "rule", "terms")
    return SimpleNamespace(**dict(zip(parts, load(*(f"labelling.{part}" for part in parts)), strict=True)))


@pytest.fixture(scope="module")
def pieces() -> list[str]:
    whole = {word for line in LINES for word in line.lower().split()} - {"galaxies", "galaxy"}
    whole -= {"bletchley", "finchley", "purley"}
    return ["[UNK]", *sorted(whole), "galax", "##ies", "##y", "bletch", "finch", "pur", "##ley"]


@pytest.fixture(scope="module")
def corpus(tools: SimpleNamespace, pieces: list[str], tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("labels")
    model = tokenizers.models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    made = tools.corpus.load_corpus(folder / "text.txt", folder / "tokenizer.json", folder / "work")
    again = tools.corpus.load_corpus(folder / "text.txt", folder / "tokenizer.json", folder / "work")
    assert again.surfaces == made.surfaces and (again.token_word == made.token_word).all()
    return made


def reader_of(tools: SimpleNamespace, corpus, tokens: list[int]):  # type: ignore[no-untyped-def]
    row = np.full((1, 100), -1, np.int32)
    row[0, : len(tokens)] = tokens
    return tools.terms.Reader(corpus, row, (row >= 0).astype(np.float32), sample=2_000)


def where(corpus, pieces: list[str], wanted: set[str]) -> list[int]:  # type: ignore[no-untyped-def]
    numbers = [pieces.index(w) for w in wanted]
    return np.flatnonzero(np.isin(corpus.piece, numbers)).tolist()


def told(tools: SimpleNamespace, corpus, pieces: list[str], wanted: set[str]) -> tuple[str, str]:  # type: ignore[no-untyped-def]
    reader = reader_of(tools, corpus, where(corpus, pieces, wanted))
    found = reader.firings(0)
    shape = reader.shape(found)
    kind = tools.rule.kind_of(shape)
    return kind, tools.names.Namer(reader, pieces).name(found, shape, kind)


def test_pieces_are_joined_to_words(tools: SimpleNamespace, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    reader = reader_of(tools, corpus, where(corpus, pieces, {"galax", "##ies"}))
    words = [corpus.surfaces[i] for i in corpus.surface[reader.firings(0).words]]
    assert sorted(set(words)) == ["galaxies", "galaxy"]
    assert len(words) == 24  # "galaxies" fired twice in each line, and is one word


def test_one_word_is_lexical(tools: SimpleNamespace, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    kind, name = told(tools, corpus, pieces, {"galax"})
    assert kind == "lexical"
    assert name.startswith(("galaxies, galaxy", "galaxy, galaxies"))


def test_two_words_of_one_meaning_are_narrow(tools: SimpleNamespace, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    kind, name = told(tools, corpus, pieces, {"buy", "purchase"})
    assert (kind, set(name.split(", "))) == ("narrow", {"buy", "purchase"})


def test_letters_inside_words_are_lexical_and_named_by_the_letters(tools, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    kind, name = told(tools, corpus, pieces, {"##ley"})
    assert kind == "lexical"
    assert name == "-ley: Bletchley, Finchley, Purley"


def test_many_words_are_broad(tools: SimpleNamespace, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    kind, name = told(tools, corpus, pieces, set(COLOURS))
    assert kind == "broad"
    assert name.startswith(("topic: ", "mixed: "))


def test_a_term_that_never_fires(tools: SimpleNamespace, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    assert told(tools, corpus, pieces, set())[1] == "never fires"


def test_equal_labels_are_told_apart(tools: SimpleNamespace, corpus, pieces: list[str]) -> None:  # type: ignore[no-untyped-def]
    reader = reader_of(tools, corpus, where(corpus, pieces, {"buy"}))
    found = reader.firings(0)
    labels = tools.names.Namer(reader, pieces).told_apart(["buy", "Buy", "other"], [found] * 3)
    assert len({label.casefold() for label in labels}) == 3
    assert labels[2] == "other"


def test_agreement_and_kappa(tools: SimpleNamespace) -> None:
    kinds = ("lexical", "narrow", "broad")
    same = tools.judge.agreement(["lexical", "broad"], ["lexical", "broad"], kinds)
    assert (same["agreement"], same["kappa"]) == (1.0, 1.0)
    # 20 answers, 15 equal; by chance 0.5 * 0.55 + 0.5 * 0.45 = 0.5 would be.
    rule = ["lexical"] * 11 + ["narrow"] * 9
    reader = ["lexical"] * 8 + ["narrow"] * 3 + ["lexical"] * 2 + ["narrow"] * 7
    found = tools.judge.agreement(rule, reader, kinds)
    assert found["agreement"] == 0.75
    assert found["kappa"] == pytest.approx((0.75 - 0.5) / 0.5)


def test_the_judgements_that_are_kept_are_of_the_terms_that_are_drawn(tools: SimpleNamespace) -> None:
    table = TOOLS.parent / "docs" / "vocabulary-judgements.tsv"
    if not table.is_file():
        pytest.skip("the documentation is not part of this package")
    judged = tools.judge.read_judgements(table)
    for sample, terms in zip(("thresholds", "judged"), tools.judge.draw(16_384), strict=True):
        assert sorted(term for term, row in judged.items() if row[0] == sample) == terms
    assert {kind for _, kind, _ in judged.values()} == {"lexical", "narrow", "broad"}
