"""What becomes of an operator in graph mode on the NPU, as the installed wheel tells it.

Both halves are hints: whether it can be captured in an ACL graph (the dispatcher's table), and whether torchair's
max-autotune can convert it (the converters). The device's refusal is the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .converters import CONVERTS, RAISES
from .facts import Facts
from .operators import ACLNN, ACLOP, BOTH, OWN, Operator

YES, CONDITIONAL, NO, UNKNOWN = "yes", "conditional", "no", "unknown"

JIT_COMPILE, BASE_FORMATS = "jit-compile-off", "base-formats"
"""Conditions under which an operator with both implementations runs as aclnn."""

REMEDIES = {
    JIT_COMPILE: "torch.npu.set_compile_mode(jit_compile=False)",
    BASE_FORMATS: "torch.npu.config.allow_internal_format = False",
}
"""The statement of torch_npu that makes a condition hold."""


@dataclass(frozen=True)
class OperatorState:
    """One operator on one torch_npu."""

    name: str
    """As torch prints an overload: ``aten.add.Tensor``."""
    implementation: str
    """``aclnn``, ``both``, ``aclop``, ``own``, or empty: the table has no row for it (decomposed, or a composite)."""
    conditions: tuple[str, ...]
    converter: str
    """``converts``, ``raises``, or empty: none is registered."""
    captures: str
    """Can it be captured: ``yes``, ``conditional``, ``no``, ``unknown``."""
    why: str
    """``aclop``, ``host-sync``, or empty."""

    @property
    def remedies(self) -> tuple[str, ...]:
        return tuple(REMEDIES[condition] for condition in self.conditions)


def state_of(facts: Facts, name: str, syncs: bool = False) -> OperatorState:
    """State of an overload such as ``aten.add.Tensor``; ``syncs``: it reads its result back on the host.

    Operators whose result's shape or value the host must know (``nonzero``, ``item``) wait for the stream, which a
    capture forbids, however they are implemented. torch marks them with tags; the caller knows those.
    """
    row = row_of(facts, name)
    conditions = _conditions(row)
    implementation = row.implementation if row is not None else ""
    captures = {ACLNN: YES, OWN: YES, BOTH: CONDITIONAL, ACLOP: NO}.get(implementation, UNKNOWN)
    why = "aclop" if implementation == ACLOP else ""
    if syncs:
        captures, why = NO, "host-sync"
    return OperatorState(name, implementation, conditions, _converter(facts, name), captures, why)


def row_of(facts: Facts, name: str) -> Optional[Operator]:
    """The table's row for an overload; a structured operator has one for its ``out`` form only."""
    namespace, _, rest = name.partition(".")
    packet, _, overload = rest.partition(".")
    if not packet:
        return None
    wanted = [packet if overload in ("", "default") else f"{packet}.{overload}"]
    wanted.append(f"{packet}.out" if overload in ("", "default", "Tensor") else f"{packet}.{overload}_out")
    for candidate in wanted:
        row = facts.operators.get(candidate)
        if row is not None and row.custom == (namespace == "npu"):
            return row
    return None


def _converter(facts: Facts, name: str) -> str:
    full = name if name.count(".") > 1 else f"{name}.default"
    state = facts.converters.get(full, "")
    return state if state in (CONVERTS, RAISES) else ""


def _conditions(row: Optional[Operator]) -> tuple[str, ...]:
    if row is None or row.implementation != BOTH:
        return ()
    return (JIT_COMPILE,) if row.internal_formats else (JIT_COMPILE, BASE_FORMATS)
