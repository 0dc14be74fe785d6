"""Example inputs written in a comment, and what they cost in memory. Parsed by rules of our own, never evaluated.

::

    # probe: x=f32[B,24] ids=i64[B,16]<10 mask=bool[B,16] scale=2.0; B=2|5|8; init(width=64, depth=3)

Parts are divided by ``;``. The first holds the arguments, ``name=dtype[dim,...]`` with integers or symbols as
dimensions, ``<100`` as the exclusive bound of random integers, ``=zeros``, ``=ones`` or ``=randn`` as fill, or a plain
Python literal. ``B=2|5|8`` gives a symbol its values, each a size of its own (two symbols: every combination).
``init(...)`` gives the constructor its keyword arguments.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional, Union

import torch

from ..errors import InputsError
from ..host import memory
from ..targets.calls import Call

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
_ALIASES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int32": "i32", "int64": "i64"}
_FILLS = ("zeros", "ones", "randn", "rand")
_TENSOR = re.compile(r"^([a-z]+\d*)\[([^\]]*)\](?:<(\d+))?(?:=(\w+))?$")
_SYMBOL = re.compile(r"^\s*([A-Za-z_]\w*)\s*=\s*(\d+(?:\s*\|\s*\d+)*)\s*$")
_INIT = re.compile(r"^\s*init\((.*)\)\s*$", re.S)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")

Dim = Union[int, str]


@dataclass(frozen=True)
class TensorSpec:
    """One tensor of a comment; ``bound`` is exclusive and for integers."""

    dtype: str
    dims: tuple[Dim, ...]
    bound: Optional[int] = None
    fill: Optional[str] = None

    def shape(self, values: dict[str, int]) -> tuple[int, ...]:
        """The shape with its symbols replaced."""
        return tuple(values[dim] if isinstance(dim, str) else dim for dim in self.dims)

    def make(self, values: dict[str, int]) -> torch.Tensor:
        """Make the tensor from torch's random numbers."""
        shape, dtype = self.shape(values), DTYPES[self.dtype]
        if self.fill in ("zeros", "ones"):
            return torch.full(shape, 1 if self.fill == "ones" else 0, dtype=dtype)
        if dtype is torch.bool:
            return torch.randint(0, 2, shape, dtype=torch.uint8).to(torch.bool)
        if dtype.is_floating_point or dtype.is_complex:
            return (torch.rand if self.fill == "rand" else torch.randn)(shape, dtype=dtype)
        return torch.randint(0, self.bound or 10, shape, dtype=dtype)

    def bytes(self, values: dict[str, int]) -> int:
        """Memory of the tensor."""
        return math.prod(self.shape(values)) * DTYPES[self.dtype].itemsize


@dataclass(frozen=True)
class Size:
    """One choice of values for the symbols."""

    label: Optional[str]
    arguments: tuple[tuple[str, Any], ...]
    values: tuple[tuple[str, int], ...]

    def call(self) -> Call:
        """Make the arguments, by keyword, after a look at the memory that they take.

        :raises InputsError: they would not fit into the memory at hand
        """
        values = dict(self.values)
        needed = sum(spec.bytes(values) for _, spec in self.arguments if isinstance(spec, TensorSpec))
        available = memory.available_bytes()
        if available is not None and needed > available / 2:
            gib = 1024**3
            raise InputsError(
                f"The inputs need {needed / gib:,.1f} GiB of memory, and {available / gib:,.1f} GiB are available "
                "(half of it is used at most, the rest is for the target).",
                stage="inputs",
                remedy="Make the dimensions in the comment smaller.",
            )
        made = {name: s.make(values) if isinstance(s, TensorSpec) else s for name, s in self.arguments}
        return (), made


@dataclass(frozen=True)
class Sweep:
    """A parsed comment."""

    arguments: tuple[tuple[str, Any], ...]
    symbols: tuple[tuple[str, tuple[int, ...]], ...]
    init: Optional[tuple[tuple[str, Any], ...]]

    def sizes(self) -> Iterator[Size]:
        """Every combination of the symbols' values."""
        names = [name for name, _ in self.symbols]
        for choice in itertools.product(*(values for _, values in self.symbols)):
            values = tuple(zip(names, choice))
            varying = [f"{n}={v}" for (n, v), (_, all_values) in zip(values, self.symbols) if len(all_values) > 1]
            yield Size(", ".join(varying) or None, self.arguments, values)

    @property
    def swept(self) -> tuple[int, ...]:
        """The values of the first symbol that has several."""
        return next((values for _, values in self.symbols if len(values) > 1), ())


def parse(text: str) -> Sweep:
    """Parse the text behind ``# probe:``.

    :raises InputsError: it does not follow the grammar; the message names the part
    """
    first, *rest = _split(text, ";")
    if _INIT.match(first) or _SYMBOL.match(first):
        first, rest = "", [first, *rest]
    symbols: dict[str, tuple[int, ...]] = {}
    init: Optional[tuple[tuple[str, Any], ...]] = None
    for part in rest:
        symbol, constructor = _SYMBOL.match(part), _INIT.match(part)
        if symbol:
            symbols[symbol.group(1)] = tuple(int(value) for value in symbol.group(2).split("|"))
        elif constructor:
            init = tuple((name, _literal(value)) for name, value in _pairs(constructor.group(1), ","))
        elif part.strip():
            raise _bad(part, "expected SYMBOL=2|5|8 or init(name=value)")
    arguments = tuple((name, _argument(value)) for name, value in _pairs(first, " "))
    used = {dim for _, s in arguments if isinstance(s, TensorSpec) for dim in s.dims if isinstance(dim, str)}
    missing = sorted(used - symbols.keys())
    if missing:
        raise _bad(text, f"{missing[0]} has no value; add `; {missing[0]}=8`")
    return Sweep(arguments, tuple((n, v) for n, v in symbols.items() if n in used), init)


def _argument(text: str) -> Any:
    match = _TENSOR.match(text)
    if not match:
        return _literal(text)
    dtype, dims, bound, fill = match.groups()
    dtype = _ALIASES.get(dtype, dtype)
    if dtype not in DTYPES:
        raise _bad(text, f"the dtypes are {', '.join(DTYPES)}")
    if fill is not None and fill not in _FILLS:
        raise _bad(text, f"the fills are {', '.join(_FILLS)}")
    parts = [part.strip() for part in dims.split(",") if part.strip()]
    if not all(part.isdigit() or part.isidentifier() for part in parts):
        raise _bad(text, "dimensions are integers or symbols")
    return TensorSpec(
        dtype, tuple(int(p) if p.isdigit() else p for p in parts), int(bound) if bound is not None else None, fill
    )


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError) as error:
        raise _bad(text, "expected dtype[dims] or a plain value") from error


def _pairs(text: str, divider: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in _split(text, divider):
        if not part.strip():
            continue
        match = _NAME.match(part)
        if not match:
            raise _bad(part, "expected name=value")
        pairs.append((match.group(1), part[match.end() :].strip()))
    return pairs


def _split(text: str, divider: str) -> list[str]:
    """Split outside brackets and quotes."""
    parts, depth, quote, current = [""], 0, "", 0
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if character == divider and depth == 0 and not quote:
            parts.append("")
            current += 1
        else:
            parts[current] += character
    return parts


def _bad(text: str, expected: str) -> InputsError:
    return InputsError(
        f"The comment `# probe:` has {text.strip()!r}: {expected}.",
        stage="inputs",
        remedy="For example: # probe: x=f32[B,24] ids=i64[B]<10; B=2|5|8",
    )
