"""Published figures, as printed in the seeds. They stand beside ours only where the dataset is the same."""

from __future__ import annotations

from collections.abc import Mapping

BM25V_TABLE2: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "cub": {
        "dense": (0.767, 0.948, 0.975), "hnsw": (0.768, 0.948, 0.975), "ivfpq": (0.734, 0.918, 0.947),
        "visual": (0.472, 0.738, 0.835), "two-stage-100": (0.744, 0.929, 0.960), "two-stage": (0.755, 0.941, 0.969),
    },
    "cars": {
        "dense": (0.922, 0.988, 0.996), "hnsw": (0.922, 0.988, 0.996), "ivfpq": (0.897, 0.978, 0.987),
        "visual": (0.715, 0.900, 0.946), "two-stage-100": (0.914, 0.983, 0.990), "two-stage": (0.918, 0.985, 0.993),
    },
    "aircraft": {
        "dense": (0.707, 0.915, 0.966), "hnsw": (0.708, 0.915, 0.966), "ivfpq": (0.715, 0.918, 0.958),
        "visual": (0.523, 0.765, 0.851), "two-stage-100": (0.701, 0.908, 0.960), "two-stage": (0.704, 0.914, 0.965),
    },
    "pets": {
        "dense": (0.912, 0.982, 0.990), "hnsw": (0.912, 0.982, 0.990), "ivfpq": (0.915, 0.957, 0.965),
        "visual": (0.771, 0.923, 0.962), "two-stage-100": (0.916, 0.979, 0.988), "two-stage": (0.911, 0.984, 0.991),
    },
    "flowers": {
        "dense": (0.989, 0.997, 0.998), "hnsw": (0.989, 0.997, 0.998), "ivfpq": (0.941, 0.956, 0.958),
        "visual": (0.954, 0.986, 0.993), "two-stage-100": (0.990, 0.997, 0.998), "two-stage": (0.991, 0.997, 0.998),
    },
    "dtd": {
        "dense": (0.762, 0.912, 0.946), "hnsw": (0.762, 0.912, 0.946), "ivfpq": (0.706, 0.847, 0.880),
        "visual": (0.747, 0.888, 0.930), "two-stage-100": (0.769, 0.919, 0.955), "two-stage": (0.769, 0.917, 0.955),
    },
    "food": {
        "dense": (0.954, 0.987, 0.992), "hnsw": (0.954, 0.987, 0.992), "ivfpq": (0.941, 0.974, 0.980),
        "visual": (0.865, 0.947, 0.965), "two-stage-100": (0.946, 0.980, 0.986), "two-stage": (0.950, 0.983, 0.988),
    },
}  # fmt: skip
"""Dataset -> method -> R@1, R@5, R@10."""

BM25V_TABLE3: Mapping[int, tuple[float, float]] = {
    16: (0.508, 35.8), 32: (0.483, 61.7), 64: (0.396, 97.2), 128: (0.038, 140.6),
}  # fmt: skip
"""k -> R@1 and index size in MB, on CUB-200."""

LATENTTERMS_TABLE1: Mapping[str, Mapping[str, float]] = {
    "scifact": {
        "BM25": 0.686, "SPLADE-v2": 0.628, "SPLADE-v2-distil": 0.693, "SPLADE-v3": 0.710, "Contriever": 0.655,
        "Nomic": 0.703, "GTE-MC": 0.756, "BERT + Latent Terms": 0.585, "Contriever + Latent Terms": 0.713,
        "Nomic + Latent Terms": 0.749, "GTE-MC + Latent Terms": 0.730,
    },
    "nfcorpus": {
        "BM25": 0.319, "SPLADE-v2": 0.313, "SPLADE-v2-distil": 0.334, "SPLADE-v3": 0.357, "Contriever": 0.313,
        "Nomic": 0.346, "GTE-MC": 0.381, "BERT + Latent Terms": 0.216, "Contriever + Latent Terms": 0.340,
        "Nomic + Latent Terms": 0.372, "GTE-MC + Latent Terms": 0.374,
    },
}  # fmt: skip
"""Dataset -> method -> nDCG@10."""

LATENTTERMS_TABLE2: Mapping[str, tuple[float, float, float, float]] = {
    "BM25": (0.9440, 0.9490, 0.9645, 0.9945),
    "SPLADE-v3": (0.5760, 0.6650, 0.8095, 0.9440),
    "GTE-MC": (0.8430, 0.8565, 0.8720, 0.8795),
    "Contriever": (0.0210, 0.0265, 0.0530, 0.1250),
    "GTE-MC + Latent Terms": (0.7985, 0.8315, 0.8915, 0.9775),
    "Contriever + Latent Terms": (0.4140, 0.5100, 0.7295, 0.9290),
}
"""Method -> recall@10, 20, 100, 1000 on the full LIMIT set (50,000 documents)."""

LATENTTERMS_TABLE5: Mapping[int, tuple[float, float]] = {
    0: (0.4095, 0.3586), 1: (0.4053, 0.3546), 5: (0.3904, 0.3409), 10: (0.3755, 0.3272),
}  # fmt: skip
"""Percent of terms pruned -> nDCG@10, MRR@10 on MS MARCO."""

LATENTTERMS_TABLE7: Mapping[str, tuple[float, float]] = {"scifact": (0.749, 0.747), "nfcorpus": (0.372, 0.371)}
"""Dataset -> tuned, untuned nDCG@10 (Nomic)."""

HYBRIDVL: Mapping[str, float] = {
    "karpathy_i2t": 0.939, "karpathy_t2i": 0.870,
    "val_baseline_i2t": 0.864, "val_baseline_t2i": 0.850, "val_rerank_i2t": 0.987, "val_rerank_t2i": 0.986,
    "loo_clip": 0.827, "loo_fusion": 0.847, "loo_p": 0.0079, "loo_d": 2.20, "alpha": 0.80,
}  # fmt: skip
"""R@10 on MS-COCO: another dataset than ours, so these are context, not a comparison."""

HYBRIDVL_FIGURE6: Mapping[str, float] = {
    "flat": 0.828, "ivf-flat": 0.352, "ivf-pq": 0.278, "opq64+pq64": 0.121, "hnsw32": 0.383,
}  # fmt: skip
"""Index -> R@10 on MS-COCO."""
