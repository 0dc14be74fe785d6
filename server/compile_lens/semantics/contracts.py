"""What frameworks promise of code that they compile, beyond what Dynamo checks.

vLLM compiles ``forward`` of a decorated class once, in one graph, and drops every guard: what was true at the first
call is taken for true for ever. Seen in vLLM 0.34.0 (``vllm/compilation/decorators.py``, ``wrapper.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .modules import CompileSite
from .values import Class, Const, Dictionary, Sequence, Value

VLLM = "support_torch_compile"


@dataclass(frozen=True)
class Contract:
    """A region whose guards are dropped. ``dims``: dynamic dimensions of arguments by name, where they are written."""

    root: str
    """Qualified name of the compiled function."""
    dims: Optional[dict[str, tuple[int, ...]]] = None

    def varies(self, name: str, dimension: int, in_root: bool) -> bool:
        """May a dimension of a tensor by this name change from call to call?"""
        if self.dims is None or not in_root:
            return dimension == 0
        return dimension in self.dims.get(name, ())


def is_contract_decorator(name: str) -> bool:
    """Does a dotted name denote vLLM's decorator, wherever it was imported from?"""
    return name.rpartition(".")[2] == VLLM


def contract_of(site: CompileSite) -> Optional[Contract]:
    """The contract of a site; ``None`` for plain ``torch.compile``."""
    if site.form != "vllm" or not isinstance(site.target, Class):
        return None
    given = site.keywords.get("dynamic_arg_dims")
    dims: Optional[dict[str, tuple[int, ...]]] = None
    if isinstance(given, Dictionary) and given.entries:
        dims = {str(name): _dimensions(value) for name, value in given.entries.items()}
    return Contract(f"{site.target.qualified_name}.forward", dims)


def _dimensions(value: Value) -> tuple[int, ...]:
    if isinstance(value, Const) and isinstance(value.value, int):
        return (value.value,)
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(v.value for v in value.items if isinstance(v, Const) and isinstance(v.value, int))
    if isinstance(value, Dictionary):
        return tuple(key for key in value.entries if isinstance(key, int))
    return ()
