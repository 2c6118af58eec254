"""What stands beside the function of a program, by the name that it reads; and what is imported.

A text may name others of the table; upper case names are state, which is compared after each call.
"""

from __future__ import annotations

import re

IMPORTS: dict[str, str] = {
    "np": "import numpy as np",
    "foreign": "import fuzz_foreign as foreign",
    "own": "import fuzz_own as own",
    "abc": "import collections.abc as abc",
    "datetime": "import datetime",
    "linalg": "import scipy.linalg as linalg",
    "ndimage": "import scipy.ndimage as ndimage",
    "signal": "import scipy.signal as signal",
    "special": "import scipy.special as special",
} | {
    name: f"import {name}"
    for name in (
        "array bisect collections contextlib copy dataclasses decimal enum fractions functools hashlib heapq inspect io "
        "itertools json logging math numbers operator os pathlib pickle pprint random statistics string struct sys tempfile "
        "threading time types typing warnings weakref zlib"
    ).split()
}  # fmt: skip

BESIDE: dict[str, str] = {
    "LOGGER": "LOGGER = logging.getLogger('fuzz')",
    "MISSING": "MISSING = object()",
    "G_NUMBER": "G_NUMBER = 3",
    "G_FLAG": "G_FLAG = True",
    "G_COUNT": "G_COUNT = 0",
    "G_ARRAY": "G_ARRAY = np.arange(4.0)",
    "KEPT": "KEPT = np.arange(4.0)",
    "STATE": "STATE = {'calls': 0, 'last': None}",
    "SEEN": "SEEN = []",
    "CACHE": "CACHE = {}",
    "BIG": "BIG = [float(n) for n in range(2000)]",
    "BIG_SET": "BIG_SET = set(range(3000))",
    "BUFFER": "BUFFER = io.StringIO()",
    "IDS": "IDS = itertools.count(1)",
    "RNG": "RNG = np.random.default_rng(5)",
    "NP": "NP = np",
    "NP_SUM": "NP_SUM = np.sum",
    "EVENT": "EVENT = threading.Event()",
    "stamps": "stamps = []",
    "Color": "class Color(enum.Enum):\n    RED = 1\n    BLUE = 2",
    "Level": "class Level(enum.IntEnum):\n    LOW = 1\n    HIGH = 3",
    "Celsius": "class Celsius(float):\n    def warmer(self):\n        return Celsius(self + 1)",
    "Pair": "Pair = collections.namedtuple('Pair', 'left right')",
    "Typed": "class Typed(typing.NamedTuple):\n    data: object\n    flag: bool = True",
    "Box": "@dataclasses.dataclass\nclass Box:\n    data: object\n    flag: bool = True\n    total: int = 0",
    "Frozen": "@dataclasses.dataclass(frozen=True)\nclass Frozen:\n    data: object\n    flag: bool = True\n    total: int = 0",
    "Slots": "class Slots:\n    __slots__ = ('data', 'flag', 'total')\n\n    def __init__(self, data, flag=True):\n        self.data, self.flag, self.total = data, flag, 0",
    "Model": "class Model:\n    scale = 2\n\n    def __init__(self, data, flag=True):\n        self.data, self.flag, self.total, self.log = data, flag, 0, []\n\n    @property\n    def size(self):\n        self.log.append('size')\n        return len(self.data)\n\n    def step(self, v):\n        self.total += 1\n        return self.data * self.scale + v",
    "HOLDER": "HOLDER = Box(np.ones(4))",
    "UNREAD": "class Unread:\n    def __init__(self):\n        self.big = list(range(3000))\n        self.by = 2\n\n    def other(self):\n        return len(self.big)\n\nUNREAD = Unread()",
    "AttrDict": "class AttrDict(dict):\n    __getattr__ = dict.get",
    "Shaped": "@typing.runtime_checkable\nclass Shaped(typing.Protocol):\n    shape: tuple",
    "Units": "class Units(np.ndarray):\n    def __new__(cls, values, unit='m'):\n        made = np.asarray(values, float).view(cls)\n        made.unit = unit\n        return made\n\n    def __array_finalize__(self, other):\n        self.unit = getattr(other, 'unit', '')\n\n    def __array_ufunc__(self, ufunc, method, *inputs, **named):\n        plain = [np.asarray(v) * (1000.0 if getattr(v, 'unit', '') == 'km' else 1.0) for v in inputs]\n        named.pop('out', None)\n        found = getattr(ufunc, method)(*plain, **named)\n        return Units(found, 'm') if isinstance(found, np.ndarray) else found",
    "Tagged": "class Tagged(np.ndarray):\n    def __array_finalize__(self, other):\n        self.tag = getattr(other, 'tag', 0) + 1",
    "Empty": "class Empty(np.ndarray):\n    pass",
    "Loud": "class Loud(np.ndarray):\n    def __array_function__(self, func, kinds, args, named):\n        SEEN.append(func.__name__)\n        return super().__array_function__(func, kinds, args, named)",
    "Sized": "class Sized(np.ndarray):\n    def sum(self, *args, **named):\n        return 'my sum'\n\n    def __getitem__(self, key):\n        if isinstance(key, int) and key >= len(self):\n            raise IndexError(key)\n        return ('item', key if isinstance(key, int) else 'slice')",
    "Duck": "class Duck:\n    def __init__(self, data):\n        self.data = data\n\n    def __array__(self, dtype=None, copy=None):\n        SEEN.append('array')\n        return np.array(self.data, dtype)",
    "Ufunc": "class Ufunc:\n    def __init__(self, data):\n        self.data = data\n\n    def __array_ufunc__(self, ufunc, method, *inputs, **named):\n        return (ufunc.__name__, method, len(inputs))\n\n    def __add__(self, other):\n        return 'added'\n\n    __radd__ = __add__",
    "Function": "class Function:\n    shape = (2,)\n\n    def __array_function__(self, func, kinds, args, named):\n        return func.__name__",
    "Answers": "class Answers:\n    def __getattr__(self, name):\n        return name",
    "Liar": "class Liar:\n    @property\n    def __class__(self):\n        return np.ndarray",
    "Equal": "class Equal:\n    def __eq__(self, other):\n        return np.array([True, False])\n\n    def __hash__(self):\n        return 1",
    "act": "def act(v):\n    return v * 2 + 1",
    "other_act": "def other_act(v):\n    return v - 1",
    "noted": "def noted(v):\n    SEEN.append('noted')\n    return v",
    "noisy": "def noisy(v):\n    print('noisy')\n    return v + 1",
    "warned": "def warned(v):\n    warnings.warn('from a helper')\n    return v * 2",
    "blamed": "def blamed(v):\n    warnings.warn('old', DeprecationWarning, stacklevel=2)\n    return v + 1",
    "flagged": "def flagged(v, flag=True):\n    return v if flag is True else v * 0",
    "optional": "def optional(v, w=None, *, how=MISSING):\n    return (w is None, how is MISSING, v is w)",
    "array_module": "def array_module(*args):\n    if any(type(a).__module__.startswith('cupy') for a in args):\n        raise ImportError('cupy')\n    return np",
    "counting": "def counting(v):\n    global G_COUNT\n    G_COUNT += 1\n    return v + G_COUNT",
    "attributed": "def attributed(v):\n    attributed.calls += 1\n    return v\n\n\nattributed.calls = 0",
    "cached": "@functools.lru_cache(maxsize=None)\ndef cached(key):\n    SEEN.append('cached')\n    return [key, 1]",
    "dispatched": "@functools.singledispatch\ndef dispatched(v):\n    return 'object'\n\n\n@dispatched.register\ndef _(v: np.ndarray):\n    return 'array'\n\n\n@dispatched.register\ndef _(v: int):\n    return 'int'\n\n\n@dispatched.register\ndef _(v: float):\n    return 'float'\n\n\n@dispatched.register\ndef _(v: list):\n    return 'list'",
    "pieces": "def pieces(v):\n    for row in v:\n        SEEN.append('piece')\n        yield row + 1",
    "ticker": "def made_ticker():\n    count = 0\n\n    def ticker():\n        nonlocal count\n        count += 1\n        return count\n\n    return ticker\n\n\nticker = made_ticker()",
    "inner": "@fuse\ndef inner(v):\n    SEEN.append('inner')\n    return v + 1",
    "asking": "@fuse\ndef asking(v, flag=True):\n    return flag is True, isinstance(v, np.ndarray), v * 2",
    "mapped": "def mapped(values):\n    made = np.memmap(os.path.join(FOLDER, 'mapped'), float, 'w+', shape=(len(values),))\n    made[:] = values\n    return made",
    "RECORDER": "RECORDER = foreign.Recorder()",
    "LOCK": "LOCK = threading.Lock()",
    "WEAK": "WEAK = weakref.WeakValueDictionary()",
    "refused": "def refused(v, most):\n    if most < 1:\n        raise ValueError(f'most is {most}')\n    return v[:most]",
}  # fmt: skip


def mentions(name: str, text: str) -> bool:
    return re.search(rf"(?<![.\w]){name}\b", text) is not None


def beside(body: str) -> list[str]:
    """The imports and texts that a body needs, in the order of their tables."""
    names: list[str] = []
    text, grown = body, True
    while grown:
        found = [n for n in BESIDE if n not in names and mentions(n, text)]
        names += found
        text, grown = "\n".join([text, *(BESIDE[n] for n in found)]), bool(found)
    order = sorted(names, key=list(BESIDE).index)
    late = [n for n in order if n in ("HOLDER",)]
    texts = [BESIDE[n] for n in order if n not in late] + [BESIDE[n] for n in late]
    imports = [line for name, line in IMPORTS.items() if mentions(name, text)]
    return ["\n".join(imports), *texts]
