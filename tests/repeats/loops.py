"""What tests of ``ow.repeat`` share: the loop in Python, arrays, and steps."""

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (12, 9))
F = RNG.standard_normal((60, 12, 9))
RATES = RNG.uniform(0, 1, 60)
W = RNG.standard_normal((9, 9)) / 9


def plain(step, n, args, counter=None, until=None, every=1):
    """The loop in Python, of the step as it is, by NumPy; and how many rounds there were."""
    args, found, rounds = list(args), None, 0
    for number in range(n):
        found = step(*args, **({} if counter is None else {counter: number}))
        state = found if isinstance(found, tuple) else (found,)
        # of an argument without dimensions NumPy makes a number
        args[: len(state)] = [np.asarray(a) if isinstance(b, np.ndarray) else a
                              for a, b in zip(state, args, strict=False)]  # fmt: skip
        rounds = number + 1
        if until is not None and rounds % every == 0 and until(*args[: len(state)]):
            break
    return args[: len(state)] if n else args, rounds


def agree(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert isinstance(b, np.ndarray) or type(a) is type(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def adam(w, m, v, x, i):
    g = 2 * (w - x)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    unbiased = m / (1 - 0.9 ** (i + 1)), v / (1 - 0.999 ** (i + 1))
    return w - 0.01 * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8), m, v


def heat(u, f, dt, i):
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    new = u.copy()
    new[1:-1, 1:-1] = inner + dt * (around - 4 * inner) + dt * f[i, 1:-1, 1:-1]
    return new


def decaying(w, rate, x):
    return w - rate * (w - x), rate * 0.9


def newton(x, change):
    new = 0.5 * (x + 2 / x)
    return new, np.abs(new - x).max()


def alternating(x, i):
    return x + i if i % 2 == 0 else x * 2


def first_apart(x, f, i):
    return f[0] if i == 0 else 0.5 * x + f[i - 1]


def pascal(x, i):
    y = x * 1.5
    y[i % 12] = y[(i + 1) % 12] + 1
    return y


def momentum(x, v, f, k):
    v = 0.9 * v + f[k]
    return x - v, v
