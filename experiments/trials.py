"""Autoencoders by many recipes and lessons of a teacher: tables of what the training tools found on a GPU."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from experiments.base import Context, Made, Row, Table
from zipfian.errors import InvalidInput

CHOOSING = ("scifact", "cisi", "cacm", "limit-small")
MEASURED = ("nfcorpus", "checkthat2020", "liveqa-med")
"""Collections that no choice looks at."""
SHOWN = ("scifact", "mean of four", *MEASURED)
USES = {"paper": "paper's", "paper, max": "paper's, max", "package": "package's"}
ELSEWHERE = "Trained and measured on one NVIDIA H200, documents cut at 512 word pieces."

NOTES = (
    f"{ELSEWHERE} nDCG@10; mean of four: SciFact, CISI, CACM and LIMIT-small; the other three chose nothing. "
    "Training text: the Wikipedia paragraphs without every tenth.",
    "Use `paper's`: k terms a piece as trained, all of them, summed, BM25 k1=8 b=.7 sqrt; `package's`: 3 terms a "
    "piece, the 250 heaviest, k1=4 b=.7 power .65. 32,768 terms with k=16 is the recipe of Latent Terms; 6,144 "
    "(16 x 384) with an L1 penalty the older one.",
    "More terms in the vocabulary help at the same postings: 32,768 with k=8 have .661 where 16,384 have .650 (three "
    "seeds of each, three passes, package's use). More than 8 terms a piece while training cost retrieval in the "
    "package's use although they rebuild the vectors better. The maximum in place of the sum loses nearly everywhere.",
    "The package's use was chosen on the four. On the three that chose nothing the paper's keeps two to eleven times "
    "the postings and is ahead: of short texts, 3 terms a piece are few.",
    "The last layer of the encoder that was trained for retrieval is where the terms are: earlier blocks lose 4 to 9 "
    "points of the four, an encoder that was never trained most. What is left of them is the words themselves.",
    "BatchTopK, JumpReLU and L1 were trained without the revival of silent terms that the top-k autoencoder has "
    "(AuxK), for one pass over the text: their rows say what the plain recipes give in that time, not what they "
    "could reach.",
)
LESSONS = (
    f"{ELSEWHERE} nDCG@10 in the package's use; even and odd: halves of the queries of SciFact, CISI, CACM and "
    "LIMIT-small. `before`: nothing taught; sae=-1 is text-16k, sae=0 a new one from nine tenths of the text.",
    "Lessons: 442,095 questions cut out of 147,365 Wikipedia paragraphs (a sentence, a stretch, its rare words), "
    "paragraphs ranked by the sum of z-scores of words, latent terms and gte-small (`dense`: gte-small alone), the "
    "paragraph itself left out; the order of 16 of the best 400 is learned (Kullback-Leibler), 10 % of the loss "
    "asks for the paragraph itself (`own`: as much as the lessons; `own3`: three times).",
    "The lessons are learned (the loss falls from 1.16 to .84) and do not carry over: no trial is better than "
    "`before` by more than the seeds of a training differ. Nothing of it ships.",
    "Weights of word pieces by their idf, by their cosine with the text's vector or by their length, in questions, "
    "documents or both, change nothing either (the last rows).",
)


def scores(by: Mapping[str, Mapping[str, float]], half: str = "all") -> dict[str, float]:
    """nDCG@10 of the collections that are shown, and the mean of the four."""
    found = {name: by[name][half] for name in ("scifact", *MEASURED)}
    return {**found, "mean of four": mean(by[name][half] for name in CHOOSING)}


def recipe_of(name: str) -> tuple[str, str]:
    """A line of the plan without its seed, and what is behind its @."""
    settings, _, other = name.partition("@")
    return "-".join(part for part in settings.split("-") if not part.startswith("s")), other


WORDS = {
    "": "top-k", "batch": "BatchTopK", "jump:8": "JumpReLU", "l1:3": "ReLU, L1 of 3", "l1:10": "ReLU, L1 of 10",
    "layer:0": "top-k on block 1 of 6", "layer:2": "top-k on block 3 of 6", "layer:4": "top-k on block 5 of 6",
    "random": "top-k on an encoder that was never trained",
}  # fmt: skip


def recipes(context: Context) -> Made:
    """Every recipe in every use; seeds of one recipe are averaged."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for path in files(context):
        found = read(path)
        for row in found["rows"]:
            groups.setdefault((found["epochs"], *recipe_of(row["name"])), []).append(row)
    rows: list[Row] = []
    for (epochs, _, other), same in groups.items():
        settings = same[0]["settings"]
        for use, title in USES.items():
            each = [scores(row["uses"][use]["by"]) for row in same]
            four = [found["mean of four"] for found in each]
            rows.append(
                {
                    "autoencoder": WORDS.get(other, other), "terms": settings["width"], "k": settings["k"],
                    "epochs": f"{epochs:g}", "use": title, "seeds": len(same),
                    **{name: mean(found[name] for found in each) for name in SHOWN},
                    "of seeds": f"{min(four):.3f} to {max(four):.3f}" if len(same) > 1 else "",
                    "postings": mean(row["uses"][use]["by"]["scifact"]["postings"] for row in same),
                    "unexplained": mean(row["fvu"] for row in same),
                    "train_s": mean(row["seconds"] for row in same),
                }
            )  # fmt: skip
    return Made(
        name="recipes",
        title="Vocabularies by recipe",
        columns=(
            "autoencoder", "terms", "k", "epochs", "use", "seeds", *SHOWN,
            "of seeds", "postings", "unexplained", "train_s",
        ),
        rows=rows,
        notes=NOTES,
    )  # fmt: skip


def teaching(context: Context) -> Made:
    """Every lesson beside the vocabulary it started from."""
    rows: list[Row] = []
    for path in files(context):
        for row in read(path)["rows"]:
            said = row.get("settings", {})
            rows.append(
                {
                    "trial": row["name"], "queries": row.get("queries", "encoder"), "changed": changed(row, said),
                    "even": row["even"], "odd": row["odd"], **scores(row["by"]),
                    "postings": row["by"]["scifact"].get("postings"), "train_s": row.get("seconds"),
                }
            )  # fmt: skip
    return Made(
        name="teaching",
        title="A vocabulary taught by a teacher",
        columns=("trial", "queries", "changed", "even", "odd", *SHOWN, "postings", "train_s"),
        rows=rows,
        notes=LESSONS,
    )  # fmt: skip


def files(context: Context) -> list[Path]:
    """What the training tools wrote, in the order it was given."""
    return list(context.all("trials-").values()) or [context.path("trials-1")]


def changed(row: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """What a trial moved, in words."""
    if "docs" in row:
        parts = [f"{side}: {kind} to the power {power:g}" for side, (kind, power) in
                 (("documents", row["docs"]), ("questions", row["queries_by"])) if power]  # fmt: skip
        return "; ".join(parts) or "nothing"
    if row["name"].startswith("before"):
        return "nothing"
    if row.get("queries") == "table":
        return f"query table: {row['name'].split()[-1]}"
    parts = [f"projection at {said['rate']:g}"] if said.get("rate") else []
    parts += [f"worth of terms at {said['gain_rate']:g}"] if said.get("gain_rate") else []
    return f"{' and '.join(parts) or 'nothing'}, {said['steps']:,} steps"


def read(path: Path) -> dict[str, Any]:
    """What a training tool wrote, packed or not; a bare list is its rows."""
    opened: Iterable[str]
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as opened:
        try:
            found = json.loads("".join(opened))
        except ValueError as error:
            raise InvalidInput(f"{path}: not JSON ({error})") from None
    return {"rows": found} if isinstance(found, list) else dict(found)


TABLES: Sequence[Table] = (
    Table("recipes", "autoencoders by many recipes, measured alike", ("trials-NAME",), recipes),
    Table("teaching", "a vocabulary that learns from a teacher, trial by trial", ("trials-NAME",), teaching),
)
