"""Loops over time that people write, for arrays of any library; each takes ``n`` last."""

import numpy as np

R = np.random.default_rng(3)
U, V = R.random(40), R.random(40)
GRID, OTHER = R.random((12, 14)), R.random((12, 14))
SOURCE = R.random((64, 40))
X, Y = R.random((20, 5)), (R.random(20) > 0.5).astype(float)
W = np.zeros(5)
A, B = R.random((8, 8)) + 8 * np.eye(8), R.random(8)
PLACES, SPEEDS, MASSES = R.random((6, 3)), R.random((6, 3)), R.random(6)


def heat(u, n):
    for _ in range(n):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def heat_in_place(u, n):
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_with_edges(u, n):
    for _ in range(n):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        u[0] = u[1]
        u[:, -1] = 0.5
    return u.sum()


def in_turns(u, v, n):
    for _ in range(n):
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return u, v


def wave(u, before, c, n):
    for _ in range(n):
        new = 2 * u - before + c * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        before = u
        u = new
    return u, before


def gray_scott(u, v, n):
    f, k = 0.04, 0.06
    for _ in range(n):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        uvv = u * v * v
        u += 0.16 * lu - uvv + f * (1 - u)
        v += 0.08 * lv + uvv - (f + k) * v
    return u, v


def bodies(x, v, m, dt, n):
    energy = np.zeros(())
    for _ in range(n):
        d = x[None, :, :] - x[:, None, :]
        r = (d**2).sum(axis=-1) + 0.01
        a = (d * (m[None, :, None] / (r * np.sqrt(r))[:, :, None])).sum(axis=1)
        v += dt * a
        x += dt * v
        energy = 0.5 * (m * (v**2).sum(axis=1)).sum()
    return x, v, energy


def logistic(X, y, w, rate, n):
    for _ in range(n):
        p = 1 / (1 + np.exp(-(X @ w)))
        w -= rate * (X.T @ (p - y)) / len(y)
    return w


def jacobi(A, b, n):
    d = np.diagonal(A).copy()
    rest = A - np.diag(d)
    x = b * 0
    for _ in range(n):
        x = (b - rest @ x) / d
    return x


def adam(X, y, w, n):
    m, v = w * 0, w * 0
    b1, b2 = 0.9, 0.99
    for t in range(1, n + 1):
        g = X.T @ (X @ w - y) / len(y)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        w = w - 0.01 * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + 1e-8)
    return w


def momentum(X, y, w, n):
    v = 0
    loss = 0.0
    for _ in range(n):
        r = X @ w - y
        loss = (r * r).mean()
        v = 0.9 * v - 0.01 * (X.T @ r)
        w = w + v
    return w, loss


def read_by_index(u, source, dt, n):
    time = 0.0
    for t in range(n):
        u = u * 0.9 + dt * source[t] * time
        time += dt
    return u, time


def a_counter(u, source, n):
    k, rate = 2, 0.5
    for _ in range(n):
        u = u + rate * source[k]
        k += 1
        rate *= 0.9
    return u, k, rate


def backwards(u, source, n):
    for t in range(n, 0, -1):
        u = u * 0.5 + source[t]
    return u, t


def in_strides(u, source, n):
    for t in range(3, 3 + 2 * n, 2):
        u = u * 0.5 + source[t] - t * 0.01
    else:
        u = u + 1
    return u + t


def a_branch(u, n):
    for t in range(n):
        u = u + np.roll(u, 1) * 0.1
        if t % 5 == 0:
            u = u / u.max()
    return u


def helped(u, n):
    for _ in range(n):
        u = smoothed(u, 0.25)
    return u


def smoothed(u, a):
    return (1 - a) * u + a * 0.5 * (np.roll(u, 1) + np.roll(u, -1))


def twice(u, v, n):
    for _ in range(n):
        u = smoothed(u, 0.5)
    v = v + u.sum()
    for _ in range(n):
        v = v - 0.1 * np.roll(v, 1) + 0.01 * u
    return v


def in_a_ring(u, v, w, n):
    for _ in range(n):
        w[1:] = u[1:] + 0.5 * v[:-1]
        u, v, w = v, w, u
    return u, v, w


def kept(u, v, n):
    shown = u[1:4]
    for _ in range(n):
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) + v[1:-1]
    return u, shown + 1


def with_history(u, v, n):
    for t in range(n):
        u = smoothed(u, 0.5)
        v[t] = u.sum()
    return u


def left_early(u, n):
    for t in range(n):
        u = smoothed(u, 0.5)
        if t == 4:
            break
    return u + t


def of_growing_parts(u, n):
    for t in range(1, n + 1):
        u = smoothed(u, 0.5) + u[:t].sum()
    return u


def listed(u, n):
    sums = []
    for _ in range(n):
        u = smoothed(u, 0.5)
        sums.append(u.sum())
    return u, sums[-1]


def with_two_names(u, v, n):
    for _ in range(n):
        u[1:] = 0.5 * (u[1:] + u[:-1])
        v = u
    v[0] = 7.0
    return u, v


def of_a_view(u, n):
    inner = u[1:-1]
    for _ in range(n):
        inner += 0.1 * (u[2:] - 2 * inner + u[:-2])
    return u


def asked(u, n):
    for _ in range(n):
        u = smoothed(u, 0.5)
        if u.max() > 0.9:
            u = u * 0.5
    return u


def turned_by_a_branch(u, v, n):
    for t in range(n):
        v[1:] = u[1:] * 0.5 + u[:-1]
        if t % 3 == 1:
            u, v = v, u
    return u, v


def nested(u, source, n):
    for k in range(3):
        for t in range(n):
            u = smoothed(u, 0.5) + source[k] * t
        u = u / u.max()
    return u


def begun(u, n):
    started = False
    for _ in range(n):
        if started:
            u = u * 0.5
        started = True
    return u


def of_the_one_before(u, n):
    before = None
    for _ in range(n):
        if before is not None:
            u = u + 0.1 * before
        before = u * 0.5
    return u, before


def of_another_type(u, n):
    s = 0
    for _ in range(n):
        if isinstance(s, float):
            u = u * 0.5
        s = s + 0.5
    return u


def of_another_dtype(u, w, n):
    for _ in range(n):
        if w.dtype == np.float32:
            u = u * 0.5
        w = w.astype(np.float32)
    return u, w


def of_another_shape(u, w, n):
    for _ in range(n):
        if w.shape[0] >= 8:
            u = u * 0.5
        w = w.repeat(2)[:8]
    return u, w


def first_alone(u, n):
    first = True
    for _ in range(n):
        if first:
            u += 1
            first = False
        else:
            u = u * 0.5
    return u


def a_part_of_what_is_made(u, n):
    for _ in range(n):
        new = smoothed(u, 0.5)
        inner = new[1:-1]
        u = new
    inner[:] = 0
    return u, inner


def a_part_of_an_argument(u, n):
    s = 1.0
    for _ in range(n):
        s = s * 0.5
        w = u[1:-1]
    w += s
    return u


class Chosen:
    @staticmethod
    def of(u, v, t):
        if t == 5:
            return v
        return u


def chosen_by_another(u, v, n):
    for t in range(n):
        v = v * 0.5
        u = Chosen.of(u, v, t)
    u += 1
    return u, v


def chosen_with_a_type(u, v, n):
    for t in range(n):
        v = v * 0.5
        if t == 5:
            u: object = v
    u += 1
    return u, v


def chosen_from_a_list(u, v, n):
    for t in range(n):
        v = v * 0.5
        u = [a for a, k in ((u, 0), (v, 5)) if t >= k][-1]
    u += 1
    return u, v


def until_it_is_still(u, n):
    moved = 1.0
    rounds = 0
    while moved > 1e-3 and rounds < n:
        new = smoothed(u, 0.5)
        moved = np.abs(new - u).max()
        u = new
        rounds += 1
    return u, moved, rounds


def conjugate_gradient(A, b, n):
    x = b * 0
    r = b - A @ x
    p = r.copy()
    rr = r @ r
    for k in range(n):  # noqa: B007 - read behind the loop
        if rr < 1e-16:
            break
        Ap = A @ p
        alpha = rr / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return x, k


def left_in_its_midst(u, v, n):
    k = 0
    while True:
        v[1:] = 0.5 * (v[1:] + u[:-1])
        if not v.sum() > 0.1 * (k - n) or k >= n:
            break
        u *= 0.5
        k += 1
        if u.max() < 1e-3:
            break
    return u.sum() + k


def in_turns_until(u, v, n):
    k = 0
    while np.abs(u - v).max() > 0.01:
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
        k += 1
        if k == n:
            break
    return u, v, k


def until_a_number(u, n):
    time = 0.0
    while time < 0.1 * n:
        u = smoothed(u, 0.5)
        time += 0.1
    else:
        u = u + 1
    return u, time


def returned_from(u, n):
    for k in range(2 * n):
        u = smoothed(u, 0.5)
        if k == n and (u.max() > 2 or not u.min() < 0):
            return u, k
    return u


def one_in_another(u, source, n):
    for k in range(n % 7):
        while u.max() > 0.7:
            u = u * 0.9
        u = u + 0.1 * source[k]
    return u


def another_in_one(u, source, n):
    k = 0
    while u.min() < n % 7:
        for t in range(9):
            u = smoothed(u, 0.5) + 0.01 * source[t]
            if u.max() > 5 + k:
                break
        k += 1
    return u, k


def with_a_name_across_a_condition(u, n):
    k = 0
    while True:
        w = u * 2
        if k % 2:  # noqa: SIM108 - what is tried
            half = w * 0.5
        else:
            half = u
        if u.max() < 0.01 or k > n:
            break
        u = w * 0.25 + 0.1 * half
        k += 1
    return u, k


def asked_for_what_the_round_made(u, n):
    for k in range(n):  # noqa: B007 - read behind the loop
        r = u * 0.5 - u
        if np.abs(r).max() < 1e-3:
            break
        u = u + r
    return u, k


def with_names_from_before(u, v, n):
    w, found, last = u * 3, False, -1
    for k in range(n):
        if u.max() < 0.5:
            break
        w = u * 2
        found, last = True, k
        u = u * 0.5 + 0.1 * v
    while u.max() > 100:
        v = u * 0.5
        u = u * 0.5
    return w, found, last, v


def with_a_loop_behind_a_condition(u, n):
    k = 0
    while k < n:
        c = 0.5 / (1 + k)
        if u.max() > 50:
            break
        for _ in range(3):
            u = u * c + 1
        k += 1
    return u


def with_a_parameter_set_in_a_branch(u, b, n):
    if n > 3:
        b = 0.5
    k = 0
    while u.max() > 0.1 and k < n:
        u = u * b
        k += 1
    return u, b


def set_in_a_branch_before(u, b, n):
    if n > 3:
        b = 0.5
    for _ in range(n):
        u = u * b + 0.1 * np.roll(u, 1)
    return u, b


def never_begun(u, n):
    while u.max() > 100 + n:
        u = u * 0.5
    return u


# Loops that a condition ends, by a value of an array's or by a number.
ENDED = {
    f.__name__: (f, args)
    for f, *args in [
        (until_it_is_still, U), (conjugate_gradient, A @ A.T, B), (left_in_its_midst, U, V),
        (in_turns_until, U, V), (until_a_number, U), (never_begun, U), (left_early, U), (returned_from, U),
        (one_in_another, U, SOURCE), (another_in_one, U, SOURCE),
        (with_a_name_across_a_condition, U), (asked_for_what_the_round_made, U),
        (with_names_from_before, U, V),
        (with_a_loop_behind_a_condition, U), (with_a_parameter_set_in_a_branch, U, 0.75),
    ]
}  # fmt: skip
NO_ROUND = ("never_begun", "names_from_before_alone")
ENDED["names_from_before_alone"] = with_names_from_before, [U * 0, V]
# name: (function, arguments but the last)
PROGRAMS = {
    f.__name__: (f, args)
    for f, *args in [
        (heat, U), (heat_in_place, U), (heat_with_edges, GRID), (in_turns, U, V),
        (wave, U, V, 0.3), (gray_scott, GRID, OTHER), (bodies, PLACES, SPEEDS, MASSES, 0.01),
        (logistic, X, Y, W, 0.1), (jacobi, A, B), (adam, X, Y, W), (momentum, X, Y, W),
        (read_by_index, U, SOURCE, 0.01), (a_counter, U, SOURCE), (backwards, U, SOURCE),
        (in_strides, U, SOURCE), (a_branch, U), (helped, U), (twice, U, V),
        (in_a_ring, U, V, V[::-1].copy()), (kept, U, V),
        (set_in_a_branch_before, U, 0.75),
    ]
}  # fmt: skip
# Of those, the ones whose source has no more than 64 rows.
READ_BY_INDEX = ("read_by_index", "a_counter", "backwards", "in_strides")
# Likewise, of loops whose rounds are launched one by one, by Python, or are no loop at all.
OTHERS = {
    f.__name__: (f, args)
    for f, *args in [
        (with_history, U, V), (of_growing_parts, U), (listed, U),
        (with_two_names, U, V), (of_a_view, U), (asked, U), (turned_by_a_branch, U, V),
        (nested, U, SOURCE), (begun, U), (of_the_one_before, U), (of_another_type, U),
        (of_another_dtype, U, V), (of_another_shape, U, V[:4].copy()), (first_alone, U),
        (a_part_of_what_is_made, U), (a_part_of_an_argument, U), (chosen_by_another, U, V),
        (chosen_with_a_type, U, V), (chosen_from_a_list, U, V),
    ]
}  # fmt: skip
