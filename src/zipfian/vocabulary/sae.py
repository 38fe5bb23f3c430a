"""Latent terms: what a sparse autoencoder finds in the token vectors of a frozen encoder.

top-k(ReLU(W (z - mu) / s + b)) for every token, summed (or maximised) over the tokens of an item, and optionally only
the heaviest of those. An item is projected alone: its terms never depend on what else is indexed with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.encode.base import Encoder
from zipfian.encode.on_device import OnDevice
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.objects import JsonObject
from zipfian.types import Encoded, FloatArray, IntArray, Terms, TfKind
from zipfian.vocabulary._sae_files import SaeFiles, check_files
from zipfian.vocabulary._sae_project import Pool
from zipfian.vocabulary.labels import Labels
from zipfian.vocabulary.presets import FieldDefaults, Pooling, preset
from zipfian.vocabulary.pruning import Pruning
from zipfian.vocabulary.query_table import QueryTable

Array = npt.NDArray[Any]

REVISION = 1
"""Counted up when the same vectors may get other terms."""

COMPACT_K = 32
"""Activations of a token worth keeping: any smaller k can be had from them without the encoder."""


class _Unset:
    """For settings whose None means something."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


class SaeVocabulary:
    """Token vectors to latent terms. Make one with `load`; safe to share between threads.

    Examples
    --------
    >>> vocabulary = SaeVocabulary.load("text-16k")
    >>> vocabulary.n_terms, vocabulary.k
    (16384, 3)
    """

    kind: ClassVar[str] = "sae"
    term_kind: ClassVar[Literal["int"]] = "int"
    tf_kind: ClassVar[TfKind] = "fixed"
    version: ClassVar[int] = 1

    def __init__(self, files: SaeFiles, use: FieldDefaults, min_weight: float, preset_name: str | None) -> None:
        self.defaults = use
        """How it is used: k, pooling, k_post, and the scoring measured with them."""
        self.folder = files.folder
        self.name = files.name
        self.n_terms = files.n_terms
        self.dim = files.dim
        self.info = files.info
        """Where it came from: training settings, data, metrics."""
        self.trained_k = int(files.settings["k"])
        if use.k > self.n_terms:
            raise InvalidInput(f"k must be at most the number of terms, {self.n_terms:,}, not {use.k}")
        self.min_weight = Pruning(min_weight=min_weight, top_k=use.k_post).min_weight
        """Least weight of a term of an item."""
        self._files = files
        self._preset = preset_name
        self._pool = Pool(self.n_terms)

    # ------------------------------------------------------------------ making one

    @classmethod
    def load(
        cls, model: str | Path, *, k: int | None = None, k_least: int | None = UNSET, pooling: Pooling | None = None,
        k_post: int | None = UNSET, min_weight: float = 0.0, preset: str | None = None,
    ) -> SaeVocabulary:  # fmt: skip
        """A shipped vocabulary by name, or one in a folder.

        Parameters
        ----------
        k
            Terms of a token; need not be that of the training. Given alone, it holds for short items, too.
        k_least
            Terms of an item wanted at least; short ones take more of each token, up to the k of the training.
        pooling
            `sum` or `max` over the tokens of an item.
        k_post
            Terms of an item at most, the heaviest; None: all.
        min_weight
            Terms of an item below this are dropped.
        preset
            `bm25-v` or `latent-terms`: the settings of that paper instead of the ones recommended for the vocabulary.
        """
        files = SaeFiles(model)
        given = {"k": k, "pooling": pooling}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if k_post is not UNSET:
            changes["k_post"] = k_post
        if k_least is not UNSET or k is not None:
            changes["k_least"] = None if k_least is UNSET else k_least
        return cls(files, _defaults(files.settings, preset).changed(changes), min_weight, preset)

    def to_json(self) -> dict[str, Any]:
        """Settings enough to load it again, and the hashes that prove it is the same."""
        return {
            "kind": self.kind,
            "version": self.version,
            "model": self._files.model,
            "k": self.k,
            "k_least": self.k_least,
            "pooling": self.pooling,
            "k_post": self.k_post,
            "min_weight": self.min_weight,
            "preset": self._preset,
            "sha256": self._files.sha256,
            "table_sha256": self._files.table_sha256,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SaeVocabulary:
        """What `to_json` gave; refused when the files have changed since."""
        found = JsonObject(values, "a latent vocabulary")
        found.choice("kind", [cls.kind])
        found.version(cls.version)
        model, k = found.text("model", limits.MAX_PATH_CHARS), found.whole("k", 1, limits.MAX_SAE_TERMS)
        pooling: Any = found.choice("pooling", ("sum", "max"))
        k_least = found.whole("k_least", 1, limits.MAX_SAE_TERMS) if found.has("k_least") else None
        k_post = found.whole("k_post", 1, limits.MAX_SAE_TERMS) if found.has("k_post") else None
        min_weight = found.number("min_weight", 0.0, limits.MAX_WEIGHT)
        named = found.text("preset") if found.has("preset") else None
        sha256 = found.text("sha256")
        table_sha256 = found.text("table_sha256") if found.has("table_sha256") else None
        found.end()
        check_files(model, sha256, table_sha256)
        use = {"k": k, "k_least": k_least, "pooling": pooling, "k_post": k_post}
        return cls.load(model, **use, min_weight=min_weight, preset=named)

    # ------------------------------------------------------------------ settings

    @property
    def k(self) -> int:
        """Terms of a token at most."""
        return self.defaults.k

    @property
    def k_least(self) -> int | None:
        """Terms of an item wanted at least; None: `k` of each token is all."""
        return self.defaults.k_least

    @property
    def pooling(self) -> Pooling:
        """How the tokens of an item are put together."""
        return self.defaults.pooling

    @property
    def k_post(self) -> int | None:
        """Terms of an item at most."""
        return self.defaults.k_post

    @property
    def fingerprint(self) -> str:
        """Equal for two vocabularies only if they give equal terms for every item and every table query."""
        known = {
            "revision": REVISION, "weights": self._files.sha256, "table": self._files.table_sha256, "k": self.k,
            "pooling": self.pooling, "k_post": self.k_post, "min_weight": self.min_weight,
            "query": (self.defaults.query, self.defaults.query_cap),
        }  # fmt: skip
        if self.k_least is not None:
            known["k_least"] = self.k_least
        digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        return f"sae-{self.version}:{self.name}:{digest[:20]}"

    @property
    def encoder_info(self) -> Mapping[str, Any]:
        """Name, settings and fingerprint of the encoder it was trained for, as far as they are known."""
        return self._files.encoder

    @property
    def encoder_fingerprint(self) -> str | None:
        """Of the encoder it was trained for, with that encoder's default settings."""
        found = self.encoder_info.get("fingerprint")
        return found if isinstance(found, str) else None

    def check_encoder(self, encoder: Encoder[Any]) -> None:
        """Refuse an encoder whose vectors mean something else.

        Settings that only choose which tokens there are (how long texts are cut, the size of a picture) do not matter;
        another network, other layers or another width do.
        """
        self._files.check_encoder(encoder)

    # ------------------------------------------------------------------ items

    def activations(self, vectors: FloatArray, k: int | None = None) -> tuple[IntArray, FloatArray]:
        """(tokens, k): terms and values of each token, strongest first, equal ones by lower id; absent: -1 and 0."""
        k = self.k if k is None else k
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= self.n_terms:
            raise InvalidInput(f"k must be a whole number between 1 and {self.n_terms:,}, not {k!r}")
        vectors = np.asarray(vectors)
        if vectors.ndim != 2 or vectors.dtype.kind != "f":
            raise InvalidInput(f"token vectors are rows of numbers, not {vectors.dtype} of shape {vectors.shape}")
        self._check_width(vectors.shape[1])
        if not len(vectors):
            return np.empty((0, k), np.int32), np.empty((0, k), np.float32)
        return self._files.projection.strongest(np.ascontiguousarray(vectors, dtype=np.float32), k)

    def fired(self, encoded: Encoded, k: int | None = None) -> tuple[IntArray, FloatArray]:
        """The `activations` of an item's tokens; of one whose vectors are on a GPU they are found there."""
        if not isinstance(encoded, OnDevice):
            return self.activations(encoded.vectors, k)
        k = self.k if k is None else k
        matrix = encoded.matrix
        self._check_width(matrix.dim)
        projection = self._files.on_device(matrix.device, matrix.precision)
        return encoded.through((self._files.sha256, k), lambda rows: projection.strongest(rows, k))

    def terms(self, encoded: Encoded) -> Terms:
        """The terms of an item."""
        return self._item(*self._filled(*self.fired(encoded, self._depth)))

    def terms_many(self, items: Sequence[Encoded]) -> list[Terms]:
        """The terms of each item, projected alone."""
        return [self.terms(item) for item in items]

    def evidence(
        self, encoded: Encoded, wanted: Collection[int] | None = None, *, asked: bool = False
    ) -> dict[int, list[tuple[int, float]]]:
        """For each wanted term of the item (by default all it has) the tokens that fired it, strongest first.

        A token counts where the term was among its strongest, as many as `terms` took, or `query` where `asked`; with
        `sum` the strengths add up to the weight.
        """
        found, values = self.fired(encoded, self.k if asked else self._depth)
        if not asked:
            found, values = self._filled(found, values)
        chosen = self._item(found, values).ids if wanted is None else np.asarray(list(wanted), np.int64)
        tokens, places = np.nonzero(np.isin(found, chosen) & (values > 0))
        out: dict[int, list[tuple[int, float]]] = {}
        for token, place in zip(tokens.tolist(), places.tolist(), strict=True):
            out.setdefault(int(found[token, place]), []).append((token, float(values[token, place])))
        return {term: sorted(rows, key=lambda row: (-row[1], row[0])) for term, rows in sorted(out.items())}

    # ------------------------------------------------------------------ the cache's form

    @property
    def compact_form(self) -> str:
        """Names what `compact` makes: other settings of use share it, another autoencoder does not."""
        return f"sae-{REVISION}:{self._files.sha256[:32]}:top-{max(COMPACT_K, self._depth)}"

    def compact(self, encoded: Encoded) -> dict[str, Array]:
        """The strongest activations of every token and where the tokens are: all that any k needs."""
        found, values = self.fired(encoded, min(max(COMPACT_K, self._depth), self.n_terms))
        small = np.uint16 if self.n_terms < 2**16 else np.int32  # absent ones are known by their value, 0
        arrays: dict[str, Array] = {"terms": found.astype(small), "values": values, "places": encoded.places}
        if encoded.grid is not None:
            arrays["grid"] = np.array(encoded.grid, np.int32)
        return arrays

    def from_compact(self, arrays: Mapping[str, Array]) -> Terms:
        """The terms of an item from what `compact` kept; bit for bit those of `terms`."""
        return self._item(*self._filled(*self._kept(arrays, self._depth)))

    def query_compact(self, arrays: Mapping[str, Array]) -> Terms:
        """As `query`, from what `compact` kept."""
        return self._asked(self._pooled(*self._kept(arrays, self.k)))

    def _kept(self, arrays: Mapping[str, Array], k: int) -> tuple[IntArray, FloatArray]:
        try:
            found, values = arrays["terms"], arrays["values"]
        except KeyError as error:
            raise InvalidInput(
                f"the kept arrays lack {error}: they are not what `compact` of {self.name} made"
            ) from None
        if found.shape != values.shape or found.ndim != 2 or (len(found) and found.shape[1] < min(k, self.n_terms)):
            raise InvalidInput(f"kept activations of shapes {found.shape} and {values.shape} do not hold k={k}")
        found, values = found[:, :k].astype(np.int32), values[:, :k].astype(np.float32)
        if (((found < 0) | (found >= self.n_terms)) & (values > 0)).any():
            raise InvalidInput(
                f"kept activations name terms that are not below {self.n_terms:,}: made by another vocabulary"
            )
        return found, values

    # ------------------------------------------------------------------ queries

    def query(self, encoded: Encoded) -> Terms:
        """The terms of a query and their weights, all 1 where this use of the vocabulary is binary."""
        return self._asked(self._pooled(*self.fired(encoded)))

    @property
    def table(self) -> QueryTable | None:
        """From word pieces to terms, where the vocabulary has one."""
        return self._files.table

    def table_terms(self, pieces: IntArray) -> Terms:
        """The terms of a text from its word pieces alone, without the encoder; all of them, with their weights."""
        if self.table is None:
            raise InvalidInput(f"the vocabulary {self.name} has no query table: use query_encoder='encoder'")
        return self._pool(*self.table.rows(pieces))

    def table_query(self, pieces: IntArray) -> Terms:
        """As `query`, from the word pieces alone."""
        return self._asked(self.table_terms(pieces))

    # ------------------------------------------------------------------ what terms mean

    @property
    def labels(self) -> Sequence[str] | None:
        """A readable name for every term, where they ship with the vocabulary."""
        labels = self.label_table
        return None if labels is None else labels.labels

    @property
    def label_table(self) -> Labels | None:
        """Labels and kinds of the terms."""
        return self._files.labels

    def label(self, term: int) -> str:
        """A readable name for a term; its number where there is none."""
        self._check_term(term)
        labels = self.labels
        if labels is not None:
            return labels[term]
        return f"visual word {term}" if self.encoder_info.get("kind") == "image" else f"latent {term}"

    def neighbours(self, term: int) -> list[tuple[int, float]]:
        """The terms with the most similar decoder rows and their cosines, where they ship with the vocabulary."""
        self._check_term(term)
        return self._files.neighbours(term)

    @property
    def statistics(self) -> Mapping[str, Array]:
        """Arrays over all terms (`term_df`, `term_count`: how often each fired in the training text), if shipped."""
        return self._files.statistics

    @property
    def counted_items(self) -> int:
        """Texts or pictures that `statistics` was counted over; 0 where the files do not say."""
        for known in (self._files.settings.get("statistics"), self.info.get("statistics")):
            if isinstance(known, Mapping):
                for name in ("texts", "pictures"):
                    if isinstance(known.get(name), int):
                        return int(known[name])
        return 0

    # ------------------------------------------------------------------ inside

    @property
    def _depth(self) -> int:
        """Terms of a token that an item may take."""
        return self.k if self.k_least is None else max(self.k, min(self.trained_k, self.n_terms))

    def _filled(self, found: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """As many of each token's terms as make `k_least` of the item, `k` of each at least."""
        if self.k_least is None:
            return found, values
        k = self.k
        while k < found.shape[1] and np.unique(found[:, :k][values[:, :k] > 0]).size < self.k_least:
            k += 1
        return found[:, :k], values[:, :k]

    def _item(self, found: IntArray, values: FloatArray) -> Terms:
        """What an item keeps of its tokens' terms."""
        return self._pruned(self._pooled(found, values), self.k_post)

    def _pooled(self, found: IntArray, values: FloatArray) -> Terms:
        return self._pool(found, values, largest=self.pooling == "max")

    def _pruned(self, terms: Terms, most: int | None) -> Terms:
        if self.min_weight > 0.0:
            keep = terms.weights >= self.min_weight
            terms = Terms(terms.ids[keep], terms.weights[keep])
        return terms if most is None else _heaviest(terms, most)

    def _asked(self, terms: Terms) -> Terms:
        """A query's terms: never more than a search takes."""
        most = self.defaults.query_cap
        terms = self._pruned(terms, limits.MAX_QUERY_TERMS if most is None else min(most, limits.MAX_QUERY_TERMS))
        if self.defaults.query == "binary":
            return Terms(terms.ids, np.ones(len(terms), np.float32))
        return terms

    def _check_width(self, width: int) -> None:
        if width != self.dim:
            raise FingerprintMismatch(
                f"the vocabulary {self.name} reads vectors of {self.dim} numbers, not of {width}; "
                f"it fits {self._files.fitting}"
            )

    def _check_term(self, term: int) -> None:
        if not 0 <= term < self.n_terms:
            raise InvalidInput(f"there is no term {term}: terms are 0 to {self.n_terms - 1}")

    def __repr__(self) -> str:
        return f"SaeVocabulary({self.fingerprint!r})"


def _heaviest(terms: Terms, k: int) -> Terms:
    """At most k terms, the heaviest, equal ones by lower id. As `prune_terms`, but without sorting all of them."""
    n = len(terms)
    if n <= k:
        return terms
    least = np.partition(terms.weights, n - k)[n - k]
    keep = terms.weights > least
    keep[np.flatnonzero(terms.weights == least)[: k - int(keep.sum())]] = True
    return Terms(terms.ids[keep], terms.weights[keep])


def _defaults(settings: Mapping[str, Any], name: str | None) -> FieldDefaults:
    """How a vocabulary is used: as the preset says, as its own settings say, or with the k of its training."""
    if name is not None:
        return preset(name)
    own = settings.get("defaults")
    if own is not None and not isinstance(own, Mapping):
        raise InvalidInput(f"'defaults' of an autoencoder must be an object, not {own!r:.80}")
    return FieldDefaults(k=settings["k"]).changed(own or {})


__all__ = ["COMPACT_K", "SaeVocabulary", "UNSET"]
