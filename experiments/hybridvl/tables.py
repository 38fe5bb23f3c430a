"""Hybrid VL (hybrid vision-language retrieval): Figures 2 to 4, Tables 2 and 3."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiments import limits
from experiments.base import Brief, Context, Made, Table, cell
from experiments.hybridvl.data import (
    COCO,
    DATA,
    GIVEAWAY,
    KEYS,
    OTHERS,
    caption_set,
    coarse_stage,
    loo_first,
    several,
)
from experiments.hybridvl.refine import VARIANTS, refine
from experiments.paper import HYBRIDVL
from experiments.plots import Plot
from zipfian.errors import InvalidInput
from zipfian.evaluate import measures
from zipfian.evaluate.compare import Options, compare_captions, compare_loo
from zipfian.evaluate.datasets import CaptionSet
from zipfian.evaluate.methods import METHODS
from zipfian.evaluate.protocols import LooSummary, Task, karpathy, val_only
from zipfian.evaluate.significance import paired

CROSS = "aligned"
"""What stands for the paper's dual encoder: one space of texts and pictures."""
LOO_METHODS = "words,latent,dense,aligned,translated,fusion,hybrid"


def figure2(context: Context) -> Made:
    """Loss and directional recall by epoch, from the log that training wrote."""
    path = context.path("log")
    try:
        rows = list(_epochs(_read_log(path)))
        columns = list(rows[0])
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidInput(
            f"{path}: not a training log: a list of epochs as JSON objects, alone or under `epochs`, `history` or "
            f"`members` ({error!r})"
        ) from None
    numbers = [c for c in columns if c not in ("epoch", "head") and isinstance(rows[0][c], int | float)]
    heads = list(dict.fromkeys(row.get("head") for row in rows))
    plots = {}
    for kind, wanted in (("loss", [c for c in numbers if "loss" in c]), ("recall", [c for c in numbers if "r@" in c])):
        series: dict[str, list[tuple[Any, float]]] = {}
        for column in wanted:
            for head in heads[:1] if kind == "recall" else heads:
                part = [row for row in rows if row.get("head") == head and row.get(column) is not None]
                name = column if head is None or kind == "recall" else f"{column}, head {head}"
                series[name] = [(row["epoch"], float(row[column])) for row in part]
        if series:
            plots[f"hybridvl-figure2-{kind}"] = Plot(f"Training: {kind}", "epoch", kind, series)
    last = [row for i, row in enumerate(rows) if i + 1 == len(rows) or rows[i + 1].get("head") != row.get("head")]
    notes = [
        "recall is on the dev split, after each epoch; the test split was not looked at in training",
        COCO,
        "published at the end of training: image to text R@10 .928, text to image .834",
    ]
    if len(heads) > 1:
        notes.insert(
            0, f"{len(heads)} pairs of heads from {len(heads)} seeds, used together; recall is drawn of the first"
        )
    return Made(
        "hybridvl-figure2",
        "Hybrid VL, Figure 2: training",
        columns,
        rows,
        notes,
        plots=plots,
        brief=Brief(columns, last, "the last epoch of each") if len(rows) > len(last) else None,
    )


def _read_log(path: Path) -> Any:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            data = file.read(limits.MAX_LOG_BYTES + 1)
    else:
        data = path.read_bytes()[: limits.MAX_LOG_BYTES + 1]
    if len(data) > limits.MAX_LOG_BYTES:
        raise ValueError(f"more than {limits.MAX_LOG_BYTES:,} bytes")
    return json.loads(data)


def _epochs(data: Any) -> Iterator[dict[str, Any]]:
    """Flat rows, one for each epoch: of a list, of one history, or of several heads trained alike."""
    if isinstance(data, Mapping) and "members" in data:
        for head, member in data["members"].items():
            for row in _epochs(member):
                yield {"head": head, **row}
        return
    rows = data.get("epochs", data.get("history")) if isinstance(data, Mapping) else data
    for i, row in enumerate(rows):
        flat: dict[str, Any] = {"epoch": row.get("epoch", i)}
        for key, value in row.items():
            if isinstance(value, Mapping):  # {"t2i": {"1": ..., "5": ...}}
                flat |= {f"{key}_r@{cutoff}": found for cutoff, found in value.items()}
            else:
                flat[key] = value
        yield flat


def _variants(task: Task, context: Context, label: str, captions: CaptionSet, own: int = 0) -> list[dict[str, Any]]:
    """One row per way to rank; `own` is the caption that stands for a query picture's text."""
    rows = []
    for direction, dataset in task.items():
        pool, base = coarse_stage(dataset, context, captions, own)
        found = {"coarse": pool.fused.run(), "dense alone": pool.cross.run()}
        for variant in VARIANTS:
            found[f"rerank {variant}"] = refine(pool, variant=variant).run
        for method, run in found.items():
            values = measures.means(measures.evaluate(run, dataset.qrels, KEYS))
            rows.append({"gallery": label, "direction": direction, "method": method, "coarse stage": base, **values})
    return rows


def figure3(context: Context) -> Made:
    """VAL-only: the coarse stage against the reranker's variants, with and without the giveaway caption.

    Where pictures have more captions, also the fair form of the same: no text of the query is in the gallery, but
    another caption of the picture is.
    """
    captions = caption_set(context)
    rows = _variants(val_only(captions), context, GIVEAWAY, captions)
    if several(captions):
        fair: Task = {"t2i": loo_first(captions)[OTHERS], "i2t": val_only(captions)["i2t"]}
        rows += _variants(fair, context, OTHERS, captions, own=1)
    rows += _variants({"t2i": val_only(captions, gallery_texts=False)["t2i"]}, context, "without captions", captions)
    notes = (
        "coarse: 0.8 x dense cosine + 0.2 x TF-IDF where the gallery has texts (of all words, as published), else "
        "dense alone; K=100, tau=0.07; ndcg_exp has the gain 2^rel - 1",
        "with captions, a query meets itself in the gallery: what words and text agreement gain there is a giveaway",
        "other captions: t2i asks with a picture's first caption a gallery of its others; i2t asks a gallery of first "
        "captions with the picture and its second caption",
        COCO,
        f"published R@10, with the giveaway: CLIP alone i2t {HYBRIDVL['val_baseline_i2t']:.3f}, t2i "
        f"{HYBRIDVL['val_baseline_t2i']:.3f}; cross+text i2t {HYBRIDVL['val_rerank_i2t']:.3f}, t2i "
        f"{HYBRIDVL['val_rerank_t2i']:.3f}",
    )
    series = {
        f"{d}, {g}": [(r["method"], r["r@10"]) for r in rows if (r["direction"], r["gallery"]) == (d, g)]
        for d, g in dict.fromkeys((r["direction"], r["gallery"]) for r in rows)
    }
    plot = Plot("VAL-only", "", "R@10", series, "bar")
    return Made(
        "hybridvl-figure3",
        "Hybrid VL, Figure 3: VAL-only and reranking",
        ["gallery", "direction", "method", "coarse stage", *KEYS],
        rows,
        notes,
        plots={"hybridvl-figure3": plot},
    )


def table2(context: Context) -> Made:
    """Karpathy protocol: directional recall."""
    names = context.text("methods", "aligned,translated,hybrid").split(",")
    report = compare_captions(karpathy(caption_set(context)), names, Options(work=context.work, timed=False))
    keys = [f"{d}_r@{k}" for d in ("i2t", "t2i") for k in (1, 5, 10)]
    rows: list[dict[str, Any]] = [{"method": m, **{k: report.methods[m].get(k) for k in keys}} for m in names]
    plot = Plot(
        "Karpathy protocol",
        "",
        "R@10",
        {  # a method that only takes texts has no figures of the other direction: no bar, not a bar of nothing
            d: [(m, report.methods[m][f"{d}_r@10"]) for m in names if f"{d}_r@10" in report.methods[m]]
            for d in ("i2t", "t2i")
        },
        "bar",
    )
    notes = (
        "every caption asks for its picture, every picture for any of its captions; no picture carries a text",
        COCO,
        f"published R@10: i2t {HYBRIDVL['karpathy_i2t']:.3f}, t2i {HYBRIDVL['karpathy_t2i']:.3f}. Ours is lower: "
        "6 MB of heads, trained on 6,091 pictures over an image encoder that never saw a text; CLIP saw 400 million "
        "pairs",
    )
    return Made(
        "hybridvl-table2",
        "Hybrid VL, Table 2: Karpathy protocol",
        ["method", *keys],
        rows,
        notes,
        plots={"hybridvl-table2": plot},
    )


def figure4(context: Context) -> Made:
    """FAIR-LOO: mean and deviation over the runs, paired test against the best single field."""
    names = context.text("methods", LOO_METHODS).split(",")
    runs = int(context.text("runs", "5"))
    summaries = compare_loo(caption_set(context), names, runs, options=Options(work=context.work))
    tests = {key: summary.against(summary.reference) for key, summary in summaries.items()}
    rows: list[dict[str, Any]] = []
    for method in names:
        row: dict[str, Any] = {"method": method}
        for key, summary in summaries.items():
            test = tests[key].get(method)
            row |= {
                key: summary.mean(method),
                f"{key} deviation": summary.deviation(method),
                f"{key} p": test.p_runs if test else None,
                f"{key} d": test.runs.cohens_d if test else None,
                f"{key} queries p": test.p_queries if test else None,
            }
        rows.append(row)
    first = next(iter(summaries.values()))
    notes = [
        "text to picture; in run r caption r asks and is in no text of the gallery",
        f"p and d: against {first.reference}, the best single field of these runs, paired t-test over the {runs} runs; "
        "queries p: over all queries. Both p are corrected for the number of methods (Holm); so few runs find only "
        "large effects",
        *_published_test(summaries),
        *_against_own(first, "hybrid"),
        COCO,
        f"published R@10: CLIP {HYBRIDVL['loo_clip']:.3f}, fusion {HYBRIDVL['loo_fusion']:.3f}, p {HYBRIDVL['loo_p']}, "
        f"d {HYBRIDVL['loo_d']:.2f}",
    ]
    plot = Plot(
        "FAIR-LOO",
        "",
        "mean over runs",
        {k: [(r["method"], r[k]) for r in rows] for k in summaries},
        "bar",
        deviations={k: [r[f"{k} deviation"] for r in rows] for k in summaries},
    )
    return Made(
        "hybridvl-figure4",
        "Hybrid VL, Figure 4: FAIR-LOO",
        list(rows[0]),
        rows,
        notes,
        plots={"hybridvl-figure4": plot},
        settings={"runs": {k: s.to_json() for k, s in summaries.items()}},
    )


def _published_test(summaries: Mapping[str, LooSummary]) -> Iterator[str]:
    """The paper's comparison: the weighted sum against the dense field that it is made of, one test a measure."""
    for measure, summary in summaries.items():
        if CROSS in summary.values and "fusion" in summary.values:
            test = summary.against(CROSS)["fusion"]
            over = test.queries
            yield (
                f"the paper's own test, fusion against the cross-modal vectors ({CROSS}): {test.runs.difference:+.4f} "
                f"in {measure}, p {cell('p', test.runs.p)}, d {test.runs.cohens_d:.2f} over the runs"
                + ("" if over is None else f"; p {cell('p', over.p)} over the {over.n:,} queries")
            )


def _against_own(summary: LooSummary, name: str) -> Iterator[str]:
    """A fusion against the best of the fields it is made of, which need not be the best field there is."""
    if name not in summary.values:
        return
    own = [field for field in METHODS[name].fields_for("caption") if field in summary.values]
    if own:
        best = max(own, key=summary.mean)
        if best == summary.reference:  # the table has it
            return
        test = paired(summary.values[best], summary.values[name])
        yield (
            f"{name} against {best}, the best of its own fields: {test.difference:+.4f} in {summary.measure}, "
            f"p {test.p:.4f}, d {test.cohens_d:.2f}"
        )


def table3(context: Context) -> Made:
    """Headline results: VAL-only coarse and reranked, FAIR-LOO dense and fused."""
    val = [r for r in figure3(context).rows if r["method"] in ("coarse", "dense alone", "rerank cross+text")]
    loo = figure4(context)
    rows: list[dict[str, Any]] = [
        {
            "setting": f"VAL-only, {row['gallery']}",
            "method": row["method"],
            "direction": row["direction"],
            "R@10": row["r@10"],
        }
        for row in val
    ]
    for row in loo.rows:
        found = {"R@10": row["r@10"], "p": row["r@10 p"], "d": row["r@10 d"], "queries p": row["r@10 queries p"]}
        rows.append({"setting": "FAIR-LOO", "method": row["method"], "direction": "t2i", **found})
    notes = (
        *loo.notes,
        f"published R@10, VAL-only with the giveaway: dense i2t {HYBRIDVL['val_baseline_i2t']:.3f}, t2i "
        f"{HYBRIDVL['val_baseline_t2i']:.3f}; reranked i2t {HYBRIDVL['val_rerank_i2t']:.3f}, t2i "
        f"{HYBRIDVL['val_rerank_t2i']:.3f}",
    )
    columns = ["setting", "method", "direction", "R@10", "p", "d", "queries p"]
    return Made("hybridvl-table3", "Hybrid VL, Table 3: headline results", columns, rows, notes)


TABLES = (
    Table("hybridvl-figure2", "training curves from a log", ("log",), figure2),
    Table("hybridvl-figure3", "VAL-only: coarse stage and reranker variants", DATA, figure3),
    Table("hybridvl-table2", "Karpathy protocol, both directions", (*DATA, "methods"), table2),
    Table("hybridvl-figure4", "FAIR-LOO with paired test", (*DATA, "methods", "runs"), figure4),
    Table("hybridvl-table3", "headline results", (*DATA, "methods", "runs"), table3),
)
