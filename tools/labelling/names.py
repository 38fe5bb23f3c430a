"""A short readable label for every term, from its strongest firings alone.

Lexical terms are named by their word, by the phrase it stands in, or by the letters they fire on; narrow ones by two
to four of their words; broad ones by the words that stand out in their contexts, marked `topic:`. Where nothing stands
out the label says `mixed:`. Terms that would share a label get words of their contexts in brackets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from texts import Array

from labelling.corpus import NUMBER, YEAR
from labelling.terms import Firings, Reader, Shape

MAIN_WORD = 0.5
"""Share of one stem from which on a lexical term is that word; below, it is the letters of a piece."""
SECOND_FORM = 0.15
PHRASE = 0.6
"""A neighbour that stands beside this share of the firings belongs to the phrase."""
PHRASE_WORDS = 4
TELLING = 0.3
"""A context word in this share of the firings is worth naming beside a word."""
TOPICAL = 0.12
"""Least share of the first word of a topic."""
JOINING = {"'", "’", "-", "–"}


class Namer:
    """Labels of the terms of one vocabulary."""

    def __init__(self, reader: Reader, pieces: Sequence[str]) -> None:
        self.reader = reader
        self.pieces = pieces

    def name(self, found: Firings, shape: Shape, kind: str) -> str:
        """The label of one term, not yet compared with others."""
        if not len(found.words):
            return "never fires"
        if kind == "lexical":
            return self._lexical(found, shape)
        if kind == "narrow":
            return self._narrow(found)
        return self._topic(found)

    # ------------------------------------------------------------------ lexical

    def _lexical(self, found: Firings, shape: Shape) -> str:
        reader = self.reader
        stems, counts = np.unique(reader.stem[found.words], return_counts=True)
        main = int(stems[np.argmax(counts)])
        if counts.max() < MAIN_WORD * len(found.words):
            return self._letters(found)
        mine = found.words[reader.stem[found.words] == main]
        phrase = self._phrase(mine, len(found.words))
        name = phrase or self._forms(main, mine)
        if reader.functional_stem[main] and not phrase:
            context = self.context(found, 2)
            name = f"“{name}”" + (f" ({context})" if context else "")
        elif not phrase:
            context = self.context(found, 2, TELLING)
            name += f" ({context})" if context else ""
        return name

    def _forms(self, stem: int, words: Array) -> str:
        """One or two spellings of a stem; a number by the number itself where it is mostly one."""
        reader = self.reader
        if reader.corpus.stems[stem] in (YEAR, NUMBER):
            written = (reader.corpus.surfaces[i] for i in reader.corpus.surface[words].tolist())
            surfaces: list[tuple[str, int]] = Counter(written).most_common(3)
            if surfaces[0][1] >= 0.4 * len(words):
                return surfaces[0][0]
            return f"{reader.corpus.stems[stem]}: " + ", ".join(surface for surface, _ in surfaces)
        normals, counts = np.unique(reader.normal[words], return_counts=True)
        order = np.lexsort((normals, -counts))
        chosen = [i for rank, i in enumerate(order[:2]) if rank == 0 or counts[i] >= SECOND_FORM * len(words)]
        return ", ".join(dict.fromkeys(reader.written(int(normals[i])) for i in chosen))

    def _letters(self, found: Firings) -> str:
        """A word piece and the commonest words it was found in: "-ley: Bletchley, Finchley"."""
        reader = self.reader
        pieces, counts = np.unique(found.pieces, return_counts=True)
        piece = self.pieces[int(pieces[np.argmax(counts)])]
        mine = found.words[found.pieces == pieces[np.argmax(counts)]]
        inside = piece.removeprefix("##")
        names = [reader.corpus.normals[i] for i in reader.normal[mine].tolist()]
        if not piece.startswith("##"):
            shape = f"{inside}-"
        elif sum(name.endswith(inside) for name in names) >= 0.6 * len(names):
            shape = f"-{inside}"
        else:
            shape = f"-{inside}-"
        return f"{shape}: {self._spelled(mine, 3)}"

    def _spelled(self, words: Array, count: int) -> str:
        normals, counts = np.unique(self.reader.normal[words], return_counts=True)
        order = np.lexsort((normals, -counts))[:count]
        return ", ".join(self.reader.written(int(normals[i])) for i in order)

    def _phrase(self, words: Array, n: int) -> str | None:
        """The words around that nearly always come along: "born in (year)"."""
        low, high = 0, 0
        parts = {0: self._neighbour(words, 0, n)}
        if parts[0] is None:
            return None
        while high - low + 1 < PHRASE_WORDS:
            left, right = self._neighbour(words, low - 1, n), self._neighbour(words, high + 1, n)
            if left is not None and (right is None or left[1] >= right[1]):
                low -= 1
                parts[low] = left
            elif right is not None:
                high += 1
                parts[high] = right
            else:
                break
        ends = [parts[i] for i in (low, high)]
        if low == high or any(end is None or end[0] in JOINING for end in ends):
            return None
        text = " ".join(parts[i][0] for i in range(low, high + 1) if parts[i] is not None)  # type: ignore[index]
        for mark in JOINING:
            text = text.replace(f" {mark} ", mark)
        return text

    def _neighbour(self, words: Array, offset: int, n: int) -> tuple[str, float] | None:
        """The commonest word at an offset, if it is there for most firings, and its share."""
        reader = self.reader
        paragraph = reader.paragraph_of(words)
        place = words + offset
        inside = (place >= reader.corpus.paragraph[paragraph]) & (place < reader.corpus.paragraph[paragraph + 1])
        if not inside.any():
            return None
        normals, counts = np.unique(reader.normal[place[inside]], return_counts=True)
        best = int(np.argmax(counts))
        name = reader.corpus.normals[int(normals[best])]
        if counts[best] < PHRASE * n or not (any(map(str.isalnum, name)) or name in JOINING):
            return None
        if name in (YEAR, NUMBER):
            return name, float(counts[best] / n)
        here = place[inside][reader.normal[place[inside]] == normals[best]]
        surface = Counter(reader.corpus.surface[here].tolist()).most_common(1)[0][0]
        return reader.corpus.surfaces[surface], float(counts[best] / n)

    # ------------------------------------------------------------------ narrow and broad

    def _narrow(self, found: Firings) -> str:
        """The firing words; where they are all function words, also what they stand beside."""
        chosen = [stem for stem, share in self.reader.firing_stems(found) if share >= 0.04][:4]
        name = self._words(found)
        if all(self.reader.functional_stem[stem] for stem in chosen) or not any(map(str.isalnum, name)):
            context = self.context(found, 2, apart_from=name)
            name = f"“{name}”" + (f" ({context})" if context else "")
        return name

    def _words(self, found: Firings) -> str:
        """The most characteristic firing words; punctuation only where there is nothing else."""
        chosen = [stem for stem, share in self.reader.firing_stems(found) if share >= 0.04]
        spoken = [stem for stem in chosen if any(map(str.isalnum, self.reader.corpus.stems[stem]))]
        return ", ".join(dict.fromkeys(self._one(stem, found.words) for stem in (spoken or chosen)[:4]))

    def _one(self, stem: int, words: Array) -> str:
        if self.reader.corpus.stems[stem] in (YEAR, NUMBER):
            return self._forms(stem, words[self.reader.stem[words] == stem])
        return self.reader.spelling(stem, words)

    def _topic(self, found: Firings) -> str:
        """Words that stand out in the contexts, the firing words among them."""
        telling = self.reader.standing_out(found, own=True)
        if not telling or telling[0][1] < TOPICAL:
            return f"mixed: {self._words(found) or self._spelled(found.words, 3)}"
        around = self.reader.windows(found.words)
        words = np.concatenate([found.words, around[around >= 0]])
        chosen = [stem for stem, share in telling if share >= 0.5 * TOPICAL][:4]
        return "topic: " + ", ".join(dict.fromkeys(self.reader.spelling(stem, words) for stem in chosen))

    def context(self, found: Firings, count: int, least: float = 0.0, apart_from: str = "") -> str:
        """Words that stand out around the firing words and are not in the label already."""
        around = self.reader.windows(found.words)
        words = around[around >= 0]
        telling = [stem for stem, share in self.reader.standing_out(found, own=False) if share >= least]
        named = set(apart_from.replace(",", " ").casefold().split())
        spelled = [self.reader.spelling(stem, words) for stem in telling]
        return ", ".join([word for word in spelled if word.casefold() not in named][:count])

    # ------------------------------------------------------------------ all of them

    def told_apart(self, names: Sequence[str], found: Sequence[Firings]) -> list[str]:
        """The labels, each once: first by words of the contexts, then by a number."""
        out = list(names)
        for count in (1, 2, 4):
            for terms in _groups(out):
                for term in terms:
                    context = self.context(found[term], count, apart_from=names[term])
                    if context and "(" not in names[term]:
                        out[term] = f"{names[term]} ({context})"
                    elif context and count > 1:
                        out[term] = f"{names[term].split(' (')[0]} ({context})"
        for terms in _groups(out):
            for number, term in enumerate(terms[1:], start=2):
                out[term] = f"{out[term]} {number}"
        return out


def _groups(names: Sequence[str]) -> list[list[int]]:
    """Terms that share a label."""
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for term, name in enumerate(names):
        by_name[name.casefold()].append(term)
    return [terms for terms in by_name.values() if len(terms) > 1]
