"""Teach a text vocabulary what retrieval is, without any labels, on one GPU.

    PYTHONPATH=src python3 tools/teach_vocabulary.py prepare --text wiki-paragraphs.txt.xz --model FOLDER --out FILE
    PYTHONPATH=src python3 tools/teach_vocabulary.py teach --prepared FILE --model FOLDER --teacher FOLDER \
        --collections FOLDER --vocabulary src/zipfian/models/text-16k --out OUT --trial name:rate=1e-4 ...

Questions are cut out of the paragraphs (a sentence, a stretch, rare words). A teacher ranks all paragraphs for each:
the sum of the z-scores of words, of the vocabulary as it was, and of a dense encoder. The vocabulary's projection,
the worth of its terms in questions and the query table then learn the teacher's order; the text encoder stays frozen.
Every tenth paragraph is held out of everything. Test collections only choose (even queries) and report (odd ones).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from texts import Array, open_tokenizer, read_lines
from train_query_table import load_result
from training.codes import Codes, by_item, codes_of, quantise_in_place
from training.plan import Clock
from training.pupil import Pupil, TableTeaching, Teaching, Tokens, teach, teach_table
from training.questions import Questions
from training.ranking import impacts, postings, stored
from training.rows import mean_rows
from training.teacher import WORDS, Lessons, dense_leg, lessons, piece_codes, term_leg, term_table
from training.text import load_tests
from training.text_encoder import MiniLM, Pieces, hidden_states, random_spans, tokenise
from training.text_statistics import VOCABULARY
from training.text_uses import Test, joined, measure, table_queries

from zipfian.train.export import save_vocabulary
from zipfian.train.model import TopKSae
from zipfian.train.sae import TrainResult, reconstruction, train_sae
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

HELD_OUT = 10
"""Every so many paragraphs one is held out: those whose number, counted from 0, leaves 9."""
CHOOSING = ("cacm", "cisi", "limit-small", "scifact")
TOP, FAR, DEPTH = 24, 24, 400


def some(pieces: Pieces, chosen: Array) -> Pieces:
    """The pieces of some texts."""
    sizes = np.diff(pieces.indptr)[chosen]
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    inside = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
    return Pieces(pieces.ids[np.repeat(pieces.indptr[:-1][chosen], sizes) + inside], indptr)


def prepare(args: argparse.Namespace) -> None:
    """Word pieces of the paragraphs that are not held out, and of the questions about them."""
    clock = Clock(1e9)
    file = args.model / "tokenizer.json"
    pieces = tokenise(file, read_lines(args.text, args.limit))
    numbers = np.arange(len(pieces.indptr) - 1)
    pieces = some(pieces, np.flatnonzero((numbers % HELD_OUT != HELD_OUT - 1) & (np.diff(pieces.indptr) > 0)))
    clock.say(f"{len(pieces.ids):,} pieces of {len(pieces.indptr) - 1:,} paragraphs")
    tokenizer = open_tokenizer(file)
    words = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
    asked, sources = Questions(pieces, words, args.seed).draw(np.arange(len(pieces.indptr) - 1))
    clock.say(f"{len(sources):,} questions of {len(asked.ids):,} pieces")
    np.savez(
        args.out, ids=pieces.ids, sizes=np.diff(pieces.indptr).astype(np.uint16), asked=asked.ids.astype(np.uint16),
        asked_sizes=np.diff(asked.indptr).astype(np.uint8), sources=sources.astype(np.int32),
    )  # fmt: skip


def read_prepared(path: Path, limit: int | None) -> tuple[Pieces, Pieces, Array]:
    """What `prepare` wrote; with a limit, the first paragraphs and their questions alone."""

    def starts(sizes: Array) -> Array:
        return np.concatenate(([0], np.cumsum(sizes.astype(np.int64))))

    with np.load(path) as kept:
        pieces = Pieces(kept["ids"], starts(kept["sizes"]))
        asked, sources = Pieces(kept["asked"], starts(kept["asked_sizes"])), kept["sources"].astype(np.int64)
    if limit is not None:
        pieces = some(pieces, np.arange(limit))
        asked, sources = some(asked, np.flatnonzero(sources < limit)), sources[sources < limit]
    return pieces, asked, sources


def means(by: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Over the collections that choose, or over all where none of them is there: both halves, and all queries."""
    chosen = [scores for name, scores in by.items() if name in CHOOSING] or list(by.values())
    return {half: float(np.mean([scores[half] for scores in chosen])) for half in ("even", "odd", "all")}


class Judge:
    """The test collections, measured as the shipped setting would."""

    def __init__(self, tests: list[Test], clock: Clock) -> None:
        self.tests, self.clock, self.rows = tests, clock, list[dict[str, Any]]()

    def measure(
        self, name: str, result: TrainResult, teaching: Teaching, gains: torch.Tensor | None = None,
        table: tuple[torch.Tensor, torch.Tensor] | None = None, said: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """nDCG@10 of every collection with queries of the encoder, or of a table."""
        by: dict[str, Any] = {}
        width = result.settings.width
        for test in self.tests:
            found = by_item(
                codes_of(result, joined(test.documents, "l1"), teaching.k), test.collection.documents.indptr
            )
            kept = stored(found.pooled(teaching.k, width), teaching.k_post)
            if table is None:
                codes = by_item(
                    codes_of(result, joined(test.queries, "l1"), teaching.k), test.collection.queries.indptr
                )
                asked = codes.pooled(teaching.k, width)
                asked = asked if gains is None else asked * gains
            else:
                asked = table_queries(table, test.collection, width)
            scores = measure(asked, impacts(kept, teaching.scoring), test.collection, teaching.scoring)
            by[test.collection.name] = {**scores, "postings": postings(kept)}
        row = {"name": name, "queries": "encoder" if table is None else "table", "by": by, **(said or {})}
        row |= means(by)
        self.rows.append(row)
        shown = " ".join(f"{c[:7]} {s['all']:.4f}" for c, s in by.items())
        size = by.get("scifact", next(iter(by.values())))["postings"]
        self.clock.say(
            f"{name:<22} {row['queries']:<8} {size:4.0f}p even {row['even']:.4f} odd {row['odd']:.4f} "
            f"all {row['all']:.4f} | {shown}"
        )
        return row


class School:
    """Everything that all trials share, on the device."""

    def __init__(self, args: argparse.Namespace, clock: Clock) -> None:
        self.args, self.clock, self.device = args, clock, torch.device(args.device)
        half = torch.float16 if self.device.type == "cuda" else torch.float32
        self.pieces, self.asked, sources = read_prepared(args.prepared, args.limit)
        self.sources = torch.from_numpy(sources).to(self.device)
        model = MiniLM(args.model, args.device, half)
        self.documents, self.questions = (self._tokens(model, part) for part in (self.pieces, self.asked))
        clock.say(f"{len(self.documents.states):,} + {len(self.questions.states):,} pieces encoded")
        teacher = MiniLM(args.teacher, args.device, half)
        self.dense = []
        for part in (self.pieces, self.asked):
            _, vectors = hidden_states(teacher, part, (-1,), batch_tokens=args.batch_tokens, pooled=True)
            assert vectors is not None
            self.dense.append(vectors.to(half))
        clock.say("encoded by the teacher")
        self.words = (piece_codes(self.pieces, self.device), piece_codes(self.asked, self.device))
        self._lessons: dict[tuple[Any, ...], Lessons] = {}

    def _tokens(self, model: MiniLM, pieces: Pieces) -> Tokens:
        half = torch.float16 if self.device.type == "cuda" else torch.float32
        (states,), _ = hidden_states(model, pieces, (-1,), store=half, batch_tokens=self.args.batch_tokens)
        return Tokens(states, torch.from_numpy(pieces.indptr).to(self.device))

    def codes(self, result: TrainResult, k: int) -> tuple[Codes, Codes]:
        """The terms of paragraphs and questions."""
        documents, questions = (
            by_item(codes_of(result, MemorySource(tokens.states), k, precision="tf32"), pieces.indptr)
            for tokens, pieces in ((self.documents, self.pieces), (self.questions, self.asked))
        )
        return documents, questions

    def lessons(self, result: TrainResult, weights: tuple[float, float, float], teaching: Teaching) -> Lessons:
        """The teacher's rankings; `weights` of words, of latent terms as `result` has them, of the dense encoder."""
        key = (id(result), weights)
        if key not in self._lessons:
            words, latent, dense = weights
            legs = []
            if words:
                legs.append((words, term_leg(*self.words, VOCABULARY, 1, None, WORDS)))
            if latent:
                k, k_post = 3, 250
                legs.append(
                    (latent, term_leg(*self.codes(result, k), result.settings.width, k, k_post, teaching.scoring))
                )
            if dense:
                legs.append((dense, dense_leg(*self.dense)))
            top, far = self.args.top
            self._lessons[key] = lessons(legs, self.sources, top=top, far=far, depth=self.args.depth, seed=1)
            self.clock.say(f"lessons of words {words:g}, latent {latent:g}, dense {dense:g}")
        return self._lessons[key]


def copied(result: TrainResult) -> TrainResult:
    """One that may be changed."""
    sae = TopKSae(result.sae.dim, result.settings, result.sae.device)
    for target, source in zip(sae.parameters(), result.sae.parameters(), strict=True):
        target.copy_(source)
    return TrainResult(sae, result.mu, result.scale, result.settings, metrics=dict(result.metrics))


def drift(before: TrainResult, after: TrainResult, states: torch.Tensor, k: int) -> dict[str, float]:
    """Share of the terms of tokens that stayed, and what the old decoder still rebuilds."""
    x = before.normalise(states)
    old, new = (result.sae.activations(x, k)[1] for result in (before, after))
    same = (old[:, :, None] == new[:, None, :]).any(dim=2).float().mean()
    return {"kept_terms": float(same), "fvu": reconstruction(after, states)["fvu"]}


def train_table(
    school: School, result: TrainResult, lesson: Lessons, teaching: Teaching, size: int, settings: TableTeaching
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Rows as averages of activations, and the same taught: from 64 terms each, cut to `size`, taught again."""
    width = result.settings.width
    documents, questions = school.codes(result, 4)
    spans = random_spans(school.pieces, seed=100, low=2, high=18)
    model = MiniLM(school.args.model, school.args.device, school.documents.states.dtype)
    (states,), _ = hidden_states(model, spans, (-1,), batch_tokens=school.args.batch_tokens)
    codes = codes_of(result, MemorySource(states), 4, precision="tf32")
    del states
    asked = (school.asked, questions.values, questions.terms)
    empty = np.zeros(0, np.int64)
    fired = (documents.values, documents.terms)
    rows = mean_rows(school.pieces, fired, [(spans, *codes), asked], empty, VOCABULARY, width, 64)["both"]
    found = {"mean": (rows.terms[:, :size], rows.values[:, :size])}
    saturated, worth = term_table(documents, width, teaching.k, teaching.k_post, teaching.scoring, stored)
    table = saturated.mul_(worth)
    texts = (
        torch.from_numpy(school.asked.ids.astype(np.int64)).to(school.device),
        torch.from_numpy(school.asked.indptr).to(school.device),
    )
    with torch.enable_grad():
        power = teaching.scoring.power
        wide = teach_table(rows.terms, rows.values, table, power, texts, school.sources, lesson, settings)
        best = wide.topk(size, dim=1)
        terms, values = rows.terms.gather(1, best.indices), best.values
        last = teach_table(terms, values, table, power, texts, school.sources, lesson, settings)
    order = last.argsort(dim=1, descending=True)
    found["taught-64"] = (rows.terms, wide)
    found["taught"] = (terms.gather(1, order), last.gather(1, order).half().float())
    return found


def trial_of(text: str) -> tuple[str, Teaching, dict[str, Any]]:
    """`name:rate=1e-4,teacher=1/1/1,table=1,sae=0`: settings of `Teaching` and a few of the trial itself."""
    name, _, rest = text.partition(":")
    known = {field.name: field.type for field in fields(Teaching)}
    changes: dict[str, Any] = {}
    other: dict[str, Any] = {"teacher": (1.0, 1.0, 1.0), "table": 0, "sae": -1, "keep": 0}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key == "teacher":
            other[key] = tuple(float(weight) for weight in value.split("/"))
        elif key in other:
            other[key] = int(value)
        elif key in known:
            changes[key] = float(value) if "float" in str(known[key]) else int(value)
        else:
            raise SystemExit(f"{key!r} is no setting of a trial: {', '.join([*known, *other])}")
    return name, Teaching(**changes), other


def fresh_sae(school: School, seed: int, settings: SaeSettings, clock: Clock) -> TrainResult:
    """An autoencoder trained on the paragraphs that are not held out."""
    result = train_sae(MemorySource(school.documents.states), replace(settings, seed=seed), device=school.args.device)
    clock.say(f"sae of seed {seed}: {result.metrics['seconds']} s, fvu {result.metrics['train']['fvu']:.4f}")
    return result


def run(args: argparse.Namespace) -> None:
    clock = Clock(args.budget)
    args.out.mkdir(parents=True, exist_ok=True)
    school = School(args, clock)
    judge = Judge(load_tests(args, clock), clock)
    shipped = load_result(args.vocabulary, args.device)
    said = json.loads((args.vocabulary / "sae.json").read_text())["info"]["settings"]
    settings = SaeSettings(**{field.name: said[field.name] for field in fields(SaeSettings) if field.name in said})
    if args.tiny:
        settings = replace(settings, width=512, batch=256, epochs=1.0)
    starts: dict[int, TrainResult] = {-1: shipped}
    probe = school.documents.states[:: max(1, len(school.documents.states) // 16_384)][:16_384]
    for text in args.trial:
        name, teaching, other = trial_of(text)
        if clock.left() < args.least:
            clock.say(f"{name}: no time left")
            continue
        if other["sae"] not in starts:
            starts[other["sae"]] = fresh_sae(school, other["sae"], settings, clock)
        start = starts[other["sae"]]
        if not any(row["name"] == f"before sae={other['sae']} k={teaching.k}" for row in judge.rows):
            judge.measure(f"before sae={other['sae']} k={teaching.k}", start, teaching)
        lesson = school.lessons(start, other["teacher"], teaching)
        begun = clock.now()
        pupil = Pupil(copied(start), teaching)
        with torch.enable_grad():
            teach(pupil, school.documents, school.questions, school.sources, lesson, clock.say)
        result = pupil.taught()
        changes = drift(start, result, probe, teaching.k) if other["sae"] >= 0 else {}
        quantise_in_place(result)
        gains = pupil.gains() if teaching.gain_rate else None
        seconds = round(clock.now() - begun, 1)
        settings_said = {**asdict(teaching), **other, "scoring": list(teaching.scoring)}
        said_of = {"settings": settings_said, "seconds": seconds, **changes}
        judge.measure(name, result, teaching, gains, said=said_of)
        tables = {}
        if other["table"]:
            tables = train_table(school, result, lesson, teaching, 16, TableTeaching(steps=args.table_steps))
            for kind, table in tables.items():
                judge.measure(f"{name} {kind}", result, teaching, None, table, {"settings": settings_said})
        if other["keep"]:
            folder = args.out / name
            extra = {} if gains is None else {"query_gain": gains.cpu().numpy().astype(np.float32)}
            save_vocabulary(result, folder, info={"name": name, "teaching": settings_said, **changes}, extra=extra)
            if tables:
                from safetensors.numpy import save_file

                terms, values = tables["taught"]
                arrays = {
                    "terms": terms.cpu().numpy().astype(np.int16),
                    "weights": values.cpu().numpy().astype(np.float16),
                }
                save_file(arrays, folder / "table.safetensors")
        (args.out / "trials.json").write_text(json.dumps(judge.rows, indent=1))
    clock.say("done")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    first = parts.add_parser("prepare", help="cut questions out of the paragraphs")
    first.add_argument("--text", type=Path, required=True)
    first.add_argument("--model", type=Path, required=True)
    first.add_argument("--out", type=Path, required=True)
    first.add_argument("--seed", type=int, default=0)
    first.add_argument("--limit", type=int, help="paragraphs to read")
    second = parts.add_parser("teach", help="run trials")
    for name in ("prepared", "model", "teacher", "collections", "vocabulary", "out"):
        second.add_argument(f"--{name}", type=Path, required=True)
    second.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    second.add_argument("--batch-tokens", type=int, default=131_072)
    second.add_argument("--limit", type=int, help="paragraphs to learn from")
    second.add_argument("--budget", type=float, default=1e9, help="seconds")
    second.add_argument("--least", type=float, default=30.0, help="seconds that a trial needs at least")
    second.add_argument("--table-steps", type=int, default=3_000)
    second.add_argument("--depth", type=int, default=DEPTH)
    second.add_argument("--trial", action="append", default=[])
    second.add_argument("--tiny", action="store_true", help="a rehearsal on a CPU")
    args = parser.parse_args()
    if args.part == "prepare":
        prepare(args)
        return
    args.top = (TOP, FAR)
    if args.tiny:
        args.limit, args.batch_tokens, args.top, args.depth, args.table_steps = 70, 4_096, (8, 8), 60, 5
    with torch.no_grad():
        run(args)


if __name__ == "__main__":
    main()
