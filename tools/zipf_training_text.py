"""Words and latent terms of the training data, side by side: the table and plot of docs/vocabulary.md.

    PYTHONPATH=src python tools/zipf_training_text.py --text wiki-paragraphs.txt.xz --out docs/img/zipf.svg

Counts of latent terms ship with the vocabularies; words are counted here, each paragraph being a document.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from texts import read_lines

from zipfian.evaluate.zipf import zipf_report, zipf_table
from zipfian.evaluate.zipf_collection import vocabulary_report
from zipfian.evaluate.zipf_plot import plot_zipf
from zipfian.vocabulary import Words
from zipfian.vocabulary.sae import SaeVocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--vocabularies", default="text-16k,image-11k")
    parser.add_argument("--out", type=Path, required=True, help=".svg or .png")
    parser.add_argument("--json", type=Path, help="also write the numbers")
    args = parser.parse_args()
    latent = [vocabulary_report(SaeVocabulary.load(name)) for name in args.vocabularies.split(",")]
    texts = read_lines(args.text)
    analyser = Words()
    counts = Counter(term for text in texts for term in set(analyser.terms(text)))
    df = np.array(list(counts.values()), np.int64)
    found = [(zipf_report(df, len(texts), name="words"), df), *(one for one in latent if one is not None)]
    plot_zipf(found, args.out)
    headers, rows = zipf_table([report for report, _ in found])
    for row in [headers, ["---"] * len(headers), *rows]:
        print("| " + " | ".join(row) + " |")
    if args.json:
        args.json.write_text(json.dumps([report.to_dict() for report, _ in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
