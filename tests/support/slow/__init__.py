"""The tables of the slow tier: what leaves the default one, and what still shows the same there.

One module a folder of tests: its ``TABLE`` has the test functions of a module by its name, or, of
folders beside, by theirs and its.
"""

from importlib import import_module
from pkgutil import iter_modules

SLOW = {
    f"{module if '/' in module else f'{room.name}/{module}'}::{test}": row
    for room in iter_modules(__path__)
    for module, rows in import_module(f"{__name__}.{room.name}").TABLE.items()
    for test, row in rows.items()
}
