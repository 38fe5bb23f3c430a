"""Lexical, narrow and broad terms: the rule, the reader and the figure published for another encoder, side by side.

PYTHONPATH=src python tools/draw_kinds.py --out docs/img/kinds-text.svg
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import matplotlib
from label_text_vocabulary import JUDGEMENTS
from labelling.judge import read_judgements
from matplotlib.figure import Figure

from zipfian.vocabulary.labels import KINDS
from zipfian.vocabulary.sae import SaeVocabulary

PUBLISHED = {"lexical": 1 / 3, "narrow": 0.10, "broad": 1 - 1 / 3 - 0.10}
"""Latent Terms, section 6.2: a third lexical, just 10 % narrow, the majority broad."""
COLOURS = {"lexical": "#1f6f8b", "narrow": "#99b898", "broad": "#c8553d"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", default="text-16k")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    labels = SaeVocabulary.load(args.vocabulary).label_table
    if labels is None:
        raise SystemExit(f"{args.vocabulary} has no labels")
    judged = Counter(kind for sample, kind, _ in read_judgements(JUDGEMENTS).values() if sample == "judged")
    rows = {
        f"{args.vocabulary}, rule, {len(labels):,} terms": {k: n / len(labels) for k, n in labels.counts().items()},
        f"{args.vocabulary}, reader, {judged.total()} terms": {k: judged[k] / judged.total() for k in KINDS},
        "Latent Terms, 32,768 terms\n(about, from its text)": PUBLISHED,
    }
    with matplotlib.rc_context({"svg.hashsalt": "zipfian", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(6.8, 1.9), layout="constrained")
        axis = figure.subplots()
        for place, shares in enumerate(rows.values()):
            left = 0.0
            for kind in KINDS:
                axis.barh(place, shares[kind], left=left, color=COLOURS[kind], label=kind if place == 0 else None)
                axis.text(
                    left + shares[kind] / 2, place, f"{shares[kind]:.0%}", ha="center", va="center", color="white"
                )
                left += shares[kind]
        axis.set_yticks(range(len(rows)), list(rows))
        axis.set_xticks([])
        axis.invert_yaxis()
        for side in ("top", "right", "bottom", "left"):
            axis.spines[side].set_visible(False)
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(args.out, metadata={"Date": None} if args.out.suffix == ".svg" else None, dpi=150)


if __name__ == "__main__":
    main()
