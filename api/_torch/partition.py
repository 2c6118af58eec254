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
from opweave.configuration import config
from opweave.opcodes.errors import OpweaveError, OpweaveWarning
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.steps import Step

OPTIONS = Options(fullgraph=True, writes=False)
# Shapes of a partition for which prepared calls are kept.
MOST_KEPT = 64
Give = Callable[[Any], Any]
Arrays = list[Any]


class Likeness(NamedTuple):
    """What must hold of tensors for a prepared call.

    Attributes:
        numbers: integers among the arguments, by place.
        arrays: place, shape and strides of each tensor.
    """

    numbers: tuple[tuple[int, int], ...]
    arrays: tuple[tuple[int, Any, tuple[int, ...]], ...]

    def found(self, given: Sequence[Any]) -> list[Any] | None:
        """The tensors; None where they are not like these."""
        for place, number in self.numbers:
            if given[place] != number:
                return None
        found = []
        for place, shape, strides in self.arrays:
            tensor = given[place]
            if tensor.shape != shape or tensor.stride() != strides:
                return None
            found.append(tensor)
        return found


class WholePart(NamedTuple):
    """A prepared call.

    Attributes:
        like: what must hold of tensors for it.
        give: for each result what makes a tensor of it.
        constants: arrays that each call gets, the last of its arguments.
        step: the only kernel, which takes addresses; None where there are others.
        numbers: that it takes.
    """

    prepared: Prepared
    step: Step | None
    like: Likeness
    give: tuple[Give, ...]
    constants: Arrays
    numbers: Sequence[Any]
    is_one: bool

    def run(self, given: Sequence[Any]) -> Any:
        """Tensors of the results for tensors like those that it was prepared for."""
        if self.step is not None:
            plan = self.prepared.plan
            own = [*given, *self.constants, *plan.made()]
            self.step.start(own, self.numbers, address)
            found = [own[array] for array in plan.outputs]
        else:
            found = self.prepared([*map(seen, given), *self.constants], {})
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
        self._last: WholePart | None = None
        self._known: dict[Any, WholePart] = {}
        self._fused: dict[tuple[int, ...], tuple[Fused, Arrays]] = {}

    def __call__(self, *given: Any) -> Any:
        whole = self._last
        if whole is None or (found := whole.like.found(given)) is None:
            return self._slowly(given)
        try:
            return whole.run(found)
        except OpweaveError:
            return self.module(*given)

    def _slowly(self, given: Sequence[Any]) -> Any:
        """A call unlike the last one."""
        recipe = self.recipe
        if recipe is None:
            return self.module(*given)
        arrays = [given[place] for place in recipe.arrays]
        on_gpu = config.device == "cuda" or any(tensor.is_cuda for tensor in arrays)
        try:
            numbers = tuple(given[place] for place in recipe.numbers)
            fused, constants = self._fused_for(recipe, numbers)
            if on_gpu:
                return self._through_cupy(recipe, fused, arrays, constants)
            whole = self._last = self._whole(recipe, fused, numbers, arrays, constants)
        except Exception as error:
            self._leave(error)
            return self.module(*given)
        try:
            return whole.run(arrays)
        except OpweaveError:
            return self.module(*given)

    def _whole(
        self, recipe: Recipe, fused: Fused, numbers: Sequence[int], arrays: Arrays,
        constants: Arrays,
    ) -> WholePart:  # fmt: skip
        """The call that is prepared for these tensors."""
        rows = zip(recipe.arrays, arrays, strict=True)
        like = Likeness(
            tuple(zip(recipe.numbers, numbers, strict=True)),
            tuple((place, tensor.shape, tensor.stride()) for place, tensor in rows),
        )
        if (found := self._known.get(like)) is not None:
            return found
        ready, _ = fused.bound((*map(seen, arrays), *constants))
        prepared, plan = ready.prepared, ready.prepared.plan
        step = prepared.single
        takes_addresses = step and step.launch is not None and not step.passes_arrays
        counted("kernels", len(ready.found.lowered.kernels))
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        found = self._known[like] = WholePart(
            prepared, step if takes_addresses else None, like,
            tuple(map(giving, recipe.orders)), constants,
            plan.numbers(prepared.extents) if plan.scalars else (), recipe.is_one,
        )  # fmt: skip
        return found

    def _fused_for(self, recipe: Recipe, numbers: tuple[int, ...]) -> tuple[Fused, Arrays]:
        """The function for these integers, and the arrays that follow from them."""
        if numbers not in self._fused:
            if len(self._fused) >= MOST_KEPT:
                self._fused.clear()
            made = RecipeFunction(self.name, recipe, numbers)
            self._fused[numbers] = Fused(made, (), OPTIONS), made.constants
        return self._fused[numbers]

    def _through_cupy(
        self, recipe: Recipe, fused: Fused, arrays: Arrays, constants: Arrays
    ) -> Any:
        """A call on a GPU; CuPy knows the stream."""
        device = arrays[0].device
        copies = (tensors().give(array.copy(), None).to(device) for array in constants)
        found = fused(*(tensor.detach() for tensor in arrays), *copies)
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


def address(array: Any, offset: int = 0) -> int:
    """Where the first element of a tensor lies, or of an array of NumPy's."""
    if type(array) is np.ndarray:
        return pointer(array, offset)
    return int(array.data_ptr()) + offset


def giving(order: tuple[int, ...] | None) -> Give:
    """What makes a tensor of a result whose axes are in this order."""
    back = None if order is None else inverse(order)
    give, quick = tensors().give, tensors().from_numpy

    def given(array: Any) -> Any:
        plain = type(array) is np.ndarray and array.dtype.isbuiltin == 1 and array.size
        found = quick(array) if plain else give(np.asarray(array), None)
        if not plain and array.size == 0:  # whose strides torch has otherwise
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
