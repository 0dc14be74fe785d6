"""Abstract values: what is known of a Python value without running anything.

They mirror Dynamo's variable trackers (``torch/_dynamo/variables``): what matters is whether Dynamo would hold the
value as a constant, a guarded Python number, a graph node or an object. Unknown stays unknown, and nothing is
concluded from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional
from typing import Union as Either

import libcst as cst

from .code import Code


class Value:
    """Base of all abstract values; compared by content unless mutable."""

    __slots__ = ()


@dataclass(frozen=True)
class Unknown(Value):
    """Nothing is known."""


@dataclass(frozen=True)
class Const(Value):
    """A Python constant that is known: ``None``, bool, int, float, str, bytes, ``...``."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        value: object = self.value
        return hash((value.__class__, value))


@dataclass(frozen=True)
class Number(Value):
    """A Python number whose value is not known; Dynamo guards on it or makes it symbolic.

    ``origin``: ``argument``, ``varying`` (an argument that the example calls change), ``size`` (of a tensor), ``read``
    (out of a tensor), ``random`` (drawn while tracing), ``computed``.
    """

    kind: str = "int"
    origin: str = "computed"


@dataclass(frozen=True)
class Text(Value):
    """A string whose contents are not known. ``varying``: another one at every call of the example inputs."""

    varying: bool = False


@dataclass(frozen=True)
class Tensor(Value):
    """A ``torch.Tensor``. ``rank``: number of dimensions. ``dtype``: ``bool``, ``int``, ``float``, ``complex``."""

    rank: Optional[int] = None
    dtype: Optional[str] = None
    parameter: bool = False
    guessed: bool = False
    """Concluded from how a name is used, not from where the value comes from."""
    computed: bool = False
    """Made inside traced code: Dynamo cannot read it as it can read an input that happens to hold one number."""


@dataclass(frozen=True)
class NdArray(Value):
    """A NumPy array or NumPy scalar; Dynamo traces it as a tensor."""

    rank: Optional[int] = None
    dtype: Optional[str] = None


@dataclass(frozen=True)
class Opaque(Value):
    """A value of a kind that Dynamo holds as a guarded constant: ``dtype``, ``device``, ``layout``, ``size`` ..."""

    kind: str


@dataclass(frozen=True)
class External(Value):
    """A module, function or class outside the analysed code, by its dotted name (``torch.nn.functional.relu``)."""

    name: str


@dataclass(frozen=True)
class Function(Value):
    """A function, lambda or method of the analysed code, with the scope that it closes over."""

    node: Either[cst.FunctionDef, cst.Lambda]
    module: Code
    scope: Any = field(compare=False, hash=False, default=None)
    owner: Optional[Class] = None
    """The class whose body defines it."""
    bound: Optional[Value] = field(compare=False, hash=False, default=None)
    """``self`` or ``cls`` of a bound method."""

    @property
    def name(self) -> str:
        node = self.node
        return node.name.value if hasattr(node, "name") else "<lambda>"  # type: ignore[union-attr]

    @property
    def qualified_name(self) -> str:
        return f"{self.owner.qualified_name}.{self.name}" if self.owner else self.name


@dataclass(frozen=True)
class Class(Value):
    """A class of the analysed code."""

    node: cst.ClassDef
    module: Code
    scope: Any = field(compare=False, hash=False, default=None)
    bases: tuple[Value, ...] = field(compare=False, hash=False, default=())
    members: dict[str, Value] = field(compare=False, hash=False, default_factory=dict[str, Value])

    @property
    def qualified_name(self) -> str:
        return self.node.name.value

    def lineage(self) -> list[Value]:
        """The class and its bases, depth first: an approximation of the method resolution order."""
        found: list[Value] = [self]
        for base in self.bases:
            for entry in base.lineage() if isinstance(base, Class) else [base]:
                if entry not in found:
                    found.append(entry)
        return found

    def find(self, name: str) -> Optional[Value]:
        """A member by name, looked up along the lineage; ``None`` when it is not in analysed code."""
        for entry in self.lineage():
            if isinstance(entry, Class) and name in entry.members:
                return entry.members[name]
        return None

    @property
    def external_bases(self) -> list[str]:
        return [entry.name for entry in self.lineage() if isinstance(entry, External)]

    @property
    def is_module(self) -> bool:
        """Is it an ``nn.Module``, as far as its bases tell?"""
        return any(is_module_class(name) for name in self.external_bases)


def is_module_class(name: str) -> bool:
    """Does a dotted name denote ``nn.Module`` or one of its well-known subclasses?"""
    return (name.startswith("torch.nn.") and name.rsplit(".", 1)[1][:1].isupper() and "Parameter" not in name) or (
        name.rsplit(".", 1)[-1] in ("LightningModule", "PreTrainedModel", "ModelMixin")
    )


class Instance(Value):
    """An object: of an analysed class, or of an external one. Mutable; compared by identity."""

    __slots__ = ("arguments", "attributes", "changing", "cls", "local")

    def __init__(self, cls: Value, attributes: Optional[dict[str, Value]] = None) -> None:
        self.cls = cls
        self.attributes: dict[str, Value] = attributes if attributes is not None else {}
        self.changing: set[str] = set()
        """Attributes that are assigned outside ``__init__``: their values are not constants."""
        self.local = False
        """Made inside traced code: nobody guards on it."""
        self.arguments: tuple[Value, ...] = ()
        """Positional arguments of the constructor, for external classes."""

    @property
    def is_module(self) -> bool:
        if isinstance(self.cls, Class):
            return self.cls.is_module
        return isinstance(self.cls, External) and is_module_class(self.cls.name)

    @property
    def external_class(self) -> str:
        return self.cls.name if isinstance(self.cls, External) else ""


class Sequence(Value):
    """A list, tuple, set or other collection; ``items`` is ``None`` when its length is not known."""

    __slots__ = ("element", "items", "kind")

    def __init__(self, kind: str, items: Optional[list[Value]] = None, element: Optional[Value] = None) -> None:
        self.kind = kind
        self.items = items
        self.element: Value = element if element is not None else join_all(items or ())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return False
        return self is other or (
            self.kind == other.kind and self.items == other.items and self.element == other.element
        )

    def __hash__(self) -> int:
        return hash((self.kind, len(self.items) if self.items is not None else -1))

    def append(self, value: Value, certain: bool) -> None:
        """Add a value; ``certain``: this happens exactly once on every path."""
        if self.items is not None and certain:
            self.items.append(value)
        else:
            self.items = None
        self.element = value if isinstance(self.element, Unknown) and not self.items else join(self.element, value)


class Dictionary(Value):
    """A mapping; ``entries`` holds what is known for constant keys, ``element`` what any value may be."""

    __slots__ = ("element", "entries", "exact", "kind")

    def __init__(self, entries: Optional[Mapping[Any, Value]] = None, exact: bool = True, kind: str = "dict") -> None:
        self.entries: dict[Any, Value] = dict(entries or {})
        self.exact = exact
        self.kind = kind
        self.element: Value = join_all(self.entries.values())

    def store(self, key: Value, value: Value) -> None:
        if isinstance(key, Const) and _hashable(key.value):
            self.entries[key.value] = value
        else:
            self.exact = False
        self.element = join(self.element, value) if len(self.entries) > 1 or not self.exact else value


@dataclass(frozen=True)
class Module(Value):
    """An analysed module as a value; ``name`` is what it is imported as, from wherever."""

    name: str
    path: str
    is_package: bool = False
    installed: bool = False


class Deferred(Value):
    """What an import binds: made when somebody looks at it, so that a file is only read when it is needed."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._value: Optional[Value] = None

    def resolve(self) -> Value:
        if self._value is None:
            self._value = UNKNOWN  # an import circle ends here
            self._value = self._make()
        return self._value


@dataclass(frozen=True)
class Super(Value):
    """``super()`` inside a method: attributes are looked up in the classes behind the one that defines it."""

    receiver: Value
    lineage: tuple[Value, ...]


@dataclass(frozen=True)
class Iterator(Value):
    """A generator, ``map``, ``zip``, ``iter(...)``: yields ``element`` an unknown number of times."""

    element: Value
    kind: str = "iterator"


@dataclass(frozen=True)
class Partial(Value):
    """``functools.partial``, a bound external method, or a compiled callable: calls go through to ``function``."""

    function: Value
    arguments: tuple[Value, ...] = ()
    compiled: bool = False


@dataclass(frozen=True)
class Method(Value):
    """A bound method of a value that is not an analysed object: ``x.sum`` of a tensor, ``xs.append`` of a list."""

    receiver: Value
    name: str


@dataclass(frozen=True)
class Union(Value):
    """One of several values, at most `MAX_OPTIONS`."""

    options: tuple[Value, ...]


UNKNOWN = Unknown()
NONE = Const(None)
MAX_OPTIONS = 6


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def options(value: Value) -> tuple[Value, ...]:
    """The alternatives of a value; a value that is no union is its own only one."""
    return value.options if isinstance(value, Union) else (value,)


def _merge(a: Value, b: Value) -> Optional[Value]:
    """One value that stands for two of a kind, or ``None`` when they must stay apart."""
    if a is b or a == b:
        return a
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return Tensor(
            a.rank if a.rank == b.rank else None,
            a.dtype if a.dtype == b.dtype else None,
            a.parameter and b.parameter,
            a.guessed and b.guessed,
            a.computed and b.computed,
        )
    if isinstance(a, NdArray) and isinstance(b, NdArray):
        return NdArray(a.rank if a.rank == b.rank else None, a.dtype if a.dtype == b.dtype else None)
    if isinstance(a, (Number, Const)) and isinstance(b, (Number, Const)):
        kinds = number_kind(a), number_kind(b)
        if kinds[0] and kinds[1]:
            kind = kinds[0] if kinds[0] == kinds[1] else "float" if "float" in kinds else "int"
            origins = {v.origin for v in (a, b) if isinstance(v, Number)}
            return Number(kind, origins.pop() if len(origins) == 1 else "computed")
    if isinstance(a, (Text, Const)) and isinstance(b, (Text, Const)) and is_text(a) and is_text(b):
        return Text()
    if isinstance(a, Sequence) and isinstance(b, Sequence) and a.kind == b.kind:
        if a.items is not None and b.items is not None and len(a.items) == len(b.items):
            return Sequence(a.kind, [join(x, y) for x, y in zip(a.items, b.items)])
        return Sequence(a.kind, None, join_elements(a, b))
    return None


def join_elements(a: Sequence, b: Sequence) -> Value:
    """What an element of either collection may be; an empty collection says nothing."""
    if a.items is not None and not a.items:
        return b.element
    if b.items is not None and not b.items:
        return a.element
    return join(a.element, b.element)


def number_kind(value: Value) -> Optional[str]:
    """``bool``, ``int``, ``float`` or ``complex`` for a Python number, else ``None``."""
    if isinstance(value, Number):
        return value.kind
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, complex)):
        return type(value.value).__name__
    return None


def is_text(value: Value) -> bool:
    return isinstance(value, Text) or (isinstance(value, Const) and isinstance(value.value, str))


def join(a: Value, b: Value) -> Value:
    """What a name may hold after two paths meet."""
    if a is b:
        return a
    if isinstance(a, Deferred):
        a = a.resolve()
    if isinstance(b, Deferred):
        b = b.resolve()
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return UNKNOWN
    merged = list(options(a))
    for value in options(b):
        for index, old in enumerate(merged):
            both = _merge(old, value)
            if both is not None:
                merged[index] = both
                break
        else:
            merged.append(value)
    if len(merged) == 1:
        return merged[0]
    return Union(tuple(merged)) if len(merged) <= MAX_OPTIONS else UNKNOWN


def join_all(values: Iterable[Value]) -> Value:
    """The join of any number of values; unknown when there is none."""
    result: Optional[Value] = None
    for value in values:
        result = value if result is None else join(result, value)
    return UNKNOWN if result is None else result


def truth(value: Value) -> Optional[bool]:
    """What ``bool(value)`` is, where that is certain and costs Dynamo no look at tensor data."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Sequence) and value.items is not None:
        return bool(value.items)
    if isinstance(value, Dictionary) and value.exact:
        return bool(value.entries)
    if isinstance(value, (Function, Class, External, Method, Module)):
        return True
    if isinstance(value, Union):
        truths = {truth(option) for option in value.options}
        return truths.pop() if len(truths) == 1 else None
    return None
