"""The caption protocols over toy encoders and heads: texts find pictures, pictures find texts."""

from __future__ import annotations

import pytest

from zipfian.errors import InvalidInput
from zipfian.evaluate.compare import Options, compare_captions, compare_loo
from zipfian.evaluate.datasets import CaptionSet
from zipfian.evaluate.protocols import karpathy, val_only

QUIET = Options(timed=False, measures=("r@1", "r@5"))


def test_both_directions_of_every_method(photos: CaptionSet) -> None:
    names = ["aligned", "translated", "hybrid", "rrf", "fusion", "training-free", "training-free:paper"]
    found = compare_captions(karpathy(photos), names, QUIET).methods
    for way in ("t2i", "i2t"):
        assert found["aligned"][f"{way}_r@1"] >= 0.6  # "dog" and "puppy" are one direction to the toys
        assert found["hybrid"][f"{way}_r@5"] >= 0.8  # of 25 captions, five of which the toys cannot tell apart
        for name in names[-2:]:
            assert found[name][f"{way}_r@1"] == found["aligned"][f"{way}_r@1"]  # no texts: cross-modal alone
    assert not any(key.startswith("i2t") for key in found["fusion"])
    assert found["translated"]["t2i_postings"] > 0
    assert found["hybrid"]["index_bytes"] > found["translated"]["index_bytes"] > 0


def test_text_methods_are_refused_where_pictures_have_no_texts(photos: CaptionSet) -> None:
    for name in ("words", "latent", "dense", "tfidf"):
        with pytest.raises(InvalidInput, match=f"'{name}' reads texts, .*karpathy-t2i are searched without any"):
            compare_captions(karpathy(photos), ["aligned", name], QUIET)
    with pytest.raises(InvalidInput, match="take a protocol with captions"):
        compare_captions(val_only(photos, gallery_texts=False), ["words"], QUIET)
    assert compare_captions(val_only(photos), ["words"], QUIET).methods["words"]["t2i_r@1"] == 1.0


def test_leave_one_out_compares_with_the_best_field_there_is(photos: CaptionSet) -> None:
    names = ["words", "latent", "dense", "aligned", "translated", "hybrid"]
    found = compare_loo(photos, names, options=Options(timed=False))["mrr"]
    assert found.reference in names[:5]
    assert set(found.tests) == set(names) - {found.reference}
    assert found.mean("hybrid") == 1.0  # the other captions name the thing
