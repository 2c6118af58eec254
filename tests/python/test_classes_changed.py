"""What a function does to classes, and through fused methods, it does at each call."""

import warnings

import numpy as np
import pytest

import opweave as ow
from tests.support.differential import described

LIBRARY_IN_PARTS = True
X = np.array([1.0, 2.0])


class Fresh:
    """Makes a class for each run, since what a function leaves there would be seen by the next."""

    def __init__(self, body):
        self.body = body

    def ran(self, fused):
        class Kept:
            there = 1

        class Empty:
            pass

        class Child(Kept):
            def by_a_name(self, x):
                Child.last = x * 2
                return x

        class Lone:
            def own(self, x):
                type(self).last = x * 2
                return x

            def by_class(self, x):
                self.__class__.last = x * 2
                return x

            @classmethod
            def of_class(cls, x):
                cls.last = x * 2
                return x * 2 if cls is Lone else x * 3

        fn = self.body(Kept, Empty, Child, Lone)
        fn = fused(fn)
        found = []
        for factor in (1, 2, 3):
            found.append(described(fn(X * factor)))
        held = [{k: v for k, v in vars(c).items() if not k.startswith("__")}
                for c in (Kept, Empty, Child, Lone)]  # fmt: skip
        data = [{k: v for k, v in h.items() if not callable(v) and type(v) is not classmethod}
                for h in held]  # fmt: skip
        return found, described(data)


def assigned(kept, empty, child, lone):
    def fn(x):
        empty.last = x * 2
        return x

    return fn


def assigned_to_one_that_holds_others(kept, empty, child, lone):
    def fn(x):
        kept.last = x * 2
        return x

    return fn


def by_setattr(kept, empty, child, lone):
    def fn(x):
        setattr(empty, "last", x * 2)  # noqa: B010
        return x

    return fn


def an_extent(kept, empty, child, lone):
    def fn(x):
        empty.n = x.shape[0]
        return x * 2

    return fn


def in_a_list(kept, empty, child, lone):
    def fn(x):
        empty.both = [x * 2, {"n": x.size}]
        return x * 2

    return fn


def of_a_sort(kept, empty, child, lone):
    def fn(x):
        empty.last = np.sort(x) * 2
        return empty.last + 1

    return fn


def once(kept, empty, child, lone):
    def fn(x):
        if not hasattr(empty, "s"):
            empty.s = x.max()
        return x / empty.s

    return fn


def once_and_printed(kept, empty, child, lone):
    def fn(x):
        if not hasattr(empty, "s"):
            empty.s = x.max()
            print(end="")
        return x / empty.s

    return fn


def once_in_the_dict(kept, empty, child, lone):
    one = child()

    def fn(x):
        if "s5" not in one.__dict__:
            one.__dict__["s5"] = x.max()
        return x / one.s5

    return fn


def of_a_base(kept, empty, child, lone):
    def fn(x):
        child.__mro__[1].last = x * 2
        return x

    return fn


def taken_away(kept, empty, child, lone):
    def fn(x):
        if hasattr(kept, "there"):
            del kept.there
        return x * 2

    return fn


def replaced_method(kept, empty, child, lone):
    def fn(x):
        lone.own = lambda self, y: y * 5
        return lone().own(x)

    return fn


def own(kept, empty, child, lone):
    one = lone()
    return lambda x: one.own(x)


def by_class(kept, empty, child, lone):
    one = lone()
    return lambda x: one.by_class(x)


def of_class(kept, empty, child, lone):
    one = lone()
    return lambda x: one.of_class(x)


def of_class_by_the_class(kept, empty, child, lone):
    return lambda x: lone.of_class(x)


def made_inside(kept, empty, child, lone):
    return lambda x: lone().own(x)


def of_a_child(kept, empty, child, lone):
    one = child()
    return lambda x: one.by_a_name(x)


def before_an_exception(kept, empty, child, lone):
    def fn(x):
        try:
            empty.last = x * 2
            raise KeyError(1)
        except KeyError:
            return x

    return fn


BODIES = [
    assigned, assigned_to_one_that_holds_others, by_setattr, an_extent, in_a_list, of_a_sort, once,
    once_and_printed, once_in_the_dict, of_a_base, taken_away, replaced_method, own, by_class,
    of_class, of_class_by_the_class, of_a_child, made_inside, before_an_exception,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_what_is_put_into_a_class_is_there_as_by_the_plain_function(body):
    run = Fresh(body)

    assert run.ran(lambda fn: fn) == run.ran(ow.fuse)


@pytest.mark.parametrize("body", BODIES)
def test_a_whole_that_changes_a_class_is_refused_and_changes_nothing(body):
    classes = []

    def kept(*made):
        classes.extend(made)
        return body(*made)

    with pytest.raises(ow.OpweaveError):
        Fresh(kept).ran(lambda fn: ow.fuse(fn, fullgraph=True))
    assert "there" in vars(classes[0])
    assert not any({"last", "n", "s", "both"} & vars(c).keys() for c in classes)


def through(fused):
    """Classes whose methods are fused, or not, and functions that reach them."""

    class Base:
        n = 0

        @fused
        def go(self, x):
            self.n += 1
            self.last = x * self.n
            return x

    class Plain:
        n = 0

        def go(self, x):
            self.n += 1
            return x

    class Super(Base):
        @fused
        def go(self, x):
            return super().go(x) * 10

    class OfAPlain(Plain):
        @fused
        def go(self, x):
            return super().go(x) * 10

    class ByClass(Base):
        @fused
        def go(self, x):
            return Base.go(self, x) * 10

    class ByKeyword(Base):
        @fused
        def go(self, x):
            return Base.go(x=x, self=self) * 10

    class Sorted(Base):
        @fused
        def go(self, x):
            return np.sort(super().go(x)) * 10

    return Base, Super, OfAPlain, ByClass, ByKeyword, Sorted


def plainly(fn):
    return fn


@pytest.mark.parametrize("number", range(6))
def test_a_fused_method_that_calls_another_keeps_its_changes(number):
    found = []
    for fused in (plainly, ow.fuse):
        one = through(fused)[number]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ow.OpweaveWarning)
            results = [described(one.go(X)) for _ in range(3)]
        found.append((results, described(vars(one))))

    assert found[0] == found[1]


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("number", range(5))
def test_a_fused_method_changes_an_object_that_is_made_inside(number, fullgraph):
    def made(kind):
        def fn(x):
            one = kind()
            y = one.go(x)
            return one.go(y), one.n

        return fn

    plain, ours = through(plainly)[number], through(ow.fuse)[number]

    assert described(made(plain)(X)) == described(ow.fuse(made(ours), fullgraph=fullgraph)(X))


def test_a_fused_function_inside_of_another_writes_to_out():
    twice = ow.fuse(lambda x: x * 2)

    def into(x):
        y = np.empty_like(x)
        twice(x, out=y)
        return y + 1

    np.testing.assert_array_equal(ow.fuse(into)(X), X * 2 + 1)
