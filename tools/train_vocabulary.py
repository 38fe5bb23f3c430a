"""Train vocabularies of texts or of pictures on one GPU and measure them, keeping everything on the device.

    PYTHONPATH=src python3 tools/train_vocabulary.py --kind text --model FOLDER --text wiki-paragraphs.txt.xz \
        --collections FOLDER --work WORK --out OUT --budget 480
    PYTHONPATH=src python3 tools/train_vocabulary.py --kind image --weights model.safetensors --images FOLDER \
        --images FOLDER --test FOLDER --work WORK --out OUT --budget 480

Needs torch, tokenizers, safetensors, Pillow and numpy only. For texts, FOLDER holds model.safetensors (float16 is
enough) and tokenizer.json of all-MiniLM-L6-v2, and collections are BEIR folders. For pictures, `model.safetensors` is
the converted EfficientNet-Lite2 that `zipfian weights get` keeps, and `--test` holds gallery/CLASS/* and query/CLASS/*.
Settings are chosen on the queries whose id or file name has an even sha1; the odd half reports. `--tiny` rehearses all
of it on a CPU in a minute or two.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from training.image import Images
from training.pipeline import Kind, parser_of, run
from training.plan import Clock
from training.text import Texts

KINDS: dict[str, type[Kind]] = {"text": Texts, "image": Images}


def main(argv: Sequence[str] | None = None) -> None:
    """The kind decides which other arguments there are."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--kind", choices=KINDS, required=True)
    known, rest = first.parse_known_args(argv)
    kind = KINDS[known.kind]
    whole = argparse.ArgumentParser(
        description=__doc__, parents=[first], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    args = parser_of(kind, whole).parse_args(["--kind", known.kind, *rest])
    if args.tiny:
        vars(args).update(kind.TINY, budget=1e9, plan=kind.TINY_PLAN if args.plan is kind.PLAN else args.plan)
    run(kind(args, Clock(args.budget)))


if __name__ == "__main__":
    main()
