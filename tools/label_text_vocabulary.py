"""Label every term of a text vocabulary from its strongest firings, without any model.

    PYTHONPATH=src python tools/label_text_vocabulary.py --statistics statistics.safetensors \
        --text wiki-paragraphs.txt.xz --tokenizer tokenizer.json --model src/zipfian/models/text-16k --work WORK

`statistics.safetensors` (train_vocabulary.py) holds the 100 strongest firings of each term as token numbers over
the text. Tokenising the text takes minutes, once per WORK folder; the rest takes less than one. Writes labels.json.gz
into the model's folder, with the kinds and the rule that told them apart, and prints how far the rule agrees with
the judgements in docs/vocabulary-judgements.tsv. `--sheet FILE` writes what a reader judges by.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from labelling.corpus import load_corpus
from labelling.judge import agreement, draw, read_judgements, sheet
from labelling.names import Namer
from labelling.rule import kind_of, rule
from labelling.terms import Reader
from safetensors.numpy import load_file
from texts import Array

from zipfian.vocabulary.labels import KINDS, Labels, write_labels

PIECES, LEAST_SHARE = 5, 0.03
FEW_FIRINGS = 20
"""Below this a term is read by its firings at a larger k, if there are any (`--more-statistics`)."""
JUDGEMENTS = Path(__file__).resolve().parent.parent / "docs" / "vocabulary-judgements.tsv"


def piece_names(tokenizer_file: Path) -> list[str]:
    """Word pieces by number."""
    vocabulary = json.loads(tokenizer_file.read_text(encoding="utf-8"))["model"]["vocab"]
    names = [""] * (max(vocabulary.values()) + 1)
    for piece, number in vocabulary.items():
        names[number] = piece
    return names


def top_pieces(pieces: Array, shares: Array, names: Sequence[str]) -> tuple[tuple[tuple[str, float], ...], ...]:
    """The pieces that give a term most of its activation, with their shares."""
    return tuple(
        tuple((names[p], float(s)) for p, s in zip(row[:PIECES], of[:PIECES], strict=True) if s >= LEAST_SHARE)
        for row, of in zip(pieces.tolist(), shares.astype(np.float64).tolist(), strict=True)
    )


def compare(kinds: list[str]) -> dict[str, object]:
    """Agreement with the judgements, by sample."""
    judged = read_judgements(JUDGEMENTS)
    out: dict[str, object] = {}
    for sample in ("thresholds", "judged"):
        terms = [term for term, row in judged.items() if row[0] == sample]
        out[sample] = agreement([kinds[t] for t in terms], [judged[t][1] for t in terms], KINDS)
    return out


def run(args: argparse.Namespace) -> None:
    statistics = load_file(args.statistics)
    corpus = load_corpus(args.text, args.tokenizer, args.work)
    if not np.array_equal(np.diff(corpus.token_paragraph), statistics["paragraph_tokens"]):
        raise SystemExit("the statistics were not computed over this text with this tokenizer")
    tokens, strengths = statistics["firing_tokens"], statistics["firing_strengths"].astype(np.float32)
    rare = (tokens >= 0).sum(axis=1) < FEW_FIRINGS
    if args.more_statistics:
        more = load_file(args.more_statistics)
        tokens[rare], strengths[rare] = more["firing_tokens"][rare], more["firing_strengths"][rare]
    print(f"{rare.sum()} terms with fewer than {FEW_FIRINGS} firings")
    reader = Reader(corpus, tokens, strengths)
    n_terms = len(reader.tokens)
    found = [reader.firings(term) for term in range(n_terms)]
    if args.sheet:
        terms = [term for sample in draw(n_terms) for term in sample]
        args.sheet.write_text("\n".join(line for t in terms for line in sheet(reader, t, found[t])) + "\n")
    shapes = [reader.shape(one) for one in found]
    kinds = [kind_of(shape) for shape in shapes]
    namer = Namer(reader, piece_names(args.tokenizer))
    names = [namer.name(*row) for row in zip(found, shapes, kinds, strict=True)]
    labels = namer.told_apart(names, found)
    compared = compare(kinds)
    text = {"file": args.text.name, "paragraphs": len(corpus.paragraph) - 1, "words": len(corpus.surface)}
    shares = top_pieces(statistics["top_pieces"], statistics["top_piece_shares"], namer.pieces)
    described = {**rule(), "text": text, "agreement": compared, "date": args.date}
    kept = Labels(tuple(labels), tuple(kinds), described, shares)
    path = write_labels(args.model, kept)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(set(labels)):,} different labels")
    print({kind: f"{count} ({count / n_terms:.1%})" for kind, count in Counter(kinds).most_common()})
    print(f"labels told apart by contexts or numbers: {sum(a != b for a, b in zip(names, labels, strict=True)):,}")
    print(json.dumps(compared, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statistics", type=Path, required=True)
    parser.add_argument("--more-statistics", type=Path, help="of a larger k, for terms that hardly fire")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="folder to write labels.json.gz into")
    parser.add_argument("--work", type=Path, required=True, help="kept between runs")
    parser.add_argument("--sheet", type=Path, help="also write the sheet to judge by")
    parser.add_argument("--date", default="", help="date to record")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
