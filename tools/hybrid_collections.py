"""Four collections on which the default hybrid was checked beside those that others made.

    python3 tools/hybrid_collections.py --paragraphs wiki-paragraphs.txt.xz --captions flickr8k-captions.jsonl --out DIR

    captions         the first caption of a picture looks for the other four (Flickr8k dev): short texts
    wiki-sentence    the last sentence of a paragraph looks for the rest of it: other words, same subject
    wiki-half        the second half of a paragraph looks for the first: long queries
    wiki-questions   questions written so as to share few words with the paragraph that answers them

Each is a folder that `zipfian eval text` reads. The questions are in `hybrid_questions.json`, by the number of their
paragraph; they were written by a language model that saw the paragraph's beginning, before any of them was searched.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from pathlib import Path

SEED = 7
PARAGRAPHS = 4_000
QUESTIONS = Path(__file__).with_name("hybrid_questions.json")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def write(folder: Path, documents: dict[str, str], queries: dict[str, str], relevant: dict[str, list[str]]) -> None:
    """A BEIR folder."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = (json.dumps({"_id": key, "title": "", "text": text}) for key, text in rows.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    judged = (f"{query}\t{doc}\t1" for query, docs in relevant.items() for doc in docs)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(judged) + "\n")


def paragraphs(path: Path) -> list[list[str]]:
    """Paragraphs of 60 to 220 words as sentences, four or more, in a random order that is always the same."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        found = [line.strip() for line in lines]
    random.Random(SEED).shuffle(found)
    out: list[list[str]] = []
    for text in found:
        sentences = _SENTENCE.split(text)
        if len(sentences) >= 4 and 60 <= len(text.split()) <= 220:
            out.append(sentences)
        if len(out) == PARAGRAPHS:
            break
    return out


def main() -> None:
    """Write all four."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paragraphs", type=Path, required=True)
    parser.add_argument("--captions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    pool = paragraphs(args.paragraphs)
    rest = {f"d{i}": " ".join(sentences[:-1]) for i, sentences in enumerate(pool)}
    last = {f"q{i}": pool[i][-1] for i in range(600) if len(pool[i][-1].split()) >= 8}
    write(args.out / "wiki-sentence", rest, last, {query: [f"d{query[1:]}"] for query in last})
    asked = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    questions = {f"p{i}": text for i, text in asked.items()}
    write(args.out / "wiki-questions", rest, questions, {f"p{i}": [f"d{i}"] for i in asked})
    first = {f"d{i}": " ".join(sentences[: len(sentences) // 2]) for i, sentences in enumerate(pool)}
    second = {f"q{i}": " ".join(pool[i][len(pool[i]) // 2 :]) for i in range(300)}
    write(args.out / "wiki-half", first, second, {query: [f"d{query[1:]}"] for query in second})
    rows = [json.loads(line) for line in args.captions.read_text(encoding="utf-8").splitlines()]
    dev = [row["captions"] for row in rows if row["split"] == "dev"]
    documents = {f"d{i}-{j}": text for i, own in enumerate(dev) for j, text in enumerate(own[1:])}
    queries = {f"q{i}": own[0] for i, own in enumerate(dev[:500])}
    write(
        args.out / "captions",
        documents,
        queries,
        {f"q{i}": [f"d{i}-{j}" for j in range(4)] for i in range(len(queries))},
    )


if __name__ == "__main__":
    main()
