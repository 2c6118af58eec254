"""Random functions with loops that call what NumPy, ``math`` and lists have, as text."""

from __future__ import annotations

from tests.loops.random_text import MATCHED, Statement, Writer


class FunctionWriter(Writer):
    """Writes one function, of more calls."""

    def scalar(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.7):
            return super().scalar(depth)
        e, f, v, A = self.scalar(depth - 1), self.whole(0), self.vector(), self.matrix()
        return self.one(
            f"math.sqrt(abs({e}))", f"math.exp({e})", f"math.floor({e})", f"math.atan2({e}, {f})",
            f"({e}) ** ({f})", f"float({e}) ** 0.5", f"2 ** ({f})", f"round({e})", f"0.5 ** ({f})",
            f"math.log(abs({e}) + 1)", f"math.isnan({e})", f"np.var({v})", f"{v}.std()",
            f"np.trace({A})", f"np.linalg.det({A})", f"np.clip({e}, -1, 2)", f"np.array([{e}, 1.0])[0]",
            f"({A} @ {v}[:3])[{self.place()}]", f"np.append({v}, {e})[-1]", f"math.fmod({e}, 2.0)",
        )  # fmt: skip

    def row(self, part: str, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.7):
            return super().row(part, depth)
        e, c, A = self.row(part, depth - 1), self.scalar(0), self.matrix()
        v = f"{self.vector()}[{part or ':'}]"
        return self.one(
            f"np.roll({v}, {self.whole(0)})", f"np.clip({e}, {c}, 2)", f"({e}).astype(np.float64)",
            f"({e}).clip(0, 3)", f"np.round({e})", f"np.concatenate([{v}[:1], {v}[1:]])",
            f"np.stack([{e}, {v}])[{self.one('0', '1')}]", f"np.hstack([{v}[:2], {v}[2:]])",
            f"np.array([{v}, {v}])[0]", f"np.full(len({v}), {c})", f"({e}).ravel()",
            f"np.arange(len({v})) * 0.5", f"np.linalg.solve({A} + np.eye(3) * 9, {v}[:3])",
            f"np.append({v}[1:], {c})", f"{e} + np.diff({v}, 1)[:1]", f"({e}).reshape(-1)",
        )  # fmt: skip

    def grid(self, depth: int = 1) -> str:
        if self.chance(0.6):
            return super().grid(depth)
        e, A, B = self.grid(depth - 1) if depth else self.matrix(), self.matrix(), self.matrix()
        return self.one(
            f"({e}) @ {B}", f"{A} @ {A}.T", f"np.roll({A}, {self.whole(0)}, axis=0)", "np.eye(3)",
            f"np.roll({e}, 1, axis=1)", f"np.concatenate([{A}[:1], {B}[1:]])", f"np.diag({A}[0])",
            f"np.stack([{A}[0], {B}[1], {A}[:, 2]], axis=1)", f"np.vstack([{A}[0], {B}[1:]])",
            f"np.linalg.inv({A} + np.eye(3) * 20)", f"{A}.reshape(3, 3)", f"({e}).astype(float)",
            f"np.array([[1, 2, 3], {A}[0], {B}[:, 0]])", f"np.transpose({e})", f"{A} - np.diagonal({B})",
        )  # fmt: skip

    def line(self) -> str:
        if self.chance(0.6):
            return super().line()
        A, v = self.matrix(), self.vector()
        return self.one(
            f"g.append({self.scalar(1)})", f"h.append({self.row('')})", f"w = {self.row('')}",
            f"w = np.append(w, {self.scalar(0)})", "h.append(w)", f"p, q = np.split({A}[:2], 2)",
            f"v, w = {A}[0], {A}[:, 1]", f"np.fill_diagonal({A}, {self.scalar(0)})",
            f"{A}[0] = {v}[:3]", f"{A}[:] = np.maximum({A}, {self.grid()})", f"w = {A}.flatten()",
            f"{A}.reshape(-1)[{self.place()}] = {self.scalar(0)}", f"s, t = {A}[0, 1], math.pi",
            f"w = np.array([{self.scalar(0)}, {self.scalar(0)}, 0.5])", f"{v}[:] = {v} / (1 + np.abs({v}).max())",
        )  # fmt: skip

    def function(self) -> list[Statement]:
        return ["g, h = [], []", "w = y * 2", *super().function()]


class CallWriter(FunctionWriter):
    """Writes one function, which calls functions that return arrays, too."""

    def line(self) -> str:
        if self.chance(0.7):
            return super().line()
        name, v, c = self.one("v", "w"), self.vector(), self.scalar(0)
        call = self.one("scaled", "halved", "same")
        left, right = self.random.choice(MATCHED)
        return self.one(
            f"{name} = {call}({self.one('v', 'w', v)})", f"{name} = scaled({self.row(left, 1)})",
            f"{v}[{left or ':'}] = scaled({self.row(right, 1)}, {c})", "v, w = w, halved(v)",
            f"{name} = {call}(w) + {call}({v})", f"s = {call}({name})[{self.place()}]",
            f"w = scaled({self.matrix()}, {c})", f"t = np.triu({self.matrix()}, {self.whole(0)}).sum()",
            f"{self.matrix()}[:] = np.tril({self.grid()})", f"v = w = scaled({v})",
            self.named(), self.named(), self.named(), self.named(),
        )  # fmt: skip

    def named(self) -> str:
        """A statement with a function of NumPy's that has no operator of its own."""
        v, A, c, whole = self.vector(), self.matrix(), self.scalar(0), self.whole(0)
        e, ufunc = self.row("", 1), self.one("add", "subtract", "multiply", "maximum", "minimum")
        places = self.one("np.array([0, 1, 1])", f"np.array([{self.place()}, -1])", "np.arange(2)")
        return self.one(
            f"np.{ufunc}.at({v}, {places}, {self.one(c, f'{v}[:2]', 'z[:3]', '0.1')})",
            f"s = np.interp({c}, np.sort({v}), {self.vector()})", f"u = np.allclose({e}, {v})",
            f"v = np.flatnonzero({e} > {c})", f"w = np.tile({v}, {self.one('2', '(2, 1)', 'n')})[0]",
            f"w = np.repeat({v}, {self.one('2', 'n', whole)})", f"t = np.ptp({e})", f"w = np.round({e}, 1)",
            f"s = np.linalg.norm({e}, {self.one('1', 'np.inf', 'None')})", f"w = ({A} + {c}).T",
            f"t = np.mean({e})", f"{v}[np.where({v} > {c})[0]] = {c}", f"v = {A}.swapaxes(0, 1)[0]",
            f"u = np.array_equal({v}, {self.vector()})", f"t = np.isclose({v}, {c}).sum()",
            f"t = np.nansum({e}) + np.inner({v}, {v})", f"w = np.expand_dims({e}, 0)[0]",
            f"{A} += np.transpose({A}, (1, 0))", f"s = np.nonzero({e})[0][{self.place()}]",
        )  # fmt: skip
