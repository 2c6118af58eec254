"""What a function changes outside of itself is changed at each call, also before an exception."""

import functools
import logging
import string
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest

import opweave as ow
from tests.support.differential import described, ran

LIBRARY_IN_PARTS = True
X = np.arange(6.0, dtype=np.float32) + 1
log = logging.getLogger("tests.effects")


def helper(x):
    log.debug("helper sees %d elements", x.size)
    return x * 2


COUNT = 0
SEEN = []
STATE = {"n": 0, "last": None}


class Counter:
    def __init__(self):
        self.n = 0
        self.inner = {"all": []}

    def __call__(self, x):
        self.n += 1
        self.inner["all"].append(self.n)
        self.new = x.sum()
        return x * self.n


HOLDER = Counter()


def counted(x):
    global COUNT
    COUNT += 1
    return x * COUNT


def appended(x):
    SEEN.append(float(x.sum()))
    return x + len(SEEN)


def changed_before_an_exception(x):
    SEEN.append(2)
    raise ValueError("after all")


def changed_before_numpys_exception(x):
    SEEN.append(3)
    return x @ np.ones(100)


def remembered_by_hand(x, n):
    if n not in STATE:
        STATE[n] = np.arange(n)
    STATE["last"] = STATE[n]
    return x[:n] * STATE[n]


def of_a_new_attribute(x):
    HOLDER.fresh = x * 2
    return HOLDER.fresh + 1


def arguments_are_changed(x, numbers, table):
    numbers.append(x.shape[0])
    numbers[0] += 1
    table["x"] = x * 2
    table["numbers"] = numbers
    del table["old"]
    return x + 1


def nested(x):
    total = 0

    def add(n):
        nonlocal total
        total += n

    add(2)
    add(3)
    return x * total


def swapped(x, pair):
    pair["a"], pair["b"] = pair["b"], pair["a"]
    return x


def closure():
    calls = 0

    def counting(x):
        nonlocal calls
        calls += 1
        return x * calls

    return counting


@dataclass(slots=True, eq=False)
class Slotted:
    n: int
    last: object = None


def of_slots(x, p):
    p.n += 1
    p.last = x * 2
    return x * p.n


@dataclass
class Open:
    n: int = 0


OPEN = Open()


def of_a_new_field(x):
    OPEN.fresh = 2
    return


def stores_a_default(x):
    SEEN.append(lambda v, k=x * 2: v + k)
    return SEEN[0](1)


class Key:
    seen = []  # noqa: RUF012

    def __init__(self):
        self.n = 0

    def noted(self, x):
        if self not in Key.seen:
            Key.seen.append(self)
        self.n += 1
        return x * len(Key.seen)


KEY = Key()
TALLY = {}


def tallied(x):
    TALLY[KEY] = TALLY.get(KEY, 0) + 1
    return x + TALLY[KEY]


def noted_by_its_class(x):
    Key.seen.clear()
    y = KEY.noted(x) + KEY.noted(x)
    return y * (2 if Key.seen[0] is KEY else 3)


def looked_up(x):
    return x + TALLY.get(KEY, 5)


HELD = [1]
push = HELD.append
take = HELD.pop
note = HOLDER.__call__


def pushed(x):
    push(x.sum())
    return np.sort(x) * (len(HELD) if HELD is not None else 0)


def pushed_unseen(x):
    push(x * 2)
    return np.sort(x) * take()


def by_a_bound_method(x):
    return note(np.sort(x)) + HOLDER.n


class Link:
    def __init__(self, behind):
        self.behind, self.value = behind, 1


LINKS = functools.reduce(lambda behind, _: Link(behind), range(5000), None)


def deep_within(x):
    print(end="")
    LINKS.value = x * 2
    return LINKS.value + 1


@functools.cache
def cached(key):
    SEEN.append("cached")
    return [key, 1]


class Keeper:
    @functools.lru_cache  # noqa: B019
    def kept(self, n):
        SEEN.append(n)
        return n + len(SEEN)


class Duck:
    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        SEEN.append("array")
        return np.array(self.data, dtype)


def noted(v):
    SEEN.append("noted")
    return v


VECTORIZED = np.vectorize(noted)


def beside_a_cache(x):
    SEEN.append("first")
    found = cached("text")
    SEEN.append(len(SEEN))
    return np.sort(x) * len(found)


def beside_a_method_that_numpy_calls(x):
    SEEN.append("first")
    made = np.add(Duck(x), 1)
    SEEN.append(len(SEEN))
    return made


def beside_a_function_of_others(x):
    global COUNT
    SEEN.append("first")
    COUNT += 1
    made = VECTORIZED(x)
    SEEN.append(len(SEEN))
    return made * COUNT


def called_back(x):
    SEEN.append("first")
    made = sorted([3, 1, 2], key=lambda v: (SEEN.append(v), v)[1])
    SEEN.append(len(SEEN))
    return np.sort(x) * made[0]


def called_back_by_a_library(x):
    SEEN.append("first")
    found = string.Formatter().vformat("{0}", (Formatted(),), {})
    SEEN.append(found)
    return np.sort(x)


class Formatted:
    def __format__(self, spec):
        SEEN.append("formatted")
        return str(len(SEEN))


def of_an_empty_part(x):
    return np.piecewise(np.sort(x), [x > 100, x > 2], [noted, noted, 0])


def a_view_in_a_container(x):
    part = x[:2]
    found = defaultdict(list, a=[part])
    print(end="")
    return found, found, part


def a_partial_comes_back(x, p):
    print(p is None)
    return x * 2, p, p


CHANGES = {
    "beside a cache": lambda: (beside_a_cache, X),
    "a cache alone": lambda: (lambda x: x * cached("alone")[1], X),
    "a cache of a method": lambda: (lambda x, c: np.sort(x) * c.kept(2) * c.kept(2), X, Keeper()),
    "beside a method that NumPy calls": lambda: (beside_a_method_that_numpy_calls, X),
    "beside a function of others": lambda: (beside_a_function_of_others, X),
    "called back": lambda: (called_back, X),
    "called back by a library": lambda: (called_back_by_a_library, X),
    "a piece without elements": lambda: (of_an_empty_part, X),
    "a method in a variable": lambda: (pushed, X),
    "a method of a list that is not read": lambda: (pushed_unseen, X),
    "a method of an object": lambda: (by_a_bound_method, X),
    "objects linked deeply": lambda: (deep_within, X),
    "a dataclass's new attribute": lambda: (of_a_new_field, X),
    "a dataclass with slots": lambda: (of_slots, X, Slotted(1)),
    "a look-up by an object": lambda: (looked_up, X, TALLY.setdefault(KEY, 1))[:2],
    "a table by an object": lambda: (tallied, X),
    "an object in a list of its class": lambda: (noted_by_its_class, X),
    "a global": lambda: (counted, X),
    "a global list": lambda: (appended, X),
    "before an exception": lambda: (changed_before_an_exception, X),
    "a table of results": lambda: (remembered_by_hand, X, 3),
    "an object": lambda: (lambda x, c: c(x), X, Counter()),
    "a global object": lambda: (lambda x: HOLDER(x), X),
    "a new attribute": lambda: (of_a_new_attribute, X),
    "arguments": lambda: (arguments_are_changed, X, [1, 2], {"old": 1}),
    "a variable of its own": lambda: (nested, X),
    "a variable of an enclosing function": lambda: (closure(), X),
    "one for the other": lambda: (swapped, X, {"a": X, "b": [1]}),
}


@pytest.mark.host
@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_outside_is_changed_at_each_call(name):
    found = {}
    for kind in ("plain", "fused"):
        global COUNT
        COUNT = 0
        SEEN.clear()
        STATE.clear()
        STATE.update(n=0, last=None)
        TALLY.clear()
        HELD[:] = [1]
        cached.cache_clear()
        HOLDER.__dict__.clear()
        HOLDER.__init__()
        fn, *args = CHANGES[name]()
        did = ran(fn if kind == "plain" else ow.fuse(fn), args)
        state = STATE, HOLDER, dict(vars(OPEN)), HELD, LINKS.value
        vars(OPEN).pop("fresh", None)
        found[kind] = [did, COUNT, list(SEEN), described(state)]

    assert found["fused"] == found["plain"]


@pytest.mark.host
def test_what_is_one_object_is_one_in_a_result():
    found, again, part = ow.fuse(a_view_in_a_container)(X)
    assert found is again
    assert found["a"][0] is part
    given = functools.partial(helper, 2)
    _, one, other = ow.fuse(a_partial_comes_back)(X, given)
    assert one is other is given


@pytest.mark.host
def test_what_is_changed_before_an_error_of_ours_is_changed():
    SEEN.clear()
    fused = ow.fuse(changed_before_numpys_exception)
    for _ in range(2):
        with pytest.raises(ValueError, match="matmul"):
            fused(X)

    assert SEEN == [3, 3]


def raising(error):
    raise error


@pytest.mark.host
def test_a_default_that_is_stored_is_an_array():
    SEEN.clear()
    fused = ow.fuse(stores_a_default)
    for _ in range(3):
        assert type(fused(X)) is np.ndarray
    SEEN.clear()


class Carrying(Exception):
    pass


STORED = []


def stores_a_closure(x):
    k = x * 2
    STORED.append(lambda v: v + k)
    return [h(1) for h in STORED]


def raises_with_an_array(x):
    np.sort(x)
    raise Carrying(x * 2)


@pytest.mark.host
def test_a_closure_that_is_stored_holds_arrays():
    STORED.clear()
    fused = ow.fuse(stores_a_closure)
    for n in range(1, 4):
        found = fused(X)
        assert [type(v) for v in found] == [np.ndarray] * n
        np.testing.assert_array_equal(found[-1], X * 2 + 1)


@pytest.mark.host
@pytest.mark.parametrize("fn", [raises_with_an_array, lambda x: raising(Carrying(x * 2))])
def test_an_exception_carries_arrays(fn):
    with pytest.raises(Carrying) as caught:
        ow.fuse(fn)(X)

    assert type(caught.value.args[0]) is np.ndarray


class Announced:
    """An array that says so when it is asked for."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        ANNOUNCED.append("asked")
        return np.array(self.data, dtype)


ANNOUNCED = []


def fails_after_a_change(x):
    np.asarray(Announced(1.0))
    raise LookupError("after it")


@pytest.mark.host
def test_a_change_before_an_exception_is_never_lost():
    ANNOUNCED.clear()
    with pytest.raises(LookupError, match="after it"):
        ow.fuse(fails_after_a_change)(X)
    assert ANNOUNCED == ["asked"]
    with pytest.raises(ow.OpweaveError, match="changes ANNOUNCED"):
        ow.fuse(fails_after_a_change, fullgraph=True)(X)


def test_a_variable_that_is_deleted_is_gone():
    total = 1

    def forgets(x):
        nonlocal total
        del total
        return np.sort(x)

    ow.fuse(forgets)(X)
    with pytest.raises(NameError):
        print(total)
