"""What programs are made of: statements and expressions by kind, as Python with holes.

A hole takes the name of a value (``values.HOLES``); ``{new}`` is a new name.  A form of one line
without a statement is an expression, whose value gets a name.  A new form is one more line; the
coverage counts it.  Numbers stay exact, so that every order of additions gives their bits.
"""

from __future__ import annotations

QUESTIONS = (
    "isinstance({q}, np.ndarray)", "isinstance({q}, (list, np.ndarray))", "isinstance({q}, (int, float))", "isinstance({q}, np.generic)",
    "isinstance({q}, (np.ndarray, np.generic))", "isinstance({q}, numbers.Number)", "isinstance({q}, numbers.Real)", "isinstance({q}, numbers.Integral)",
    "isinstance({q}, abc.Sequence)", "isinstance({q}, abc.Iterable)", "isinstance({q}, abc.Mapping)", "isinstance({q}, abc.Hashable)",
    "isinstance({q}, abc.Sized)", "isinstance({q}, abc.Callable)", "isinstance({q}, (str, bytes))", "isinstance({q}, bool)", "isinstance({q}, Shaped)",
    "isinstance({q}, (tuple, list))", "isinstance({q}, dict)", "isinstance({q}, type(None))", "isinstance({q}, float | int | None)", "isinstance({q}, Box)",
    "type({q}) is np.ndarray", "type({q}) == float", "type({q}) in (int, float)", "type({q}) is type({r})", "type({q}).__name__", "type({q})", "{q}.__class__",
    "type({q}).__mro__[-1] is object", "type({q}).__module__", "issubclass(type({q}), np.ndarray)", "issubclass(type({q}), (int, np.integer))",
    "hasattr({q}, '__array_interface__')", "hasattr({q}, '__array__')", "hasattr({q}, '__len__')", "hasattr({q}, 'shape')", "hasattr({q}, '__iter__')",
    "hasattr({q}, '__cuda_array_interface__')", "hasattr({q}, 'read')", "hasattr({q}, '__dlpack__')", "hasattr({q}, '_opweave')", "hasattr({q}, 'flags')",
    "hasattr({q}, '__array_ufunc__')", "hasattr({q}, 'compute')", "hasattr({q}, 'iloc')", "getattr({q}, 'ndim', None)", "getattr({q}, 'unit', 'none')",
    "getattr({q}, '__array_priority__', 'none')", "np.isscalar({q})", "callable({q})", "np.iterable({q})", "np.ndim({x})", "np.shape({x})", "np.size({x})",
    "isinstance({x}.sum(), float)", "isinstance({x}.sum(), np.floating)", "isinstance({x}.sum(), np.generic)", "np.isscalar({x}.sum())", "type({x}.sum())", "type({x}.max()).__name__",
    "isinstance({x}[0], np.generic)", "type({v}[0])", "isinstance({v}.mean(), numbers.Real)", "isinstance({x}.shape, tuple)", "type({x}.shape[0]) is int",
    "isinstance({x}.shape[0], int)", "isinstance({x}.dtype, np.dtype)", "isinstance({x}.any(), (bool, np.bool_))", "type({x}.any())", "isinstance(np, types.ModuleType)",
    "type(np)", "issubclass({x}.dtype.type, np.floating)", "np.issubdtype({x}.dtype, np.floating)", "isinstance({x}.tolist(), list)", "type({x}.tolist()[0])",
    "isinstance({x}.T, np.ndarray)", "isinstance({x} > 0, np.ndarray)", "isinstance({x} * 2, np.ndarray)", "isinstance({x}.flags, object)", "type({x} + 1) is type({x})",
    "isinstance(len({x}), int)", "type({x}.item(0))", "type(float({v}[0]))", "type({n} * 2)", "type({n} + 1.5)", "isinstance({n} * 2, int)", "type({n}) is int",
    "type({n}) is float", "isinstance({n}, np.integer)", "isinstance({n}, float)", "np.issubdtype(type({n}), np.integer)", "float.is_integer(float({n}))", "{n}.__class__.__name__",
    "isinstance({n}, enum.Enum)", "type({b}) is bool", "np.isrealobj({x})", "np.iscomplexobj({q})", "dispatched({q})", "dispatched({x})", "dispatched({n})", "np.asanyarray({l})[0] is not None",
    "isinstance({d}, abc.MutableMapping)", "isinstance({l}, abc.MutableSequence)", "dataclasses.is_dataclass({o})", "dataclasses.is_dataclass({q})", "hasattr({o}, 'flag')",
    "isinstance({d}['w'], np.ndarray)", "isinstance({l}[0], np.ndarray)", "isinstance({o}.data, np.ndarray)", "type({o}.data)", "type({l}[-1])", "isinstance(HOLDER.data, np.ndarray)",
    "isinstance(G_ARRAY, np.ndarray)", "type(G_NUMBER) is int", "[isinstance(v_, np.ndarray) for v_ in {l}]", "all(isinstance(v_, np.ndarray) for v_ in ({x}, {q}))",
    "own.is_plain({x})", "own.is_plain({q}, {b})", "inspect.isfunction({q})", "inspect.ismodule({q})", "inspect.isclass({q})", "math.isnan({n})", "operator.index(int({n}))",
    "isinstance({x}, typing.Sized)", "isinstance({x}, abc.Collection)", "isinstance({x}, abc.Buffer) if hasattr(abc, 'Buffer') else None", "{x}.dtype == float", "{x}.dtype.kind in 'fc'",
    "if not isinstance({q}, np.ndarray):\n    {q} = np.array([0.0])\n{new} = {q}",
    "if isinstance({q}, np.ndarray):\n    {new} = {q}[:1]\nelif np.isscalar({q}):\n    {new} = 'scalar'\nelse:\n    {new} = 'other'",
    "if type({x}) is not np.ndarray:\n    raise TypeError('no array')\n{new} = {x} * 2",
    "if isinstance({x}, np.ndarray) and {x}.ndim > 1:\n    {new} = {x}[0] + 1\nelse:\n    {new} = {x} + 2",
    "if isinstance({n}, int):\n    {new} = {n} // 2\nelif isinstance({n}, float):\n    {new} = {n} / 2\nelse:\n    {new} = None",
    "match {q}:\n    case np.ndarray():\n        {new} = 'array'\n    case bool():\n        {new} = 'bool'\n    case int() | float():\n        {new} = 'number'\n    case str():\n        {new} = 'text'\n    case [_, *_]:\n        {new} = 'sequence'\n    case {{}}:\n        {new} = 'mapping'\n    case None:\n        {new} = 'none'\n    case _:\n        {new} = 'other'",
    "match {x}:\n    case np.ndarray(ndim=1):\n        {new} = {x} + 1\n    case np.ndarray():\n        {new} = {x} * 2\n    case _:\n        {new} = None",
    "match {n}:\n    case 2:\n        {new} = 'two'\n    case int():\n        {new} = 'int'\n    case float(v_):\n        {new} = v_\n    case _:\n        {new} = 'other'",
    "match {l}:\n    case [np.ndarray() as v_, *_]:\n        {new} = v_ + 1\n    case [int(), *rest_]:\n        {new} = len(rest_)\n    case _:\n        {new} = 'other'",
    "match {d}:\n    case {{'w': np.ndarray() as w_, 'k': int()}}:\n        {new} = w_ * 2\n    case {{'w': w_}}:\n        {new} = w_\n    case _:\n        {new} = None",
    "match {o}:\n    case Box(flag=True):\n        {new} = 'box'\n    case object(total=0):\n        {new} = 'object'\n    case _:\n        {new} = 'other'",
)  # fmt: skip
IDENTITY = (
    "{x} is {y}", "{x} is not {y}", "{q} is {r}", "{q} is not {r}", "{q} is None", "{q} is not None", "{q} is MISSING", "{r} is np", "np is NP", "own.np is np", "foreign.np is np",
    "sys.modules['numpy'] is np", "sys.modules.get('numpy') is np", "array_module({x}) is np", "own.module_of({x}) is np", "array_module({x}).sum({x})", "array_module({x}).__name__",
    "np.asarray({x}) is {x}", "np.asanyarray({x}) is {x}", "np.asarray({x}, dtype=float) is {x}", "np.ascontiguousarray({x}) is {x}", "np.asarray({q}) is {q}", "np.asarray({l}[0]) is {l}[0]",
    "{x}.view() is {x}", "{x}.base is None", "{x}.T.base is {x}", "{x}[...].base is {x}", "id({x}) == id({y})", "{x} is G_ARRAY", "{x} is KEPT", "{q} is KEPT", "any(v_ is {x} for v_ in [{x}, {y}])",
    "{x}.dtype is np.dtype('float64')", "{x}.dtype is {y}.dtype", "np.float64 is float", "type({x}) is type({y})", "{l} is {l}", "{l}[0] is {l}[0]", "{l}[0] is {l}[-1]", "{d}['w'] is {d}['w']",
    "{d}['w'] is KEPT", "{o}.data is {o}.data", "{o} is HOLDER", "{x} if {x} is not {y} else {x} * 2", "np.sum is NP_SUM", "np.add is np.add", "np.shares_memory({x}, {y})", "np.may_share_memory({x}, {y})",
    "np.shares_memory({x}, {x}[1:])", "optional({x})", "optional({x}, {y})", "optional({x}, how={q})", "foreign.noted({x}) is {x}", "noted({x}) is {x}", "{x}.astype(float, copy=False) is {x}",
    "vars(own)['np'] is np", "[m_ for m_ in (np, math) if m_ is np]", "str(np)[:15]", "inspect.getmodule(np.sum) is np", "{{np: 1}}[np]", "getattr(np, 'sum') is np.sum", "hasattr(np, 'nothing')",
    "{n} is {m}", "(lambda v_=None: v_ is None)()", "(lambda v_={x}: v_ is {x})()", "own.np.sum({x})", "foreign.np.max({x})", "{x}.reshape({x}.shape) is {x}", "np.array({x}, copy=False) is {x}",
    "math is sys.modules['math']", "own is sys.modules['fuzz_own']", "act is {q}", "{q} is act", "np.newaxis is None", "{x}.__array_interface__['data'] == {y}.__array_interface__['data']",
    "{x}.ctypes.data == {x}.ctypes.data", "{x}.flags.owndata", "{x}.flags.writeable", "{x}.flags.c_contiguous", "{x}.strides", "{x}.__array__() is {x}", "copy.copy({x}) is {x}", "operator.is_({x}, {y})",
    "{new} = {x}\n{new} = {new} is {x}", "{new} = ({x}, {x})\n{new} = {new}[0] is {new}[1]",
    "from numpy import asarray\n{new} = asarray({x}) is {x}", "import numpy as numpy_\n{new} = numpy_ is np", "import numpy as numpy_\n{new} = numpy_.sum({x}) + numpy_.float64(1)",
    "import importlib\n{new} = importlib.import_module('numpy') is np", "from numpy import add as add_, pi\n{new} = add_({x}, 1), pi", "from fuzz_own import act as act_\n{new} = act_({x})",
    "import fuzz_foreign as foreign_\n{new} = foreign_.scaled({x})", "from math import sqrt\n{new} = sqrt(4) * {x}", "import numpy.linalg\n{new} = numpy.linalg is np.linalg", "__import__('numpy') is np",
    "if {x} is {y}:\n    {new} = {x} * 4\nelse:\n    {new} = {x} - {y}.max()",
    "if {q} is None:\n    {new} = {x} + 1\nelse:\n    {new} = {x} * 2",
    "if {q} is MISSING:\n    {new} = 'missing'\nelse:\n    {new} = {x} * 2",
    "xp = array_module({x})\nif xp is np:\n    {new} = xp.maximum({x}, 1)\nelse:\n    {new} = 'other'",
)  # fmt: skip
BOOLEANS = (
    "{b} is True", "{b} is False", "{b} is not True", "{b} == True", "{b} == 1", "not {b}", "({n} > 1) is True", "({x}.shape[0] > 2) is True", "({x}.ndim == 1) is True", "isinstance({b}, bool)",
    "isinstance({b}, int)", "type({b}).__name__", "{b} + 1", "[False, 'one'][bool({b})]", "{{True: 'yes', False: 'no'}}[{b}]", "{b} & True", "{b} and {n}", "{b} or {x}", "{x} if {b} else {x} * 2",
    "{x} * 2 if {b} is True else {x}", "bool({x}.any()) is True", "({x} > 0).any() is np.True_", "({n} == {m}) is False", "({n} < {m}) is True", "{b} in (True,)", "all([{b}]) is True", "str({b})", "f'{{{b}}}'",
    "repr({b})", "int({b})", "sum([{b}, True])", "np.bool_({b}) is np.True_", "flagged({x})", "flagged({x}, {b})", "flagged({x}, flag={n} > 1)", "G_FLAG is True", "own.FLAG is True", "HOLDER.flag is True",
    "{o}.flag is True", "{o}.flag is False", "{d}['k'] is True", "{l}[-1] is True", "[v_ is True for v_ in {l}]", "np.allclose({x}, {x}) is True", "np.array_equal({x}, {y}) is True", "type(np.array_equal({x}, {y}))",
    "np.array_equiv({x}, {y})", "np.allclose({x}, {y} + 1) if {x}.shape == {y}.shape else None", "np.where({b}, {x}, 0)", "{x} * {b}", "{x}[{x} > 1].size > 0 and True", "({x}.dtype == float) is True", "({x}.dtype == {y}.dtype) is True",
    "({n} in (1, 2)) is True", "(len({x}) > 1) is True", "(not {b}) is True", "bool({n}) is True", "bool({l}) is True", "{b} is {b}", "{b} is not None", "json.dumps({{'flag': bool({b})}})", "int.__add__({b}, 1)",
    "{b} ^ True", "~np.bool_({b})", "-int({b})", "{b} * 3", "{b} == np.True_", "any(v_ is {b} for v_ in (True, False))", "own.is_plain({x}, {b})", "own.is_plain({x}, flag=True)", "operator.truth({n}) is True",
    "math.isfinite({n}) is True", "isinstance({n} > 1, bool)", "type({n} > 1)", "asking({x}, {b})", "asking({x})", "callable(act) is True", "hasattr({x}, 'shape') is True", "isinstance({x}, object) is True",
    "{x} == 'mean'", "{x}.sum() == 'mean'", "{x}.sum() != 'mean'", "{x}.sum() == None", "{x}.sum() in (None, 2)", "{n} == 'mean'", "{n} in ('mean', 2)", "{x}.dtype == 'float64'", "{x}.shape == (4,)", "{x}.shape[0] == '4'",
    "match {b}:\n    case True:\n        {new} = {x} * 2\n    case False:\n        {new} = {x} - 1\n    case _:\n        {new} = None",
    "match {n} > 1:\n    case True:\n        {new} = 'more'\n    case False:\n        {new} = 'less'\n    case _:\n        {new} = 'neither'",
    "match {q}:\n    case True:\n        {new} = 'true'\n    case None:\n        {new} = 'none'\n    case _:\n        {new} = 'other'",
    "if {b} is True:\n    {new} = {x} + 1\nelif {b} is False:\n    {new} = {x} - 1\nelse:\n    {new} = {x}",
    "if {o}.flag is True:\n    {new} = {o}.data * 2\nelse:\n    {new} = {o}.data",
    "def local_(flag=True):\n    return flag is True\n{new} = local_(), local_({b})",
)  # fmt: skip
CONTAINERS = (
    "len({l})", "{l}[0]", "{l}[-1]", "{l}[0] * 2", "{d}['w'] * 2", "{d}['k']", "{d}.get('z', 1)", "{d}.get('k')", "list({d})", "sorted(map(str, {d}))", "{{**{d}, 'z': {x}}}", "dict({d}, z={x})", "len({d})",
    "'w' in {d}", "3 in {d}", "[*{l}, {x}]", "list({l}) + [{x}]", "type({l})", "type({d})", "list(reversed({l}))[0]", "{l}[:1]", "{l}[::-1][0]", "tuple({l})", "{l}.index({l}[-1]) if isinstance({l}[-1], int) else None",
    "{l}.count(2) if isinstance({l}[0], int) else None", "{{{n}: 'n'}}[{n}]", "{{{n}, 2}}", "{n} in {{1, 2}}", "{n} in [1, 2, 3]", "{{id({x}): 1}}[id({x})]", "{{{n}: {x}, 'k': 2}}", "frozenset([{n}, 1])", "{{str({n}): {x}}}",
    "Pair({x}, {n})", "Pair({x}, {n})._replace(left={n})", "Pair({x}, {n})._asdict()", "Typed({x})", "collections.deque([{x}, {n}], maxlen=1)", "Box({x}, {b})", "dataclasses.replace(Box({x}), total=3)",
    "dataclasses.astuple(Box({n}))", "dataclasses.asdict(Box({x}))", "[f_.name for f_ in dataclasses.fields({o})] if dataclasses.is_dataclass({o}) else None", "AttrDict(w={x})", "AttrDict(w={x}).w", "{d}.w if isinstance({d}, AttrDict) else None",
    "BIG[5]", "len(BIG)", "BIG[int({n})] + 1", "{x} + BIG[5]", "5 in BIG_SET", "len(BIG_SET)", "UNREAD.by * {x}", "cached({n})", "cached({b})", "cached('text')", "cached(({n}, 1))", "cached({n}) is cached({n})", "foreign.table(3) * 2",
    "foreign.table(3) is foreign.table(3)", "CACHE.setdefault({n}, {x})", "CACHE.setdefault('x', []).append({n})", "collections.Counter([1, 2, {n}])", "collections.OrderedDict(a={x})", "collections.defaultdict(list, a=[{x}])",
    "list(zip({l}, {l}))[0]", "dict(enumerate({l}))[0]", "list(itertools.chain({l}, [{n}]))[-1]", "list(itertools.islice({l}, 1))", "copy.copy({l})", "copy.deepcopy({d})", "copy.copy({o})", "copy.deepcopy({x})",
    "vars({o})['flag'] if hasattr({o}, '__dict__') else None", "sorted(vars({o})) if hasattr({o}, '__dict__') else None", "getattr({o}, 'flag', None)", "getattr({o}, 'nothing', 5)", "{o}.data * 2", "{o}.total + 1",
    "{o}.step({n}) if isinstance({o}, Model) else None", "{o}.size if isinstance({o}, Model) else None", "weakref.ref({x})() is {x}", "types.SimpleNamespace(a={x}, b={n})", "operator.itemgetter(0)({l})", "operator.attrgetter('data')({o})",
    "max({l}, key=lambda v_: np.size(v_)) is {l}[0]", "sum([{x}, {x}])", "sum({l}[0]) if isinstance({l}[0], np.ndarray) else None", "min([{n}, {m}])", "sorted([{n}, {m}, 0])", "heapq.nsmallest(1, [{n}, {m}])", "bisect.bisect([1, 2, 3], {n})",
    "np.array([{n}, {m}])", "np.array([{x}, {x}])", "np.asarray({l}[:1]) if isinstance({l}, list) else None", "np.array([v_ for v_ in {l} if isinstance(v_, int)])", "np.stack([{x}, {x}])", "str({l}[-1])", "{l} == {l}", "{d}.keys() == {{'w', 'k'}}",
    "(lambda *args, **named: (args, named))({x}, k={n})", "(lambda a, /, b=2, *, c=3: [a, b, c])({x}, c={n})", "functools.partial(act, {x})()", "{q} in (None, 'mean', 2)", "[{q}, {q}]", "{{'q': {q}}}", "({q},)", "Box({q})",
    "{l}.append({n})", "{l}.append({x})", "{d}['n'] = {x} + 1\n{new} = {d}['n']", "{d}.pop('k', None)", "{d}.setdefault('z', []).append(1)", "{d}.update(z={n})", "SEEN.append({n})", "SEEN.append({x})", "SEEN.append({x} * 2)",
    "SEEN.append(str({x}.shape))", "STATE['calls'] += 1", "STATE['last'] = {x} * 2", "STATE['last'] = {n}", "STATE.update(n={n})", "HOLDER.data = {x} * 2", "HOLDER.total += 1", "HOLDER.new = {n}", "del STATE['last']",
    "CACHE[{n}] = CACHE.get({n}, 0) + 1", "{o}.total += 1", "{o}.data = {x}", "setattr({o}, 'total', {n})", "WEAK['x'] = HOLDER", "LAST = {x}",
    "{new} = []\nfor k_, v_ in {d}.items():\n    {new}.append((k_, v_))",
    "{new} = 0\nfor v_ in {l}:\n    {new} = {new} + np.sum(v_)\n    SEEN.append('one')",
    "if {n} not in CACHE:\n    SEEN.append('made')\n    CACHE[{n}] = np.arange(4.0) * 2\n{new} = CACHE[{n}] + 1",
    "first_, *rest_ = {l}\n{new} = rest_",
    "with LOCK:\n    STATE['calls'] += 1",
    "{new} = {{k_: v_ for k_, v_ in {d}.items() if k_ != 'w'}}",
    "{new} = {{}}\n{new}['a'] = {new}.setdefault('b', {x})\n{new}['c'] = {n}",
    "{new} = [{x}]\n{new}.append({new}[0])\n{new}[0] = {n}",
    "class Local_:\n    kept = {x}\n{new} = Local_.kept is {x}",
    "class Local_:\n    def __init__(self, v):\n        self.v = v\n\n    def __eq__(self, other):\n        return True\n{new} = Local_({x}) == 3",
)  # fmt: skip
SUBCLASSES = (
    "{u} + 1", "{u} * {u}", "{u}[1:]", "{u}[0]", "np.sum({u})", "np.sqrt(np.abs({u}))", "{u}.sum()", "type({u} + 1).__name__", "type({u}).__name__", "{u}.unit", "{u}.tag", "{u}.mask", "{u}['a']", "{u}.a", "np.concatenate([{u}, {u}])",
    "np.asarray({u}) * 2", "np.asarray({u}) is {u}", "np.asanyarray({u}) is {u}", "{u}.view(np.ndarray) + 1", "{u} @ {u}", "np.max({u})", "np.where({u} > 1, {u}, 0)", "{u}.T", "{u}.copy()", "isinstance({u}, np.ndarray)", "{x} + {u}", "{u} - {x}",
    "np.zeros_like({u})", "np.add({u}, {u})", "np.add.reduce({u})", "np.multiply({u}, 2)", "{u}.reshape(-1)", "{u}.astype(float)", "{u} > 1", "-{u}", "np.stack([{u}, {u}])", "{u}.max()", "np.mean({u})", "np.array({u})", "np.array({u}, subok=True)",
    "{u}.dtype", "{u}.shape", "len({u})", "str({u})", "np.ma.getmaskarray({u})", "np.dot({u}, {u})", "np.clip({u}, 0, 2)", "np.negative({u})", "{u}.tolist()", "np.cumsum({u})", "{u}.view({u}.dtype)", "{x}.view(Tagged)", "{x}.view(Tagged) + 1",
    "Units({x}, 'km') + 1", "(Units({x}, 'km') + 1).unit", "np.ma.masked_less({x}, 1).sum()", "np.ma.array({x}) + 1", "np.asmatrix({v}) * np.asmatrix({v}).T", "HOLDER.data + {u}", "{u} if isinstance({u}, np.ma.MaskedArray) else {u} + 1",
    "np.asarray({w})", "np.add({w}, 1)", "{w} + 1", "1 + {w}", "np.sum({w})", "np.concatenate([{w}])", "np.concatenate({w})", "{x} + {w}", "{w} == 2", "{w}.anything", "{w}.data", "hasattr({w}, '__array_ufunc__')", "isinstance({w}, np.ndarray)", "len({w})",
    "{w}['w']", "{x} * 2, {w}", "act({w})", "np.asarray(Duck({n}))", "np.add(Duck({x}), 1)", "Ufunc(2) + {x}", "{x} + Ufunc(2)", "np.multiply({x}, Ufunc(1))", "np.sum(Function())", "Answers().shape", "AttrDict(a=2).shape", "{x} * (AttrDict(a=2).a)",
    "memoryview({v}).nbytes", "np.frombuffer(bytes(16))", "{u} += 1", "{u}[0] = {u}[1]", "{u}.fill(1)", "{u}.tag = 5", "np.add({u}, 1, out={u})", "np.add({x}, 1, out=np.ones({x}.shape).view(Tagged))",
)  # fmt: skip
PRINTING = (
    "print({x})", "print('sum', {x}.sum())", "print({n})", "print('here')", "print({q} is None)", "print({x}.shape, {x}.dtype)", "print({n}, file=sys.stderr)", "sys.stdout.write('line\\n')", "print(f'{{{x}.sum():.3f}}')", "print({x}[0])",
    "print({l}[-1])", "print(len({d}))", "print(type({x}).__name__)", "pprint.pprint({n})", "sys.stderr.write('line\\n')", "print(str({x}))", "print(repr({n}), end='')", "print('{{:.2f}}'.format({n}))", "print('%s' % {n})", "print(*{x}.shape, sep='x')",
    "print({x}.tolist())", "print({o}.flag)", "noisy({x})", "print(G_COUNT)", "print({b})", "sys.stdout.flush()", "print({x} * 2)", "print('max', ({x} + 1).max())", "print()", "print(np.sum({x}))", "print({x}, {n})",
    "if {x}.sum() > 3:\n    print('large')\nelse:\n    print('small')", "for k_ in range(2):\n    print('step', k_)", "print('before')\n{new} = np.sort({x})\nprint('after')", "print('before')\n{new} = {x}.tolist()",
    "print('before')\nif {x}.max() > 2:\n    {new} = {x} * 2\nelse:\n    {new} = {x}", "np.set_printoptions(precision=3)\nprint({x})",
    "with contextlib.redirect_stdout(io.StringIO()) as text_:\n    print({n})\n{new} = text_.getvalue()",
)  # fmt: skip
LOGGING = (
    "LOGGER.info('sum %s', {x}.sum())", "LOGGER.info('sum %.2f', {x}.sum())", "LOGGER.debug('shape %s', {x}.shape)", "LOGGER.warning('here')", "LOGGER.info('n %s', {n})", "logging.getLogger('fuzz').error('error')", "LOGGER.info('x %s', {x})", "LOGGER.info(f'n {{{n}}}')",
    "LOGGER.log(logging.INFO, 'level')", "LOGGER.isEnabledFor(logging.DEBUG)", "LOGGER.info('keys %s', list({d}))", "LOGGER.info('mean %f', {x}.max())", "logging.getLogger('fuzz.part').info('child')", "LOGGER.info('type %s', type({x}).__name__)", "LOGGER.name",
    "LOGGER.info('extra', extra={{'n': {n}}})", "LOGGER.info('l %d', len({l}))",
    "try:\n    raise ValueError('inner')\nexcept ValueError:\n    LOGGER.exception('failed')", "LOGGER.info('before')\n{new} = np.sort({x})\nLOGGER.info('after')", "if {x}.sum() > 3:\n    LOGGER.info('large')",
    "for k_ in range(3):\n    LOGGER.debug('step %d', k_)\n    {x} = {x} + 1\n{new} = {x}",
)  # fmt: skip
WARNINGS = (
    "warnings.warn('careful')", "warnings.warn('old', DeprecationWarning)", "blamed({x})", "warnings.warn(UserWarning('instance'))", "warnings.warn(f'n {{{n}}}')", "warnings.warn('runtime', RuntimeWarning)", "warned({x})", "warnings.warn('here', stacklevel=1)",
    "warnings.warn_explicit('explicit', UserWarning, 'file.py', 3)", "warnings.warn(f'shape {{{x}.shape}}')", "warnings.warn(f'sum {{{x}.sum()}}')",
    "if {x}.max() > 2:\n    warnings.warn('large')", "if {n} > 1:\n    warnings.warn('n is large')", "if {x}.ndim == 1:\n    warnings.warn('one axis', FutureWarning)",
    "with warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    warnings.warn('silent')\n{new} = {x} + 1",
    "with warnings.catch_warnings():\n    warnings.simplefilter('error')\n    try:\n        warnings.warn('raised')\n        {new} = 'silent'\n    except UserWarning as error_:\n        {new} = str(error_)",
    "with warnings.catch_warnings(record=True) as found_:\n    warnings.simplefilter('always')\n    warnings.warn('kept')\n{new} = len(found_)",
    "for k_ in range(2):\n    warnings.warn('in a loop')",
)  # fmt: skip
FOREIGN = (
    "foreign.tick()", "foreign.scaled({x})", "foreign.scaled({x}, {n})", "foreign.scaled({x}) + 1", "foreign.shifted({x})", "foreign.shifted({x}) * 2", "foreign.noted({x}, 'name')", "foreign.noted({x} * 2) + 1", "foreign.applied(lambda v_: v_ + 1, {x})",
    "foreign.applied(act, {x})", "foreign.applied(noted, {x})", "foreign.kind({x})", "foreign.kind({x} * 2)", "foreign.kind({q})", "foreign.kind({n})", "foreign.is_array({x})", "foreign.is_array({x} + 1)", "foreign.total({x})", "foreign.total({x}) * {x}", "foreign.clock()",
    "foreign.COUNT", "foreign.REGISTRY['n']", "list(foreign.pieces({x}))[0]", "foreign.counted(act)({x})", "foreign.Recorder().add({x}).seen", "RECORDER.add({x}) is RECORDER", "RECORDER.add({x} * 2).seen[-1]", "len(RECORDER.seen)", "foreign.table(4)",
    "own.act({x})", "own.counted({x})", "own.COUNT", "own.counted({x}) + own.COUNT", "own.bump({x} * 1)", "own.SEEN.append({n})", "ndimage.uniform_filter1d({v}, 3)", "ndimage.maximum_filter({v}, 3)", "ndimage.shift({v}, 1, order=0)", "ndimage.label({v} > 1)[1]",
    "ndimage.convolve1d({v}, [1.0, 2.0, 1.0])", "ndimage.minimum({v})", "signal.lfilter([1.0], [1.0, 0.5], {v})", "signal.convolve({v}, [1.0, 2.0])", "signal.detrend({v} * 0)", "special.expit({v} * 0)", "linalg.norm({v} * 0)", "linalg.toeplitz({v})",
    "linalg.solve(np.eye(2) * 2, np.ones(2)) + {n}", "json.dumps({x}.tolist())", "json.dumps({{'n': int({n})}})", "hashlib.sha256({x}.tobytes()).hexdigest()", "pickle.loads(pickle.dumps({x})) + 1", "functools.reduce(operator.add, [{x}, {x}])", "math.floor({n})",
    "math.prod({x}.shape)", "math.sqrt(4) * {x}", "math.hypot(3, 4)", "random.random()", "random.choice([1, 2, 3])", "np.random.rand(2)", "np.floor(np.random.random({x}.shape) * 8) + {x}", "RNG.random(2)", "RNG.integers(0, 9, {x}.shape) + {x}", "np.random.default_rng(3).random(2)",
    "np.random.permutation({x}) if {x}.size else None", "next(IDS)", "next(IDS) * {x}", "EVENT.is_set()", "EVENT.set()", "ticker()", "ticker() + {x}", "noted({x})", "counting({x})", "attributed({x})", "attributed.calls", "inner({x})", "inner({x} * 2) + 1",
    "np.vectorize(noted)({v})", "np.apply_along_axis(noted, 0, {x})", "list(map(noted, [{x}]))[0]", "list(filter(None, [{n}, 0]))", "np.fromfunction(lambda i_: i_ * 2, (3,))", "np.frompyfunc(lambda v_: v_, 1, 1)({v})", "np.piecewise({v}, [{v} > 1], [noted, 0])",
    "os.environ.get('FUZZ_MODE', 'none')", "os.getpid() > 0", "threading.current_thread().name", "string.Template('$a').substitute(a=int({n}))", "sys.getrecursionlimit() > 10", "io.BytesIO({x}.tobytes()).read(8)", "np.save(io.BytesIO(), {x})", "{x}.tobytes()[:8]",
    "__name__", "sys._getframe().f_code.co_name", "sys._getframe().f_lineno", "inspect.currentframe().f_code.co_name", "eval('1 + 1')", "eval('{x} * 2')", "globals()['G_NUMBER'] if G_NUMBER else None", "'{x}' in locals()", "dir({o})[-1]", "inspect.signature(act).parameters['v'].name",
    "act.__name__", "act.__doc__", "inspect.getsource(act)", "list(inspect.signature({q}).parameters) if inspect.isfunction({q}) else None", "time.sleep(0)", "time.time() > 1", "time.perf_counter() > 0", "datetime.datetime.now().year > 2000", "time.strftime('%Y') > '2000'",
    "stamps.append(time.perf_counter_ns())\n{new} = len(set(stamps)) == len(stamps)", "stamps.append(foreign.clock())\n{new} = stamps[-1]", "start_ = time.perf_counter()\n{new} = {x} * 2\nspent_ = time.perf_counter() - start_\nprint(spent_ > 0)",
    "stamps.append(datetime.datetime.now())\n{new} = all(a_ < b_ for a_, b_ in zip(stamps, stamps[1:]))",
    "with foreign.Recorder() as kept_:\n    kept_.add({x})\n{new} = kept_.seen", "with foreign.region('part') as n_:\n    {new} = {x} + n_", "foreign.REGISTRY['n'] += 1", "foreign.CALLS.append('user')", "foreign.written({x})", "foreign.written({l}[0])",
    "foreign.REGISTRY['last'] = {x}", "own.SCALE = 3.0\n{new} = own.act({x})", "foreign.REGISTRY['function'] = act",
    "thread_ = threading.Thread(target=SEEN.append, args=('thread',))\nthread_.start()\nthread_.join()",
    "with tempfile.TemporaryDirectory() as folder_:\n    pathlib.Path(folder_, 'a').write_text('text')\n    {new} = os.listdir(folder_)",
    "with open(os.path.join(FOLDER, 'log'), 'a') as file_:\n    file_.write('line\\n')", "with open(os.path.join(FOLDER, 'sums'), 'a') as file_:\n    file_.write(f'{{{x}.sum()}}\\n')", "np.save(os.path.join(FOLDER, 'x.npy'), {x})",
    "np.savetxt(BUFFER, {x})", "BUFFER.write('text')", "BUFFER.write(str({n}))", "pathlib.Path(FOLDER, 'n').write_text(str({n}))", "np.save(os.path.join(FOLDER, 'y.npy'), {x})\n{new} = np.load(os.path.join(FOLDER, 'y.npy')) + 1",
    "os.environ['FUZZ_MODE'] = 'set'\n{new} = os.environ.pop('FUZZ_MODE')", "{x}.tofile(os.path.join(FOLDER, 'raw'))", "os.path.exists(os.path.join(FOLDER, 'log'))",
)  # fmt: skip
WRITES = (
    "{x} += 1", "{x}[1:] = 0", "{x}[...] = 2", "{x}[0] = {n}", "np.add({x}, 1, out={x})", "{x}.sort()", "{x}.fill(2)", "{x} *= {n}", "{l}[0] += 1", "{l}[0] = {n}", "{d}['w'] *= 2", "{d}['w'][0] = 7", "{d}['k'] = {n}", "{o}.data[0] = 9", "{o}.data += 1",
    "G_ARRAY[0] = {n}", "G_ARRAY[:] = G_ARRAY + 1", "KEPT[1] += 1", "HOLDER.data[0] += 1", "np.copyto({x}, 1)", "{x}.flat[0] = 5", "own.bump({x})", "{x}[{x} > 1] = 0", "{x}[::-1][0] = 4", "{x}.T[0] = 3", "{x} -= {y}[:1]", "np.put({x}, [0], [3])",
    "{x}[:1] += {x}[-1:]", "{x}.setflags(write=False)", "{x}.resize({x}.shape)", "{x} = {x} + 1\n{new} = {x}", "{new} = {x}\n{new} += 1", "{new} = {x}[1:]\n{new} *= 2", "{new} = np.asarray({x})\n{new}[0] = 8", "{new} = {x}.view()\n{new}[0] = 6",
    "for v_ in [{x}, {y}]:\n    v_ += 1", "{new} = {x}.copy()\n{new}[0] = 5", "def local_(v_):\n    v_[0] = 1\nlocal_({x})", "{x}[0], {x}[-1] = {x}[-1], {x}[0]", "np.maximum({x}, 1, out={x})", "{x}.sort()\n{new} = {x} * 2", "noted({x})[0] = 3",
    "foreign.noted({x})[0] = 3", "{l}[0] *= 2", "STATE['last'] = {x}\n{x} += 1", "{new} = np.zeros(3)\n{new}[0] = {n}", "{new} = np.empty({x}.shape)\n{new}[...] = {x}",
)  # fmt: skip
ERRORS = (
    "try:\n    {new} = {x}.reshape(-1, 7)\nexcept ValueError:\n    SEEN.append('shape')\n    {new} = None\nfinally:\n    STATE['calls'] += 1",
    "try:\n    raise KeyError({n})\nexcept KeyError as error_:\n    {new} = error_.args",
    "try:\n    {new} = {d}['missing']\nexcept KeyError:\n    {new} = 'no key'",
    "try:\n    {new} = {q} + {r}\nexcept TypeError:\n    {new} = 'no sum'",
    "try:\n    {new} = {x}[99]\nexcept IndexError:\n    {new} = {x}[:1]\nelse:\n    SEEN.append('else')",
    "try:\n    {new} = float({x})\nexcept (TypeError, ValueError) as error_:\n    {new} = type(error_) in (TypeError, ValueError)",
    "try:\n    {new} = len({n})\nexcept TypeError as error_:\n    {new} = str(error_)",
    "try:\n    {new} = {x}.nothing\nexcept AttributeError as error_:\n    {new} = str(error_)",
    "try:\n    {new} = hash({x})\nexcept TypeError as error_:\n    {new} = str(error_)",
    "try:\n    {new} = {{{x}: 1}}\nexcept TypeError:\n    {new} = 'unhashable'",
    "try:\n    {new} = cached({x})\nexcept TypeError as error_:\n    {new} = str(error_)",
    "try:\n    {new} = bool({x})\nexcept ValueError:\n    {new} = 'ambiguous'",
    "try:\n    {new} = {q}.shape\nexcept AttributeError:\n    {new} = np.shape(2)",
    "try:\n    {new} = len({q})\nexcept TypeError:\n    {new} = 1",
    "try:\n    {new} = iter({n})\nexcept TypeError as error_:\n    {new} = str(error_)",
    "try:\n    {new} = {x} @ {n}\nexcept (ValueError, TypeError):\n    {new} = 'no product'",
    "try:\n    foreign.fails({n})\nexcept foreign.Failed as error_:\n    {new} = str(error_)",
    "try:\n    {new} = refused({x}, {n} - 2)\nexcept ValueError as error_:\n    {new} = str(error_)",
    "try:\n    print('trying')\n    raise RuntimeError('own')\nexcept RuntimeError:\n    {new} = {x} * 2\nfinally:\n    print('done')",
    "try:\n    {new} = int('z')\nexcept ValueError:\n    {new} = -1",
    "try:\n    {new} = operator.index({n})\nexcept TypeError:\n    {new} = 'no index'",
    "try:\n    try:\n        raise ValueError('inner')\n    finally:\n        SEEN.append('finally')\nexcept ValueError as error_:\n    {new} = error_",
    "try:\n    raise ValueError('first')\nexcept ValueError as error_:\n    {new} = repr(error_), error_.__context__ is None",
    "try:\n    {new} = {x}.tolist()\nexcept Exception:\n    foreign.tick()\n    {new} = None",
    "try:\n    {new} = np.sort({x})\nfinally:\n    foreign.tick()",
    "try:\n    {new} = 1 if {x}.max() > 2 else 2\nexcept TypeError:\n    print('caught')\n    {new} = 3",
    "try:\n    {new} = float({x}.sum())\nexcept BaseException:\n    LOGGER.error('caught')\n    raise",
    "with contextlib.suppress(TypeError):\n    {new} = 0\n    {new} = int({x}.max())",
    "with contextlib.suppress(IndexError):\n    {x}[99]\n{new} = {x} + 1",
    "with contextlib.suppress(ZeroDivisionError):\n    1 / ({n} - {n})\n    SEEN.append('not reached')",
    "with contextlib.ExitStack() as stack_:\n    stack_.callback(SEEN.append, 'left')\n    {new} = {x} + 1",
    "if {n} > 2:\n    raise ValueError(f'n is {{{n}}}')",
    "if {x}.sum() > 1000:\n    raise ValueError('large')",
    "if {x}.max() > 2:\n    SEEN.append('raising')\n    raise ValueError('large')",
    "if len({x}) > 5:\n    raise foreign.Failed('long')",
    "assert {x}.ndim == 1, 'one axis'", "assert isinstance({x}, np.ndarray)", "assert {n} > 0, f'{{{n}}}'", "foreign.fails({n})", "{x}[99]", "{x}.nothing", "{d}['missing']", "{l}[5000]", "1 / ({n} - 2)", "int({l}[-1])", "{n} + 'text'", "{x} + 'text'", "{o}.missing",
    "next(iter([]))", "float('text')", "refused({x}, {n} - 2)", "getattr({x}, 'nothing', 'none')", "next(iter([]), 3)", "{q}.missing", "{q}[0]", "{q}()", "len({q})", "int({q})", "float({q})", "iter({q})", "hash({q}) and None", "-{q}", "{q} + 1", "bool({q})", "str({n})",
    "sum({q})", "list({q})[:2]", "{x}.reshape(99)", "{x} @ np.ones(99)", "np.concatenate([{x}, {n}])", "{x}.sum(axis=7)", "np.zeros(-1)", "{x}.astype('nothing')", "np.nothing", "own.nothing", "{x}(2)", "{n}()", "{n}[0]", "'a' + {n}", "[1, 2][{n}]", "{b}.nothing",
)  # fmt: skip
GENERATORS = (
    "list(pieces({x}))", "next(pieces({x}))", "sum(v_ for v_ in pieces({x}))", "[v_ * 2 for v_ in {l}][0]", "list(v_ is None for v_ in {l})", "sum(np.sum(v_) for v_ in {l})", "[*pieces({x})][-1]", "tuple(map(act, [{x}, {n}]))", "dict(zip('ab', [{x}, {n}]))",
    "list(itertools.accumulate([1, 2, {n}]))", "any(v_ is {x} for v_ in (1, {x}))", "next((v_ for v_ in [{n}, 2] if v_ == 2), None)", "list(enumerate({x}))[0]", "[v_ for v_ in {x}][0]", "list(range(int({n})))", "list(zip({x}, {x}))[0]", "sorted({v}.tolist())", "max({v})",
    "min(v_ for v_ in {v})", "(v_ for v_ in {l})", "iter({l})", "pieces({x})", "map(act, {l})", "type(pieces({x})).__name__", "{x}.flat[0]", "next({x}.flat)", "np.fromiter((v_ for v_ in {v}), float)", "list(np.ndenumerate({v}))[0]", "list(np.nditer({v}))[0] + 0",
    "made_ = (v_ + 1 for v_ in {x})\n{new} = next(made_), next(made_, None)",
    "def local_():\n    yield {x}\n    SEEN.append('second')\n    yield {x} * 2\n{new} = list(local_())",
    "def local_():\n    got_ = yield 1\n    yield got_ * 2\nmade_ = local_()\nnext(made_)\n{new} = made_.send({x})",
    "def local_():\n    try:\n        yield {x}\n    finally:\n        SEEN.append('closed')\nmade_ = local_()\n{new} = next(made_)\nmade_.close()",
    "total_ = 0\n\ndef add_(v_):\n    nonlocal total_\n    total_ += 1\n    return v_ + total_\n{new} = add_({x}), add_({n})",
    "calls_ = []\n\ndef add_(v_):\n    calls_.append(v_)\n    return len(calls_)\n{new} = [add_({x}), add_({n})], calls_",
    "made_ = [lambda v_=k_: v_ + 1 for k_ in range(3)]\n{new} = [f_() for f_ in made_], made_[0]({x})",
    "def deco_(f_):\n    SEEN.append('decorated')\n    return f_\n\n@deco_\ndef local_(v_):\n    return v_ * 2\n{new} = local_({x})",
    "@functools.lru_cache\ndef local_(n_):\n    SEEN.append('computed')\n    return n_ + 1\n{new} = local_({n}), local_({n})",
    "def local_(n_):\n    return 1 if n_ < 1 else local_(n_ - 1) + 1\n{new} = local_({n})",
    "global G_COUNT\nG_COUNT += 1", "global G_ARRAY\nG_ARRAY = {x} * 2", "global G_NUMBER\nG_NUMBER = G_NUMBER + 1\n{new} = G_NUMBER", "G_NUMBER * {x}", "G_ARRAY * 2", "G_ARRAY", "G_NUMBER", "STATE['calls']", "len(SEEN)", "[*SEEN]", "STATE", "HOLDER.total",
)  # fmt: skip
# What C does with an array past its protocols, and what keeps one.
MEMORY = (
    "bytes({x})", "bytearray({x})", "memoryview({x} * 2).tobytes()", "np.frombuffer({v} * 2, np.uint8)", "hashlib.md5({x} * 2).hexdigest()", "zlib.crc32({x} * 2)", "struct.unpack_from('b', {x} * 2)", "io.BytesIO({x} * 2).read()", "pickle.dumps({x} * 2)", "({x} * 2).__reduce__()[1]",
    "statistics.mean({v})", "statistics.median({v} * 2)", "fractions.Fraction({v}[0])", "decimal.Decimal(float({v}.sum()))", "json.dumps([{v}.tolist(), 2])", "[0] * np.argmax({v})", "({x} * 2).sum", "functools.partial(np.multiply, {x} * 2)", "types.MappingProxyType({{'a': {x} * 2}})",
    "list(itertools.product([{x} * 2], [{n}]))", "itertools.repeat({x} * 2, 2)", "del {x}[0]",
    "def local_():\n    return local_.held\nlocal_.held = {x} * 2\n{new} = local_", "@functools.lru_cache\ndef local_(n_):\n    return {x} * n_\n{new} = local_(2)", "try:\n    raise ValueError({x} * 2)\nexcept ValueError as error_:\n    SEEN.append(error_)",
    "class Local_:\n    held = {x} * 2\n{new} = Local_().held", "async def local_(v_):\n    return v_ * 2\nmade_ = local_({x})\ntry:\n    made_.send(None)\nexcept StopIteration as stop_:\n    {new} = stop_.value",
)  # fmt: skip
# Only inside of others: what a method has, and what an enclosing function has.
METHODS = (
    "self.calls += 1", "self.calls", "self.last = {x}", "self.last is {x}", "self.flag is True", "self.seen.append({n})", "self.weights * {n}", "self.helper({x})", "type(self).__name__", "self is OWNER", "isinstance(self, Owner)", "self.weights += 1", "Owner.made += 1",
    "vars(self)['calls']", "self.__dict__.setdefault('extra', {n})", "hasattr(self, 'weights')", "len(self.seen)",
    "if self.flag is True:\n    {new} = {x} * 2\nelse:\n    {new} = {x}", "if self.last is None:\n    self.last = {x} * 2\n{new} = self.last",
)  # fmt: skip
CLOSURES = (
    "nonlocal count_\ncount_ += 1\n{new} = count_", "kept_.append({n})\n{new} = len(kept_)", "kept_.append({x})\n{new} = kept_[0] is {x}", "nonlocal flag_\n{new} = flag_ is True\nflag_ = not flag_", "weights_ * {n}", "weights_[0] += 1", "made_[{n}] = made_.get({n}, 0) + 1\n{new} = dict(made_)",
    "weights_ is None", "isinstance(weights_, np.ndarray)", "module_ is np", "module_.sum({x})", "missing_ is None",
)  # fmt: skip
NUMERIC = (
    "{x} * 2 + 1", "{x} - {x}.max()", "{x}.sum()", "{x}.sum(axis=0)", "{v} @ {v}", "np.where({x} > 1, {x}, 0)", "{x}[::-1]", "np.maximum({x}, 1)", "{x} + {n}", "{x}.T", "np.sort({x})", "{x}[{x} > 1]", "{x} if {x}.sum() > 3 else {x} * 2", "int({x}.sum())", "{n} * 2", "{x}.max(axis=-1)",
    "{x}.astype(np.float32)", "np.cumsum({x})", "{x} * {x}", "{n} + {m}", "{x}.copy()", "{x}", "{n}", "np.concatenate([{x}, {x}])", "np.abs({x})", "np.stack([{x}, {x} * 2])", "{x}.any()", "{v}.mean()", "np.exp({v})", "{v} / 3", "np.sqrt({v} * {v} + 1)",
)  # fmt: skip
TABLES: dict[str, tuple[str, ...]] = {
    "question": QUESTIONS, "identity": IDENTITY, "bool": BOOLEANS, "container": CONTAINERS, "subclass": SUBCLASSES, "printing": PRINTING,
    "logging": LOGGING, "warning": WARNINGS, "foreign": FOREIGN, "written": WRITES, "raised": ERRORS, "generator": GENERATORS, "method": METHODS,
    "closure": CLOSURES, "numeric": NUMERIC, "memory": MEMORY,
}  # fmt: skip
# How often a line is of a kind.
WEIGHTS = {
    "question": 6, "identity": 5, "bool": 5, "container": 6, "subclass": 3, "printing": 3, "logging": 2, "warning": 2,
    "foreign": 6, "written": 4, "raised": 4, "generator": 3, "method": 5, "closure": 5, "numeric": 4, "memory": 3,
}  # fmt: skip
# Forms that round: what a program with one of them computes is held to a few units in the last place.
ROUNDED = frozenset({"{v}.mean()", "np.exp({v})", "{v} / 3", "np.sqrt({v} * {v} + 1)"} | {f for f in FOREIGN if "ndimage." in f or "signal." in f or "linalg." in f})  # fmt: skip

# What a function returns of the names {a}, {b}, {c}.
RESULTS = (
    "{a}", "{a}, {b}", "{a}, {b}, {c}", "[{a}, {b}]", "{{'p': {a}, 'q': ({b}, None)}}", "({a},)", "{{'p': [{a}], 'n': 3}}", "None", "({a}, ({b}, {c}))",
)  # fmt: skip
# What happens between two calls, to what the program reads.
BETWEEN = (
    "global G_NUMBER\nG_NUMBER = 7", "G_ARRAY[0] = 5", "global G_FLAG\nG_FLAG = False", "STATE['calls'] = 10", "HOLDER.flag = False", "HOLDER.data = np.arange(4.0)", "own.FLAG = False", "own.SCALE = 0.5", "KEPT[:] = 1", "SEEN.append('between')",
    "foreign.REGISTRY['n'] = 5", "global act\ndef act(v):\n    return v - 3", "BIG[5] = -1.0", "CACHE.clear()", "global G_ARRAY\nG_ARRAY = np.ones(3)", "global NP\nNP = None", "UNREAD.by = 5", "BIG.append(0.0)",
)  # fmt: skip
