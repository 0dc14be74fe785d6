"""Tells whether two results are the same up to rounding, and where they differ most."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional, cast

from ..untyped import torch
from .snapshot import Thing, class_name, short_kind, tensors_in

TOLERANCE = {
    torch.float64: 1e-8,
    torch.float32: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 2e-2,
    torch.complex128: 1e-8,
    torch.complex64: 1e-4,
}
"""Accepted relative difference; also, times the largest value, the absolute one: sums of many terms cancel."""

REFERENCE_FACTOR = 3.0
"""How much farther from a float64 reference the compiled result may be than the eager one."""


@dataclass(frozen=True)
class Difference:
    """One place where results differ; ``absolute`` and ``relative`` are the largest of the place, or None."""

    path: str
    what: str
    absolute: Optional[float] = None
    relative: Optional[float] = None
    acceptable: bool = False


def differences(expected: Any, actual: Any, path: str = "output") -> Iterator[Difference]:
    """Walk two results side by side; rounding differences are yielded as ``acceptable``."""
    if isinstance(expected, torch.Tensor) or isinstance(actual, torch.Tensor):
        yield from _tensors(expected, actual, path)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        left, right = cast("Mapping[Any, Any]", expected), cast("Mapping[Any, Any]", actual)
        if list(left) != list(right):
            yield Difference(path, f"keys {list(left)} became {list(right)}")
            return
        for key in left:
            yield from differences(left[key], right[key], f"{path}[{key!r}]")
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        before, after = cast("list[Any]", expected), cast("list[Any]", actual)
        if len(before) != len(after):
            yield Difference(path, f"{len(before)} items became {len(after)}")
            return
        for index, (one, other) in enumerate(zip(before, after)):
            yield from differences(one, other, f"{path}[{index}]")
    elif isinstance(expected, Thing) and isinstance(actual, Thing):
        yield from _things(expected, actual, path)
    elif _field_names(expected) and _field_names(expected) == _field_names(actual):
        for name in _field_names(expected):
            yield from differences(_member(expected, name), _member(actual, name), f"{path}.{name}")
    else:
        yield from _values(expected, actual, path)


def _things(expected: Thing, actual: Thing, path: str) -> Iterator[Difference]:
    if expected.kind != actual.kind:
        yield Difference(path, f"{short_kind(expected.kind)} became {short_kind(actual.kind)}")
    elif list(expected.parts) != list(actual.parts):
        here, there = " ".join(expected.parts), " ".join(actual.parts)
        yield Difference(path, f"{short_kind(expected.kind)} with {here} became one with {there}")
    else:
        for name, part in expected.parts.items():
            yield from differences(part, actual.parts[name], path + name)


def closer_to(reference: Any, eager: Any, compiled: Any) -> bool:
    """Whether the compiled result is about as near to a float64 reference as the eager one, tensor by tensor."""
    triples = zip(tensors_in(reference), tensors_in(eager), tensors_in(compiled))
    for exact, plain, fast in triples:
        if exact.shape != fast.shape or not exact.is_floating_point():
            return False
        scale = _rms(exact) * TOLERANCE.get(plain.dtype, 0.0) * 0.1
        if _rms(fast.double() - exact) > REFERENCE_FACTOR * _rms(plain.double() - exact) + scale:
            return False
    return True


def _tensors(expected: Any, actual: Any, path: str) -> Iterator[Difference]:
    if not (isinstance(expected, torch.Tensor) and isinstance(actual, torch.Tensor)):
        yield Difference(path, f"{_kind(expected)} became {_kind(actual)}")
        return
    one: Any = expected
    other: Any = actual
    for name in ("dtype", "shape", "device"):
        before, after = getattr(one, name), getattr(other, name)
        if before != after:
            yield Difference(path, f"{name} {_short(before)} became {_short(after)}")
            return
    if one.numel() == 0:
        return
    with torch.no_grad():
        if one.layout is not torch.strided:
            one, other = one.to_dense(), other.to_dense()
        yield from _dense(one.detach(), other.detach(), path)


def _dense(one: Any, other: Any, path: str) -> Iterator[Difference]:
    tolerance = TOLERANCE.get(one.dtype)
    if tolerance is None:
        unequal = int((one != other).sum())
        if unequal:
            yield Difference(path, f"{unequal} of {one.numel()} values differ")
        return
    if one.is_complex():
        one, other = torch.view_as_real(one), torch.view_as_real(other)
    if not torch.equal(torch.isnan(one), torch.isnan(other)):
        yield Difference(path, "NaN stands in other places")
        return
    one, other = one.double(), other.double()
    infinite = torch.isinf(one)
    if not torch.equal(infinite, torch.isinf(other)) or not torch.equal(one[infinite], other[infinite]):
        yield Difference(path, "infinities stand in other places")
        return
    finite = torch.isfinite(one)
    gap = (one - other)[finite].abs()
    if gap.numel() == 0:
        return
    size = one[finite].abs()
    absolute = float(gap.max())
    if absolute == 0.0:
        return
    relative = float((gap / size.clamp_min(torch.finfo(torch.float64).tiny)).max())
    allowed = tolerance * size + 0.1 * tolerance * max(float(size.max()), 1e-3)
    fits = bool((gap <= allowed).all())
    yield Difference(path, "values differ", absolute, relative, acceptable=fits)


def _values(expected: Any, actual: Any, path: str) -> Iterator[Difference]:
    if isinstance(expected, float) and isinstance(actual, float):
        if not (math.isclose(expected, actual, rel_tol=1e-4) or (math.isnan(expected) and math.isnan(actual))):
            yield Difference(path, f"{expected} became {actual}", abs(expected - actual))
        return
    if class_name(expected) != class_name(actual):
        yield Difference(path, f"{_kind(expected)} became {_kind(actual)}")
        return
    if isinstance(expected, type):
        if (expected.__module__, expected.__qualname__) != (actual.__module__, actual.__qualname__):
            yield Difference(path, f"the class {expected.__name__} became {actual.__name__}")
        return
    try:
        same = expected is actual or bool(expected == actual) or type(expected).__eq__ is object.__eq__
    except Exception:  # comparison of the user's objects, or of arrays, may raise anything
        same = repr(expected) == repr(actual)
    if not same:
        yield Difference(path, f"{_short(expected)} became {_short(actual)}")


def _field_names(value: Any) -> list[str]:
    """Names of the fields of a dataclass instance; none for anything else."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return []
    return [field.name for field in dataclasses.fields(value)]


def _kind(value: Any) -> str:
    return short_kind(value.kind) if isinstance(value, Thing) else type(value).__name__


def _member(value: Any, name: str) -> Any:
    return getattr(value, name)


def _rms(tensor: Any) -> float:
    return float(tensor.double().pow(2).mean().sqrt()) if tensor.numel() else 0.0


def _short(value: Any) -> str:
    text = str(list(value)) if isinstance(value, torch.Size) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
