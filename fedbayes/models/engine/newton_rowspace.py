"""One cell's part of the Newton system in the space of its rows, for cells with few uncertain rows.

With the loss's Hessian written as G'G, G having one row for each uncertain (row, class) pair, the system
(ridge I + G'G) x = b is solved through M = ridge I + GG' (Woodbury). The products between rows' features never
change, so each iteration only scales them. The coupling to the biases is G'E, so that by
inv(ridge I + G'G) G' = G' inv(M) neither it nor the Schur complement ridge E' inv(M) E suffers cancellation.

G comes from the closed-form Cholesky factor of diag(p) - pp': its column c is zero above c,
``scale * tail`` at c and ``-scale * p[y]`` at y > c, where tail = sum of p[y] over y > c and
scale^2 = p[c] / (tail (tail + p[c])).
"""

from math import sqrt

import numpy as np

from fedbayes.models.engine.compilation import compiled


@compiled
def feature_products(codes, lo, hi, table, feature, products):
    """products[c, i, k] = sum over attributes of table[c, code of i] * table[c, code of k]; symmetric."""
    classes = table.shape[0]
    q = codes.shape[1]
    rows = hi - lo
    for c in range(classes):
        for j in range(q):
            for i in range(rows):
                feature[j, i] = table[c, codes[lo + i, j]]
        for i in range(rows):
            for k in range(rows):
                products[c, i, k] = 0.0
            for j in range(q):
                f = feature[j, i]
                for k in range(rows):
                    products[c, i, k] += f * feature[j, k]


@compiled
def uncertain_pairs(lo, hi, probability, threshold, pair_row, pair_class, scale, tail):
    """List the pairs whose curvature exceeds the threshold, row by row; fill scale and tail (rows, classes).

    Returns the number of pairs, or -1 when the list would overflow.
    """
    classes = probability.shape[0]
    count = 0
    for i in range(lo, hi):
        rest = 0.0
        for c in range(classes - 1, -1, -1):
            tail[i - lo, c] = rest
            rest += probability[c, i]
        for c in range(classes):
            p, t = probability[c, i], tail[i - lo, c]
            scale[i - lo, c] = 0.0
            if p * t > threshold * (p + t):
                if count == pair_row.shape[0]:
                    return -1
                scale[i - lo, c] = sqrt(p / (t * (p + t)))
                pair_row[count] = i - lo
                pair_class[count] = c
                count += 1
    return count


@compiled
def fill_pair_matrix(
    products, lo, probability, pairs, pair_row, pair_class, scale, tail, ridge, overlap, matrix
):
    """Upper triangle of M = ridge I + GG'."""
    classes = probability.shape[0]
    for a in range(pairs):
        i, c = pair_row[a], pair_class[a]
        previous = -1
        for b in range(a, pairs):
            k, d = pair_row[b], pair_class[b]
            if k != previous:
                previous = k
                total = 0.0
                for y in range(classes - 1, -1, -1):
                    overlap[y] = total
                    total += probability[y, lo + i] * probability[y, lo + k] * products[y, i, k]
            top = c if c > d else d
            own_i = tail[i, c] if c == top else -probability[top, lo + i]
            own_k = tail[k, d] if d == top else -probability[top, lo + k]
            value = own_i * own_k * products[top, i, k] + overlap[top]
            matrix[a, b] = scale[i, c] * scale[k, d] * value
        matrix[a, a] += ridge


@compiled
def fill_pair_riders(
    codes, lo, probability, table, pairs, pair_row, pair_class, scale, tail, g, image, matrix
):
    """Columns E (one per bias) and G g beside M."""
    classes = table.shape[0]
    apply_factor(codes, lo, probability, table, pairs, pair_row, pair_class, scale, tail, g, image)
    for a in range(pairs):
        i, c = pair_row[a], pair_class[a]
        for y in range(c):
            matrix[a, pairs + y] = 0.0
        matrix[a, pairs + c] = scale[i, c] * tail[i, c]
        for y in range(c + 1, classes):
            matrix[a, pairs + y] = -scale[i, c] * probability[y, lo + i]
        matrix[a, pairs + classes] = image[a]


@compiled
def apply_factor(codes, lo, probability, table, pairs, pair_row, pair_class, scale, tail, x, image):
    """image = G x."""
    classes = table.shape[0]
    q = codes.shape[1]
    row = np.empty(classes)
    previous = -1
    for a in range(pairs):
        i, c = pair_row[a], pair_class[a]
        if i != previous:
            previous = i
            for y in range(classes):
                total = 0.0
                for j in range(q):
                    total += table[y, codes[lo + i, j]] * x[y * q + j]
                row[y] = total
        value = tail[i, c] * row[c]
        for y in range(c + 1, classes):
            value -= probability[y, lo + i] * row[y]
        image[a] = scale[i, c] * value


@compiled
def apply_transpose(
    codes, lo, probability, table, pairs, pair_row, pair_class, scale, tail, image, factor, x
):
    """Add factor * G' image to x."""
    classes = table.shape[0]
    q = codes.shape[1]
    row = np.zeros(classes)
    for a in range(pairs):
        i, c = pair_row[a], pair_class[a]
        z = image[a] * scale[i, c] * factor
        row[c] += z * tail[i, c]
        for y in range(c + 1, classes):
            row[y] -= z * probability[y, lo + i]
        if a + 1 == pairs or pair_row[a + 1] != i:
            for y in range(classes):
                if row[y] != 0.0:
                    for j in range(q):
                        x[y * q + j] += table[y, codes[lo + i, j]] * row[y]
                    row[y] = 0.0
