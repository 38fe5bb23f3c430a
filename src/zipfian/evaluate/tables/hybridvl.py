"""Hybrid VL (hybrid vision-language retrieval): Figures 2 to 5 and 8, Tables 2 and 3, the sweeps over tau and K."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.evaluate import measures
from zipfian.evaluate.build import built
from zipfian.evaluate.datasets import CaptionSet, load_captions, take_half
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.failures import CLASSES, sort_failures
from zipfian.evaluate.lab import Options, compare_captions, compare_loo
from zipfian.evaluate.matrix import blend, score_matrix
from zipfian.evaluate.protocols import Task, karpathy, val_only
from zipfian.evaluate.refine import TAU, VARIANTS, Pool, load_pool, refine
from zipfian.evaluate.tables.base import Context, Made, Table
from zipfian.evaluate.tables.paper import HYBRIDVL
from zipfian.evaluate.tables.plots import Plot
from zipfian.retrieve.scoring import TfIdf

COCO = "published on MS-COCO with a fine-tuned CLIP ViT-B/32: another dataset and encoder, given as context only"
ALPHAS = tuple(i / 20 for i in range(21))
ALPHA = 0.8
TAUS = (0.01, 0.03, 0.05, 0.07, 0.1, 0.2, 0.5, 1.0)
POOLS = (10, 50, 100, 200)
DATA = ("captions", "images", "split")
GIVEAWAY = "with captions (giveaway)"
OTHERS = "other captions"
KEYS = ("r@1", "r@5", "r@10", "mrr", "ndcg_exp@10")


def _captions(context: Context) -> CaptionSet:
    return load_captions(context.path("captions"), context.path("images"), context.text("split", "test"))


def figure2(context: Context) -> Made:
    """Loss and directional recall by epoch, from the log that training wrote."""
    path = context.path("log")
    try:
        data = json.loads(path.read_text("utf-8"))
        epochs = data["epochs"] if isinstance(data, dict) else data
        rows = [dict(row) for row in epochs]
        columns = list(rows[0])
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InvalidInput(f"{path}: not a training log: a list of epochs as JSON objects ({error!r})") from None
    numbers = [c for c in columns if c != "epoch" and isinstance(rows[0][c], int | float)]
    x = [row.get("epoch", i + 1) for i, row in enumerate(rows)]
    plots = {}
    for kind, wanted in (("loss", [c for c in numbers if "loss" in c]), ("recall", [c for c in numbers if "r@" in c])):
        if wanted:
            series = {
                c: [(x[i], float(row[c])) for i, row in enumerate(rows) if row.get(c) is not None] for c in wanted
            }
            plots[f"hybridvl-figure2-{kind}"] = Plot(f"Training: {kind}", "epoch", kind, series)
    note = "published at the end (COCO): image to text R@10 .928, text to image .834"
    return Made("hybridvl-figure2", "Hybrid VL, Figure 2: training", columns, rows, (note,), plots=plots)


def _variants(task: Task, context: Context, label: str, captions: CaptionSet, own: int = 0) -> list[dict[str, Any]]:
    """One row per way to rank; `own` is the caption that stands for a query picture's text."""
    rows = []
    for direction, dataset in task.items():
        pool, base = _pool(dataset, context, captions, own)
        found = {"coarse": pool.fused.run(), "dense alone": pool.cross.run()}
        for variant in VARIANTS:
            found[f"rerank {variant}"] = refine(pool, variant=variant).run
        for method, run in found.items():
            values = measures.means(measures.evaluate(run, dataset.qrels, KEYS))
            rows.append({"gallery": label, "direction": direction, "method": method, "coarse stage": base, **values})
    return rows


def _pool(dataset: Dataset, context: Context, captions: CaptionSet, own: int = 0) -> tuple[Pool, str]:
    """The coarse stage: fusion where the gallery has texts to match words with, dense where it has none."""
    texts = {p.id: p.captions[own] for p in captions.pictures}
    has_text = any(item.get("text") for item in dataset.documents())
    legs = ["aligned", "words", "dense"] if has_text else ["aligned"]
    with built(dataset, legs, context.work) as collection:
        return load_pool(collection, dataset, texts, ALPHA), "fusion" if has_text else "dense"


def figure3(context: Context) -> Made:
    """VAL-only: the coarse stage against the reranker's variants, with and without the giveaway caption.

    Where pictures have more captions, also the fair form of the same: no text of the query is in the gallery, but
    another caption of the picture is.
    """
    captions = _captions(context)
    rows = _variants(val_only(captions), context, GIVEAWAY, captions)
    if _several(captions):
        fair: Task = {"t2i": _loo_first(captions)[OTHERS], "i2t": val_only(captions)["i2t"]}
        rows += _variants(fair, context, OTHERS, captions, own=1)
    rows += _variants({"t2i": val_only(captions, gallery_texts=False)["t2i"]}, context, "without captions", captions)
    notes = (
        COCO,
        f"published R@10: coarse i2t {HYBRIDVL['val_baseline_i2t']}, t2i {HYBRIDVL['val_baseline_t2i']}; "
        f"cross+text i2t {HYBRIDVL['val_rerank_i2t']}, t2i {HYBRIDVL['val_rerank_t2i']}",
        "with captions, a query meets itself in the gallery: what text agreement gains there is a giveaway",
        "other captions: t2i asks with a picture's first caption a gallery of its others; i2t asks a gallery of first "
        "captions with the picture and its second caption",
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
    report = compare_captions(karpathy(_captions(context)), names, Options(work=context.work))
    keys = [f"{d}_r@{k}" for d in ("i2t", "t2i") for k in (1, 5, 10)]
    rows: list[dict[str, Any]] = [{"method": m, **{k: report.methods[m].get(k) for k in keys}} for m in names]
    paper = {"i2t_r@10": HYBRIDVL["karpathy_i2t"], "t2i_r@10": HYBRIDVL["karpathy_t2i"]}
    rows.append({"method": "paper (COCO, CLIP)", **paper})
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
    return Made(
        "hybridvl-table2",
        "Hybrid VL, Table 2: Karpathy protocol",
        ["method", *keys],
        rows,
        (COCO,),
        plots={"hybridvl-table2": plot},
    )


def figure4(context: Context) -> Made:
    """FAIR-LOO: mean and deviation over the runs, paired test against the best single leg."""
    names = context.text("methods", "words,latent,dense,aligned,translated,fusion,hybrid").split(",")
    runs = int(context.text("runs", "5"))
    summaries = compare_loo(_captions(context), names, runs, options=Options(work=None))
    rows: list[dict[str, Any]] = []
    for method in names:
        row: dict[str, Any] = {"method": method}
        for key, summary in summaries.items():
            test = summary.tests.get(method)
            row |= {
                key: summary.mean(method),
                f"{key} deviation": summary.deviation(method),
                f"{key} p": test.p if test else None,
                f"{key} d": test.cohens_d if test else None,
            }
        rows.append(row)
    first = next(iter(summaries.values()))
    notes = (
        COCO,
        f"tested against {first.reference}, the best single leg of these runs: paired t-test, {runs} runs",
        f"published R@10: CLIP {HYBRIDVL['loo_clip']}, fusion {HYBRIDVL['loo_fusion']}, p {HYBRIDVL['loo_p']}, "
        f"d {HYBRIDVL['loo_d']}",
    )
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


def figure5(context: Context) -> Made:
    """The fusion weight alpha, swept in steps of 0.05: chosen on the even half of the queries, shown on the odd."""
    captions = _captions(context)
    rows: list[dict[str, Any]] = []
    chosen: dict[str, float] = {}
    for label, dataset in _loo_first(captions).items():
        with built(dataset, ["aligned", "words"], context.work) as collection:
            dense = score_matrix(collection, "aligned", dataset)
            sparse = score_matrix(collection, "words", dataset, TfIdf())
        halves = {h: take_half(dataset, h).qrels for h in ("even", "odd")}
        for alpha in ALPHAS:
            run = blend([(alpha, dense), (1 - alpha, sparse)]).run(10)
            row: dict[str, Any] = {"gallery": label, "alpha": alpha}
            for half, qrels in halves.items():
                row[f"R@10 {half}"] = measures.means(measures.evaluate(run, qrels, ["r@10"]))["r@10"]
            rows.append(row)
        best = max((r for r in rows if r["gallery"] == label), key=lambda r: r["R@10 even"])
        chosen[label] = best["alpha"]
    notes = [COCO, f"published optimum: alpha {HYBRIDVL['alpha']}"]
    notes += [f"{label}: best on the even half is alpha {alpha}" for label, alpha in chosen.items()]
    series = {f"{g}, odd half": [(r["alpha"], r["R@10 odd"]) for r in rows if r["gallery"] == g] for g in chosen}
    plot = Plot("Fusion weight", "alpha (share of dense)", "R@10", series, marks={"published": HYBRIDVL["alpha"]})
    return Made(
        "hybridvl-figure5",
        "Hybrid VL, Figure 5: fusion weight",
        ["gallery", "alpha", "R@10 even", "R@10 odd"],
        rows,
        notes,
        plots={"hybridvl-figure5": plot},
        settings={"chosen": chosen},
    )


def _loo_first(captions: CaptionSet) -> Mapping[str, Dataset]:
    """The first caption asks: once with itself in the gallery, once with only the other captions there."""
    from zipfian.evaluate.protocols.captions import caption_id, joined, pictures_by_text

    queries = {caption_id(p, 0): (p, p.captions[0]) for p in captions.pictures}
    out = {GIVEAWAY: val_only(captions)["t2i"]}
    if _several(captions):
        texts = {p.id: joined(p.captions[1:]) for p in captions.pictures}
        name = f"{captions.name}-{captions.split}-other-captions"
        out[OTHERS] = pictures_by_text(captions, queries, texts, name, "the query is in no text")
    return out


def _several(captions: CaptionSet) -> bool:
    return all(len(p.captions) > 1 for p in captions.pictures)


def sweeps(context: Context) -> Made:
    """The reranker's temperature tau, and its pool K with latency; plots show the fair gallery where there is one."""
    captions = _captions(context)
    rows: list[dict[str, Any]] = []
    for label, dataset in _loo_first(captions).items():
        pool, _ = _pool(dataset, context, captions)
        settings = [("tau", v, tau, 100) for v in VARIANTS for tau in TAUS]
        settings += [("K", v, TAU, size) for v in VARIANTS for size in POOLS]
        for sweep, variant, tau, size in settings:
            found = refine(pool, size=size, tau=tau, variant=variant)
            values = measures.means(measures.evaluate(found.run, dataset.qrels, KEYS))
            row = {"gallery": label, "sweep": sweep, "variant": variant, "tau": tau, "K": size}
            rows.append({**row, **values, "rerank_ms": found.ms})
    columns = ["gallery", "sweep", "variant", "tau", "K", *KEYS, "rerank_ms"]
    shown = [row for row in rows if row["gallery"] == rows[-1]["gallery"]]
    ms = [(r["K"], r["rerank_ms"]) for r in shown if (r["sweep"], r["variant"]) == ("K", "all")]
    plots = {
        "hybridvl-tau": Plot("Temperature", "tau", "R@10", _series(shown, "tau"), log_x=True, marks={"published": TAU}),
        "hybridvl-k": Plot("Pool size", "K", "R@10", _series(shown, "K")),
        "hybridvl-k-latency": Plot("Pool size", "K", "ms a query", {"all": ms}),
    }
    notes = (COCO, "published: K=50 within .002 of K=100 in R@10; about 6 ms at K=10, 18 at 50, 35 at 100")
    return Made("hybridvl-sweeps", "Hybrid VL: sweeps over tau and K", columns, rows, notes, plots=plots)


def _series(rows: Sequence[Mapping[str, Any]], sweep: str) -> dict[str, list[tuple[Any, float]]]:
    return {v: [(r[sweep], r["r@10"]) for r in rows if (r["sweep"], r["variant"]) == (sweep, v)] for v in VARIANTS}


def table3(context: Context) -> Made:
    """Headline results: VAL-only coarse and reranked, FAIR-LOO dense and fused."""
    val = [r for r in figure3(context).rows if r["method"] in ("coarse", "dense alone", "rerank cross+text")]
    loo = figure4(context)
    rows: list[dict[str, Any]] = []
    paper = {
        ("dense alone", "i2t"): "val_baseline_i2t",
        ("dense alone", "t2i"): "val_baseline_t2i",
        ("rerank cross+text", "i2t"): "val_rerank_i2t",
        ("rerank cross+text", "t2i"): "val_rerank_t2i",
    }
    for row in val:
        published = row["gallery"] == GIVEAWAY  # the paper's own setting
        key = paper.get((row["method"], row["direction"])) if published else None
        rows.append(
            {
                "setting": f"VAL-only, {row['gallery']}",
                "method": row["method"],
                "direction": row["direction"],
                "R@10": row["r@10"],
                "R@10 paper (COCO)": HYBRIDVL[key] if key else None,
            }
        )
    for row in loo.rows:
        key = {"aligned": "loo_clip", "fusion": "loo_fusion"}.get(row["method"])
        rows.append(
            {
                "setting": "FAIR-LOO",
                "method": row["method"],
                "direction": "t2i",
                "R@10": row["r@10"],
                "R@10 paper (COCO)": HYBRIDVL[key] if key else None,
                "p": row["r@10 p"],
                "d": row["r@10 d"],
            }
        )
    columns = ["setting", "method", "direction", "R@10", "R@10 paper (COCO)", "p", "d"]
    return Made("hybridvl-table3", "Hybrid VL, Table 3: headline results", columns, rows, loo.notes)


def figure8(context: Context) -> Made:
    """Failures of dense, fused and reranked text-to-image search, sorted into five classes, with examples.

    In the gallery of other captions where there are any: beside its own caption hardly a query fails.
    """
    captions = _captions(context)
    label, dataset = list(_loo_first(captions).items())[-1]
    pool, _ = _pool(dataset, context, captions)
    runs = {
        "dense": pool.cross.run(),
        "fusion": pool.fused.run(),
        "rerank cross+text": refine(pool, variant="cross+text").run,
    }
    queries = {q: query.text or "" for q, query in dataset.queries.items()}
    targets = {q: next(iter(grades)) for q, grades in dataset.qrels.items()}
    others = {p.id: p.captions[1:] or p.captions for p in captions.pictures}
    rows: list[dict[str, Any]] = []
    examples: dict[str, Any] = {}
    for name, run in runs.items():
        found = sort_failures(run, queries, targets, others)
        rows.append(
            {
                "method": name,
                "queries": found.queries,
                "failures": len(found.failures),
                **{str(k): v for k, v in found.counts().items()},
            }
        )
        examples[name] = [vars_of(f) for f in found.examples()]
    plot = Plot("Failures", "", "queries", {r["method"]: [(c, float(r[c])) for c in CLASSES] for r in rows}, "bar")
    notes = (
        f"gallery: {label}; classes by the rules of evaluate/failures.py, from the captions alone; examples are in "
        "the JSON file",
        *(f"{e['kind']}: “{e['text']}” found {e['instead']} ({e['why']})" for e in examples["dense"][:10]),
    )
    return Made(
        "hybridvl-figure8",
        "Hybrid VL, Figure 8: errors",
        list(rows[0]),
        rows,
        notes,
        plots={"hybridvl-figure8": plot},
        settings={"examples": examples},
    )


def vars_of(failure: Any) -> dict[str, Any]:
    """A failure as plain values."""
    from dataclasses import asdict

    out: dict[str, Any] = asdict(failure)
    return out


TABLES = (
    Table("hybridvl-figure2", "training curves from a log", ("log",), figure2),
    Table("hybridvl-figure3", "VAL-only: coarse stage and reranker variants", DATA, figure3),
    Table("hybridvl-table2", "Karpathy protocol, both directions", (*DATA, "methods"), table2),
    Table("hybridvl-figure4", "FAIR-LOO with paired test", (*DATA, "methods", "runs"), figure4),
    Table("hybridvl-figure5", "fusion weight alpha, 0 to 1 by 0.05", DATA, figure5),
    Table("hybridvl-sweeps", "reranker: tau and K = 10, 50, 100, 200 with latency", DATA, sweeps),
    Table("hybridvl-table3", "headline results", (*DATA, "methods", "runs"), table3),
    Table("hybridvl-figure8", "errors in five classes, with examples", DATA, figure8),
)
