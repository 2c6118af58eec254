"""A part of torch's graph that runs as kernels of ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave._functions.fused import Fused
from opweave._interchange.torch_tensors import tensors
from opweave._torch.recipes import Recipe, RecipeFunction, recipe_of
from opweave._torch.table import name_of
from opweave.compiler.pipeline.driver import Options
from opweave.opcodes.errors import OpweaveError, OpweaveWarning
from opweave.runtime.calls.prepared import Prepared

OPTIONS = Options(fullgraph=True, writes=False)
# Shapes of a partition for which prepared calls are kept.
MOST_KEPT = 64
Give = Callable[[Any], Any]
Arrays = list[Any]


class Whole(NamedTuple):
    """A prepared call, and what must hold of tensors for it.

    Attributes:
        numbers: integers among the arguments, by place.
        arrays: place, shape and strides of each tensor.
        give: for each result what makes a tensor of it.
        constants: arrays that each call gets, the last of its arguments.
    """

    prepared: Prepared
    numbers: tuple[tuple[int, int], ...]
    arrays: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]
    give: tuple[Give, ...]
    constants: Arrays
    is_one: bool

    def views(self, given: Sequence[Any]) -> list[Any] | None:
        """NumPy's arrays on the memory of the tensors; None where they are not like these."""
        for place, number in self.numbers:
            if given[place] != number:
                return None
        found: list[Any] = []
        for place, shape, strides in self.arrays:
            view = seen(given[place])
            if view.strides != strides or view.shape != shape:
                return None
            found.append(view)
        return found + self.constants

    def run(self, views: Sequence[Any]) -> Any:
        """Tensors of the results."""
        found = self.prepared(views, {})
        if self.is_one:
            return self.give[0](found[0])
        return tuple(give(array) for give, array in zip(self.give, found, strict=True))


class Partition:
    """Runs a part of a graph for tensors.

    What cannot be compiled, and a call that raises an error, is torch's own: so an index that has
    no element raises what torch raises.

    Attributes:
        module: the part, as torch runs it.
    """

    def __init__(self, module: Any, name: str):
        self.module, self.name = module, name
        self.recipe: Recipe | None = recipe_of(module)
        self._last: Whole | None = None
        self._known: dict[Any, Whole] = {}
        self._fused: dict[tuple[int, ...], tuple[Fused, Arrays]] = {}

    def __call__(self, *given: Any) -> Any:
        whole = self._last
        if whole is not None and (views := whole.views(given)) is not None:
            try:
                return whole.run(views)
            except OpweaveError:
                return self.module(*given)
        return self._slowly(given)

    def _slowly(self, given: Sequence[Any]) -> Any:
        """A call unlike the last one."""
        recipe = self.recipe
        if recipe is None:
            return self.module(*given)
        try:
            if any(given[place].is_cuda for place in recipe.arrays):
                return self._on_gpu(recipe, given)
            whole = self._last = self._whole(recipe, given)
            views = whole.views(given)
        except Exception as error:
            self._leave(error)
            return self.module(*given)
        assert views is not None
        try:
            return whole.run(views)
        except OpweaveError:
            return self.module(*given)

    def _whole(self, recipe: Recipe, given: Sequence[Any]) -> Whole:
        numbers = tuple(given[place] for place in recipe.numbers)
        views = [seen(given[place]) for place in recipe.arrays]
        key = numbers, tuple((view.shape, view.strides) for view in views)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            found = self._known[key] = self._prepared(recipe, numbers, views)
        return found

    def _prepared(self, recipe: Recipe, numbers: tuple[int, ...], views: Sequence[Any]) -> Whole:
        fused, constants = self._fused_for(recipe, numbers)
        ready, _ = fused.bound((*views, *constants))
        prepared = ready.prepared
        counted("kernels", len(ready.found.lowered.kernels))
        return Whole(
            prepared,
            tuple(zip(recipe.numbers, numbers, strict=True)),
            tuple((p, v.shape, v.strides) for p, v in zip(recipe.arrays, views, strict=True)),
            tuple(map(giving, recipe.orders)),
            constants,
            recipe.is_one,
        )

    def _fused_for(self, recipe: Recipe, numbers: tuple[int, ...]) -> tuple[Fused, Arrays]:
        """The function for these integers, and the arrays that follow from them."""
        if numbers not in self._fused:
            if len(self._fused) >= MOST_KEPT:
                self._fused.clear()
            made = RecipeFunction(self.name, recipe, numbers)
            self._fused[numbers] = Fused(made, (), OPTIONS), made.constants
        return self._fused[numbers]

    def _on_gpu(self, recipe: Recipe, given: Sequence[Any]) -> Any:
        """The call through CuPy, which knows the stream."""
        numbers = tuple(given[place] for place in recipe.numbers)
        fused, constants = self._fused_for(recipe, numbers)
        arrays = [given[place].detach() for place in recipe.arrays]
        device = arrays[0].device
        copies = (tensors().give(array.copy(), None).to(device) for array in constants)
        found = fused(*arrays, *copies)
        rows = zip(found, recipe.orders, strict=True)
        results = tuple(t if order is None else t.permute(inverse(order)) for t, order in rows)
        return results[0] if recipe.is_one else results

    def _leave(self, error: Exception) -> None:
        """Leave the part to torch from now on, and say so."""
        self.recipe = None
        operators = dict.fromkeys(
            name_of(node.target) for node in self.module.graph.nodes if node.op == "call_function"
        )
        warnings.warn(
            f"torch.compile: {self.name} ({', '.join(operators)}) is left to PyTorch: "
            f"{type(error).__name__}: {error}",
            OpweaveWarning,
            stacklevel=2,
        )


def seen(tensor: Any) -> Any:
    """A tensor's elements as an array of NumPy's, whether or not it requires grad."""
    return tensors().view(tensor.detach() if tensor.requires_grad else tensor)


def giving(order: tuple[int, ...] | None) -> Give:
    """What makes a tensor of a result whose axes are in this order."""
    back = None if order is None else inverse(order)
    give = tensors().give

    def given(array: Any) -> Any:
        found = give(np.asarray(array), None)
        if array.size == 0:  # whose strides torch has otherwise
            found = found.new_empty(found.shape)
        return found if back is None else found.permute(back)

    return given


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that undoes another."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def counted(what: str, number: int) -> None:
    """Add to torch's own counters, ``torch._dynamo.utils.counters["opweave"]``."""
    from torch._dynamo.utils import counters

    counters["opweave"][what] += number
