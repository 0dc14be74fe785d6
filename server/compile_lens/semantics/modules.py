"""A file as a module: the values that its top-level code gives to names, and what is defined and compiled in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import libcst as cst

from .code import Code
from .scopes import Scope
from .values import Class, Function, Instance, Unknown, Value


@dataclass(frozen=True)
class CompileSite:
    """One place where something is given to ``torch.compile``."""

    node: cst.CSTNode
    target: Optional[Value]
    module: Code
    """The file that it stands in."""
    keywords: dict[str, Value] = field(compare=False, hash=False)
    form: str = "call"
    """``call``, ``method`` (``m.compile()``), ``decorator``, or ``vllm`` (its decorator of classes)."""
    function: str = ""
    """Qualified name of the function around it; empty at module level."""


@dataclass(frozen=True)
class Construction:
    """A statement ``name = Module(...)`` in host code."""

    name: str
    statement: cst.CSTNode
    value: cst.BaseExpression
    instance: Instance
    compilable: bool = True
    """False for attributes of other modules, which are compiled with those."""


@dataclass(eq=False)
class SourceModule(Code):
    """A module of the analysed code; compared by identity."""

    scope: Scope = field(default_factory=Scope)
    sites: list[CompileSite] = field(default_factory=list[CompileSite])
    """One for every place; the interpreter knows every target of it."""
    functions: list[Function] = field(default_factory=list[Function])
    classes: list[Class] = field(default_factory=list[Class])
    constructions: list[Construction] = field(default_factory=list[Construction])
    settings: dict[str, object] = field(default_factory=dict[str, object])
    """``torch._dynamo.config`` as the file assigns it."""

    def defined(self, value: Function | Class) -> None:
        """A function or class definition was executed."""
        known = self.functions if isinstance(value, Function) else self.classes
        if all(value.node is not other.node for other in known):
            known.append(value)  # type: ignore[arg-type]

    def compiled(self, site: CompileSite) -> None:
        """A place gives something to ``torch.compile``; what is known of it counts before what is not."""
        known = next((i for i, other in enumerate(self.sites) if other.node is site.node), None)
        if known is None:
            self.sites.append(site)
        elif isinstance(self.sites[known].target, (Unknown, type(None))):
            self.sites[known] = site

    def module_functions(self) -> list[Function]:
        """Functions defined at the top level of the file."""
        found: list[Function] = []
        for value in self.scope.names.values():
            own = isinstance(value, Function) and value.module is self and value.owner is None
            if own and isinstance(value, Function) and isinstance(value.node, cst.FunctionDef):
                found.append(value)
        return found
