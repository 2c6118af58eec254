"""Programs with loops, and what they are called with: each is plain NumPy, as users write it."""

from __future__ import annotations

import numpy as np


def forward(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def backward(U, x, b):
    for i in range(len(x) - 1, -1, -1):
        x[i] = (b[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def recurrence(a, x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + x[i]


def sweep(A, steps):
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 2:] + A[i + 1, 1:-1]
            for j in range(1, A.shape[1] - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def shortest_paths(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y, alpha, beta


def edit_distance(a, b, d):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(min(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)


def compressor(x, y, threshold, ratio, attack, release):
    level = 0.0
    for i in range(len(x)):
        size = abs(x[i])
        rate = attack if size > level else release
        level = level + rate * (size - level)
        gain = 1.0
        if level > threshold:
            gain = threshold / level + (1 - threshold / level) / ratio
        y[i] = x[i] * gain
    return level


def until_it_settles(u, least):
    change, steps = 1, 0
    while change > least:
        before = u.copy()
        u[1:-1] = 0.5 * (before[:-2] + before[2:])
        change = np.sum(np.abs(u - before))
        steps += 1
    return steps, change


def leaves_early(x, limit):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        total += x[i]
        if total > limit:
            break
    return i, total


def checksum(data):
    crc = 0xFFFF
    for b in data:
        low = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (low & 0x0001):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            low >>= 1
    return crc


def pairs(a, b):
    if a + b == 3:
        return 1
    return 0


def folding(seq, table):
    n = len(seq)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(seq[i], seq[j]))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def step(u, v, dt):
    v[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
    u += dt * v


def wave(u, v, dt, steps):
    for _ in range(steps):
        step(u, v, dt)
        u[0] = u[-1] = 0.0


def columns(x, y):
    for j in range(1, x.shape[1]):
        y[:, j] = 0.5 * y[:, j - 1] + x[:, j]


def strided(x, y):
    for k in range(3):
        y[::2] += x[k::-1][:1]
        y[1::2] = x[::-2][: y[1::2].shape[0]] + k


def new_arrays(x, steps):
    y = x * 2
    for _k in range(steps):
        y = np.where(y > 1, y - x, y + 1)
        z = y * y
        x += z
    return x


def new_axes(A, v, w):
    for i in range(2):
        A += v[:, None] * w[None, :] + i


def gram_schmidt(A, Q, R):
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]


def types_change(x):
    s = 0
    for i in range(len(x)):
        s = s + x[i]
    return s, i


def nothing_to_do(x):
    s = 1
    for i in range(len(x)):
        s = x[i]
    return s


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def square(n: int, dtype: str = "f8") -> np.ndarray:
    return (rng().random((n, n)) + n * np.eye(n)).astype(dtype)


def row(n: int, dtype: str = "f8", seed: int = 1) -> np.ndarray:
    return rng(seed).random(n).astype(dtype)


def words(n: int, seed: int, dtype: str = "i8") -> np.ndarray:
    return rng(seed).integers(0, 4, n).astype(dtype)


def grid(m: int, n: int) -> np.ndarray:
    found = np.zeros((m, n), np.int64)
    found[0], found[:, 0] = np.arange(n), np.arange(m)
    return found


# Programs with their arguments; each is called with copies.
PROGRAMS = {
    "forward": (forward, (np.tril(square(40)), np.zeros(40), row(40))),
    "forward_f4": (forward, (np.tril(square(40, "f4")), np.zeros(40, "f4"), row(40, "f4"))),
    "forward_columns": (
        forward, (np.asfortranarray(np.tril(square(40))), np.zeros(80)[::2], row(40)),
    ),
    "backward": (backward, (np.triu(square(40)), np.zeros(40), row(40))),
    "lu": (lu, (square(30),)),
    "lu_of_one": (lu, (square(1),)),
    "recurrence": (recurrence, (0.9, row(100), np.zeros(100))),
    "recurrence_f4": (recurrence, (0.9, row(100, "f4"), np.zeros(100, "f4"))),
    "recurrence_i4": (recurrence, (3, words(50, 1, "i4"), np.zeros(50, "i4"))),
    "recurrence_np": (recurrence, (np.float64(0.9), row(100, "f4"), np.zeros(100, "f4"))),
    "sweep": (sweep, (square(20), 3)),
    "sweep_f4": (sweep, (square(20, "f4"), 3)),
    "shortest_paths": (shortest_paths, (square(30),)),
    "durbin": (durbin, (row(30) / 30,)),
    "edit_distance": (edit_distance, (words(20, 1), words(30, 2), grid(21, 31))),
    "compressor": (compressor, (row(300) - 0.5, np.zeros(300), 0.1, 4.0, 0.2, 0.05)),
    "compressor_int": (compressor, (row(300) - 0.5, np.zeros(300), 0.1, 4, 0.2, 0.05)),
    "until_it_settles": (until_it_settles, (row(40), 0.01)),
    "leaves_early": (leaves_early, (row(100) - 0.2, 10.0)),
    "leaves_late": (leaves_early, (row(100) - 0.2, 1e9)),
    "checksum": (checksum, (words(200, 3, "u1"),)),
    "checksum_i8": (checksum, (words(200, 3),)),
    "folding": (folding, (words(20, 5), np.zeros((20, 20), np.int32))),
    "wave": (wave, (row(50), np.zeros(50), 0.1, 20)),
    "wave_of_two": (wave, (row(2), np.zeros(2), 0.1, 5)),
    "columns": (columns, (square(20), square(20))),
    "strided": (strided, (row(20), np.zeros(9))),
    "new_arrays": (new_arrays, (row(40), 7)),
    "new_axes": (new_axes, (square(10), row(10), row(10, seed=2))),
    "gram_schmidt": (gram_schmidt, (square(12), np.zeros((12, 12)), np.zeros((12, 12)))),
    "types_change": (types_change, (row(30),)),
    "types_change_i4": (types_change, (words(30, 1, "i4"),)),
    "nothing_to_do": (nothing_to_do, (np.zeros(0),)),
}  # fmt: skip
# Sums of products meet in another order than NumPy's.
SUMMED = frozenset(
    (
        "forward",
        "backward",
        "lu",
        "durbin",
        "gram_schmidt",
        "until_it_settles",
        "lu_of_one",
        "filtered",
        "sparse",
    )
)


def filtered(F, H, x, P, seen):
    for k in range(len(seen)):
        x = F @ x
        P = F @ P @ F.T + 0.1
        gain = P @ H / (H @ P @ H + 1.0)
        x = x + gain * (seen[k] - H @ x)
        P = P - gain[:, None] * (H @ P)[None, :]
    return x, P


def sparse(rows, columns, values, x, y):
    for i in range(len(rows) - 1):
        places = columns[rows[i] : rows[i + 1]]
        y[i] = values[rows[i] : rows[i + 1]] @ x[places]


def halves(a):
    b = a[1:]
    b[0] = 5.0
    return a


def kept_from_round_to_round(x):
    y = x * 1.0
    for k in range(3):
        y = halves(y[::-1] * 2 + k)
    return y


PROGRAMS |= {
    "filtered": (filtered, (square(4) / 9, row(4), row(4), np.eye(4), row(20))),
    "filtered_c16": (
        filtered, (square(4) / 9, row(4) + 1j, row(4), np.eye(4) + 0j, row(20)),
    ),
    "sparse": (
        sparse, (np.array([0, 3, 3, 7]), words(7, 1) - 2, row(7), row(4), np.zeros(3)),
    ),
    "kept_from_round_to_round": (kept_from_round_to_round, (row(7),)),
}  # fmt: skip


def left_out_axes(a, x, out):
    for k in range(3):
        out[...] += a[..., k] * 2 + a[k, ...].sum()
        a[k, ..., 1:] -= out.T[..., None, 0] + x[...][k]
        out[..., 1] = a[0, ..., 0]
        x[..., k] += 1


PROGRAMS |= {
    "left_out_axes": (
        left_out_axes, (np.arange(60.0).reshape(3, 4, 5), row(4), np.zeros((3, 4))),
    ),
}  # fmt: skip
