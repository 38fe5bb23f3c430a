"""`zipfian train import-sae`: an autoencoder that SAELens or sparsify trained becomes a vocabulary."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from zipfian.cli._output import print_json, printable


def configure(kinds: Any) -> None:
    """Declare the arguments."""
    parser = kinds.add_parser(
        "import-sae",
        help="a vocabulary from an autoencoder that SAELens or sparsify trained",
        description="Write an autoencoder of SAELens or sparsify as a vocabulary, to use with its own encoder.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="cfg.json and the weights beside it")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write")
    parser.add_argument("--name", help="the vocabulary's name (the folder's)")
    parser.add_argument(
        "--stored", choices=("int8", "float16", "float32"), default="int8", help="of the weights (int8)"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(args: argparse.Namespace) -> int:
    """Read, write, say what it is."""
    from zipfian.vocabulary.sae_import import convert_sae

    weights = convert_sae(args.folder, args.out, name=args.name, stored=args.stored)
    source = weights.info["imported_from"]
    if args.json:
        print_json({"out": str(args.out), "from": source, "terms": weights.n_terms, "dim": weights.dim, "k": weights.k})
        return 0
    print(
        f"{printable(str(args.out))}: {weights.n_terms:,} terms of {source} over token vectors of width {weights.dim}, "
        f"{weights.k} a token; ready to use as a vocabulary"
    )
    return 0
