"""The compiled parts of a projection; importing this module loads numba.

A token is rounded to 8 bits, its products with all terms are screened in whole numbers, and only the terms that the
rounding could have hidden are scored again, exactly. `_sae_project` says why nothing is lost. Every sum here has a
fixed order, so an item's values are the same bits whatever else is projected with it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zipfian.compiled.jit import Compiler

LANES = 16
"""Partial sums side by side: what the compiler turns into one vector register."""
PARTS = 8
"""Parts of a row that are added first; rows are filled up with zeros to a multiple of LANES x PARTS."""
PER_GROUP = 16
"""Columns whose maximum is looked at together."""
SPREAD = 64
"""Groups whose columns are interleaved."""
OUTLIERS = 16
"""Largest components of a token that are kept out of its rounding: one of them can make all steps coarse."""
WORTH = 2.0
"""They are cut only where that makes the steps at least so many times finer."""
LARGEST = 1e9
"""Components of a token beyond this are no output of a sound encoder."""

compiler = Compiler([Path(__file__)], "the kernels of latent vocabularies")

with compiler.private_cache():

    @compiler.kernel
    def prepare(vectors, mu, scale, zero, x, rounded, tokens, outlier, excess):  # type: ignore[no-untyped-def]
        """Centre, scale and round tokens; the first token that is not finite, or -1.

        Fills `x` (float32; columns beyond the vectors' width must be 0) and `rounded` (uint8, where `zero` stands for
        0 and the largest distance from it is one less); in `tokens` for each token the step of its rounding, and the
        lengths of what rounding lost and of the token itself. Components too large for the step are cut; where they
        are (`outlier`, -1 after the last) and what was cut off (`excess`) is not counted as lost.
        """
        dim = vectors.shape[1]
        step, error, length = tokens[0], tokens[1], tokens[2]
        sizes = np.empty(dim, np.float32)
        most = np.float32(zero - 1)
        lost_sums, sums = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
        for t in range(len(vectors)):
            row, out = x[t], rounded[t]
            for i in range(dim):
                row[i] = (vectors[t, i] - mu[i]) / scale
            largest = np.float32(0.0)
            for i in range(dim):
                if not abs(row[i]) <= np.float32(LARGEST):  # also true of NaN
                    return t
                sizes[i] = abs(row[i])
                largest = max(largest, sizes[i])
            if dim > 4 * OUTLIERS:
                usual = np.partition(sizes, dim - 1 - OUTLIERS)[dim - 1 - OUTLIERS]
                largest = usual if largest > np.float32(WORTH) * usual else largest
            width = largest / most
            inverse = most / largest if largest > np.float32(1e-30) else np.float32(0.0)
            outlier[t, :] = -1
            n_outliers = 0
            lost_sums[:] = 0.0
            sums[:] = 0.0
            for start in range(0, len(row), LANES):
                for lane in range(LANES):
                    value = row[start + lane]
                    whole = min(max(np.rint(value * inverse), -most), most)
                    out[start + lane] = np.uint8(np.int32(whole) + zero)
                    lost = value - whole * width
                    sums[lane] += value * value
                    if abs(value) > largest and n_outliers < OUTLIERS:
                        outlier[t, n_outliers], excess[t, n_outliers] = start + lane, lost
                        n_outliers += 1
                    else:
                        lost_sums[lane] += lost * lost
            step[t], error[t], length[t] = width, np.sqrt(lost_sums.sum()), np.sqrt(sums.sum())
        return -1

    @compiler.kernel
    def correct(outlier, excess, matrix, out):  # type: ignore[no-untyped-def]
        """What the components cut from a token add to each column's product."""
        out[:] = 0.0
        for i in range(OUTLIERS):
            if outlier[i] < 0:
                break
            row, value = matrix[outlier[i]], excess[i]
            for j in range(len(out)):
                out[j] += value * np.float32(row[j])

    @compiler.kernel
    def approximate(products, cut, step, bias, token_step, near, best):  # type: ignore[no-untyped-def]
        """Values from whole-number products and what was cut, and the largest of each group.

        Group g of a block of SPREAD groups has every SPREAD-th of the block's columns, beginning with column g: maxima
        of many groups then are taken side by side, which is several times faster than along neighbouring columns.
        """
        for block in range(len(best) // SPREAD):
            here = best[block * SPREAD : (block + 1) * SPREAD]
            at = block * SPREAD * PER_GROUP
            for g in range(SPREAD):
                value = (np.float32(products[at + g]) * token_step + cut[at + g]) * step[at + g] + bias[at + g]
                near[at + g] = value
                here[g] = value
            for _ in range(1, PER_GROUP):
                at += SPREAD
                for g in range(SPREAD):
                    value = (np.float32(products[at + g]) * token_step + cut[at + g]) * step[at + g] + bias[at + g]
                    near[at + g] = value
                    here[g] = value if value > here[g] else here[g]

    @compiler.kernel
    def exact(row, row_step, bias, x, room):  # type: ignore[no-untyped-def]
        """One term's value for one token, before ReLU.

        Eight parts of the row are added element by element and the rest in a fixed tree: fast without leaving the
        order of the sum to the compiler, so that every machine gives the same bits.
        """
        part = len(x) // PARTS
        for i in range(part):
            room[i] = (
                (np.float32(row[i]) * x[i] + np.float32(row[i + part]) * x[i + part])
                + (np.float32(row[i + 2 * part]) * x[i + 2 * part] + np.float32(row[i + 3 * part]) * x[i + 3 * part])
            ) + (
                (np.float32(row[i + 4 * part]) * x[i + 4 * part] + np.float32(row[i + 5 * part]) * x[i + 5 * part])
                + (np.float32(row[i + 6 * part]) * x[i + 6 * part] + np.float32(row[i + 7 * part]) * x[i + 7 * part])
            )
        for start in range(LANES, part, LANES):
            for lane in range(LANES):
                room[lane] += room[start + lane]
        width = LANES
        while width > 1:
            width //= 2
            for lane in range(width):
                room[lane] += room[lane + width]
        return room[0] * row_step + bias

    @compiler.kernel
    def insert(term, value, found, values):  # type: ignore[no-untyped-def]
        """Give a term its place among the strongest, if it has one."""
        k = len(found)
        if value < values[k - 1] or (value == values[k - 1] and found[k - 1] >= 0 and found[k - 1] < term):
            return
        place = k - 1
        while place > 0 and (
            values[place - 1] < value
            or (values[place - 1] == value and (found[place - 1] < 0 or found[place - 1] > term))
        ):
            values[place], found[place] = values[place - 1], found[place - 1]
            place -= 1
        values[place], found[place] = value, term

    @compiler.kernel
    def select(products, columns, groups, rows, x, tokens, outliers, k, found, values, numbers, ids):  # type: ignore[no-untyped-def]
        """The k strongest terms of each token, strongest first, equal ones by lower id; -1 and 0 where there are fewer.

        Parameters
        ----------
        products
            (tokens, columns): whole-number products of rounded tokens and rounded terms.
        columns
            Of every column: its term, the step of its rounded row, its bias.
        groups
            What bounds the difference between approximate and exact values in a group of columns: the largest norm
            (times the token's error), residue (times its length) and margin.
        rows
            Of every term: its row, the row's step, its bias.
        tokens
            (3, tokens): step, error and length of each.
        outliers
            (tokens, OUTLIERS): which components were cut, and by how much; and the rounded rows by component.
        found, values
            Results, (tokens, k).
        numbers, ids
            Room to work in: 4 x columns + k + width float32, columns int32.
        """
        term, step, bias = columns
        norm, residue, margin = groups
        row, row_step, row_bias = rows
        n_groups, n_columns = len(norm), products.shape[1]
        near = numbers[:n_columns]
        most = numbers[n_columns : 2 * n_columns]
        best = numbers[2 * n_columns : 2 * n_columns + n_groups]
        bound = numbers[2 * n_columns + n_groups : 2 * n_columns + 2 * n_groups]
        cut = numbers[3 * n_columns : 4 * n_columns]
        sure = numbers[4 * n_columns : 4 * n_columns + k]
        room = numbers[4 * n_columns + k :]
        outlier, excess, matrix = outliers
        for t in range(len(x)):
            correct(outlier[t], excess[t], matrix, cut)
            approximate(products[t], cut, step, bias, tokens[0, t], near, best)
            for g in range(n_groups):
                bound[g] = tokens[1, t] * norm[g] + tokens[2, t] * residue[g] + margin[g]
            # The best terms of k groups are certainly as strong as `least`: what cannot reach it is out.
            least = np.float32(0.0)
            sure[:] = 0.0
            for g in range(n_groups):
                value = best[g] - bound[g]
                if value > least:
                    place = k - 1
                    while place > 0 and sure[place - 1] < value:
                        sure[place] = sure[place - 1]
                        place -= 1
                    sure[place] = value
                    least = sure[k - 1]
            count = 0
            for g in range(n_groups):
                lowest = least - bound[g]
                if best[g] >= lowest:
                    first = g // SPREAD * SPREAD * PER_GROUP + g % SPREAD
                    for j in range(first, first + SPREAD * PER_GROUP, SPREAD):
                        if near[j] >= lowest:
                            ids[count], most[count] = j, near[j] + bound[g]
                            count += 1
            # Likely ones first: their exact values rule out many of the others.
            found[t, :] = -1
            values[t, :] = 0.0
            for likely in (True, False):
                for c in range(count):
                    j = ids[c]
                    if (near[j] >= least) == likely and most[c] >= values[t, k - 1]:
                        j = term[j]
                        value = exact(row[j], row_step[j], row_bias[j], x[t], room)
                        if value > 0:
                            insert(j, value, found[t], values[t])

    @compiler.kernel
    def pool(found, values, largest, sums, marks, words, ids, weights):  # type: ignore[no-untyped-def]
        """Add up (or take the largest of) the values of each term, in the order given; how many terms there are.

        `sums` (float64) and `marks` (uint8) have one entry per term (`words`: the same marks, 8 at a time); they must
        be 0 and are 0 again afterwards. `ids` come out ascending.
        """
        for t in range(found.shape[0]):
            for i in range(found.shape[1]):
                value = np.float64(values[t, i])
                if value > 0:
                    j = found[t, i]
                    marks[j] = 1
                    if not largest:
                        sums[j] += value
                    elif value > sums[j]:
                        sums[j] = value
        count = 0
        for w in range(len(words)):
            if words[w]:
                for j in range(8 * w, 8 * w + 8):
                    if marks[j]:
                        ids[count], weights[count] = j, np.float32(sums[j])
                        sums[j] = 0.0
                        count += 1
                words[w] = 0
        return count
