"""Values of other libraries, and what to write so that they become arrays or numbers.

Nothing is imported: a value is known by the module and the name of its class, or of one that it
is derived from.  A row holds for a module and all below it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

ANY = ""
AS_ARRAY_OR_CUPY = "np.asarray({x}), or on a GPU cupy.from_dlpack({x})"
AS_ARRAY, AS_CUPY, AS_NUMBER = "np.asarray({x})", "cupy.asarray({x})", "float({x})"
# (module, class): what to write in the place of {x}.  The first row counts that fits a class or
# one of its bases, and whose method the class has.
REMEDIES: dict[tuple[str, str], str] = {
    ("pandas", ANY): "{x}.to_numpy()",
    ("modin", ANY): "{x}.to_numpy()",
    ("polars", ANY): "{x}.to_numpy()",
    ("pyarrow", ANY): "{x}.to_numpy()",
    ("cudf", ANY): "{x}.to_cupy()",
    ("xarray", "Dataset"): "{x}[name].values for each of its variables",
    ("xarray", ANY): "{x}.values",
    ("jax", "Tracer"): "values from outside of jax.jit: there are none yet where JAX traces",
    ("jax", "Array"): AS_ARRAY_OR_CUPY,
    ("jaxlib", ANY): AS_ARRAY_OR_CUPY,
    ("torch", ANY): "{x}.detach().cpu().numpy(), or on a GPU cupy.from_dlpack({x}.detach())",
    ("tensorflow", ANY): "{x}.numpy()",
    ("mlx", "array"): AS_ARRAY,
    ("dask", ANY): "{x}.compute()",
    ("scipy.sparse", ANY): "{x}.toarray()",
    ("cupyx.scipy.sparse", ANY): "{x}.toarray()",
    ("sparse", ANY): "{x}.todense()",
    ("numba.cuda", "DeviceNDArrayBase"): AS_CUPY,
    ("PIL", "Image"): AS_ARRAY,
    ("h5py", "Dataset"): "{x}[...]",
    ("zarr", "Array"): "{x}[...]",
    ("netCDF4", "Variable"): "{x}[...]",
    ("array", "array"): AS_ARRAY,
    ("_ctypes", "Array"): "np.ctypeslib.as_array({x})",
    ("_ctypes", "_SimpleCData"): "{x}.value",
    ("builtins", "memoryview"): AS_ARRAY,
    ("builtins", "bytearray"): "np.frombuffer({x}, np.uint8)",
    ("builtins", "range"): "np.arange({x}.start, {x}.stop, {x}.step)",
    ("decimal", "Decimal"): AS_NUMBER,
    ("fractions", "Fraction"): AS_NUMBER,
    ("mpmath", "mpf"): AS_NUMBER,
    ("sympy", "Expr"): AS_NUMBER,
}
# For classes without a row: what to write, by the protocol that the class has.
PROTOCOLS = {
    "__cuda_array_interface__": AS_CUPY,
    "__array__": AS_ARRAY,
    "__array_interface__": AS_ARRAY,
    "__array_struct__": AS_ARRAY,
    "__dlpack__": "np.from_dlpack({x})",
}
MOST_CLASSES = 1024


def remedy(value: Any, name: str = "x") -> str:
    """What to write for a value of another library, "" where nobody knows.

    >>> import fractions
    >>> remedy(fractions.Fraction(1, 3), "ratio")
    'float(ratio)'
    """
    kind: Any = type(value)
    return _remedy(kind).replace("{x}", name)


@lru_cache(MOST_CLASSES)
def is_foreign(kind: type) -> bool:
    """True for a library's class with a row of its own: its objects are values, not containers."""
    return bool(_row(kind, (kind,)))


@lru_cache(MOST_CLASSES)
def row_of(kind: type) -> str:
    """What the row of a library's class, or of one that it is derived from, says; "" for none."""
    return _row(kind, kind.__mro__)


@lru_cache(MOST_CLASSES)
def _remedy(kind: type) -> str:
    protocols = (text for name, text in PROTOCOLS.items() if hasattr(kind, name))
    return row_of(kind) or next(protocols, "")


def _row(kind: type, classes: tuple[type, ...]) -> str:
    """The first row for one of the classes, if ``kind`` has the method that the row uses."""
    places = [(f"{c.__module__}.", c.__name__) for c in classes]
    for (module, name), text in REMEDIES.items():
        method = re.match(r"\{x\}\.(\w+)", text)
        if (method is None or hasattr(kind, method[1])) and any(
            place.startswith(f"{module}.") and name in (ANY, called) for place, called in places
        ):
            return text
    return ""
