"""Modules of the analysed code: found, read and executed when somebody looks at what they define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Optional

from ..knowledge import torch_api
from .code import Code
from .finder import Found
from .modules import SourceModule
from .values import UNKNOWN, Const, External, Module, Number, Sequence, Text, Value
from .workspace import Workspace

_CONSTANTS: dict[str, Value] = {
    "typing.TYPE_CHECKING": Const(False),
    "math.pi": Number("float"),
    "math.e": Number("float"),
    "math.inf": Number("float"),
    "math.nan": Number("float"),
    "torch.pi": Number("float"),
    "torch.inf": Number("float"),
    "torch.nan": Number("float"),
    "numpy.pi": Number("float"),
    "numpy.inf": Number("float"),
    "torch.__version__": Text(),
}
KNOWN_BASES = frozenset({"LightningModule", "PreTrainedModel", "ModelMixin"})
"""Classes of installed packages that are known by name as modules; reading what they inherit would add nothing."""


def external(name: str) -> Value:
    """A name outside the analysed code, in its canonical spelling; a constant where it is one."""
    known = _CONSTANTS.get(name)
    return known if known is not None else External(torch_api.canonical(name))


class Loader:
    """Resolves imports for one interpretation. ``run`` executes the top-level code of a module."""

    def __init__(
        self, entry: SourceModule, workspace: Optional[Workspace], run: Callable[[SourceModule], None]
    ) -> None:
        self.entry = entry
        self.workspace = workspace
        self.modules: dict[str, Optional[SourceModule]] = {entry.path: entry}
        """By path; ``None`` for what cannot be read or is left alone."""
        self.asked: dict[tuple[str, str], Optional[str]] = {}
        """Which file every import led to, by importing file and name: what a result depends on besides the texts."""
        self._run = run
        self._running: set[str] = {entry.path}
        self._pending: list[tuple[Code, str, str]] = []
        self._settled: set[str] = set()

    # --- imports ---------------------------------------------------------------------------------------------------

    def module(self, importer: Code, name: str) -> Value:
        """What ``import name`` denotes in a file; leading dots are relative to its folder."""
        found = self._find(importer, name)
        return external(name) if found is None else self._value(name, found)

    def name(self, importer: Code, module: str, name: str) -> Value:
        """What ``from module import name`` denotes in a file."""
        written = f"{module}.{name}" if not module.endswith(".") else module + name
        found = self._find(importer, module)
        if found is None:
            return external(written)
        if found.installed and name in KNOWN_BASES:
            return External(written)
        value = self.member(self._value(module, found), name)
        if isinstance(value, External) and found.installed and not module.startswith("."):
            own = value.name.partition(".")[0] == module.partition(".")[0]
            return External(written) if own else value  # known by the name under which it is imported
        return value

    def star(self, importer: Code, module: str, name: str) -> Optional[Value]:
        """What ``from module import *`` gives to a name in a file; ``None`` when it does not bind it."""
        found = self._find(importer, module)
        if found is None or name.startswith("_"):
            return None
        source = self.load(self._value(module, found))
        if source is None:
            return None
        exported = source.scope.names.get("__all__")
        items = (exported.items or []) if isinstance(exported, Sequence) else []
        if items and Const(name) not in items and all(isinstance(item, Const) for item in items):
            return None
        return source.scope.get(name)

    def member(self, module: Module, name: str) -> Value:
        """``module.name``: what its code defines, else a submodule."""
        source = self.load(module)
        if source is not None:
            value = source.scope.get(name)
            if value is not None:
                return value
        if module.is_package and self.workspace is not None:
            child = self.workspace.finder.child(Found(module.path, True, module.installed), name)
            if child is not None:
                return self._value(f"{module.name}.{name}", child)
        return UNKNOWN if source is not None else External(f"{module.name}.{name}")

    # --- modules ---------------------------------------------------------------------------------------------------

    def pend(self, importer: Code, module: str, name: str = "") -> None:
        """An import was executed whose module nobody has looked at yet; running it may register something."""
        if self.workspace is not None:
            self._pending.append((importer, module, name))

    def settle(self, key: str) -> bool:
        """Run the imported modules of the project that may register something under a name: did any run?

        A registry is filled by modules that are imported for nothing else. Only those that mention the name are run,
        and packages, which import others.
        """
        if key in self._settled or not self._pending:
            return False
        self._settled.add(key)
        before = len(self._running)
        waiting, self._pending = self._pending, []
        kept: list[tuple[Code, str, str]] = []
        while waiting:
            importer, module, name = waiting.pop()
            for found in self._targets(importer, module, name):
                if found.installed or found.path in self._running or not found.path.endswith(".py"):
                    continue
                source = self.workspace.source(found.path) if self.workspace is not None else None
                if source is not None and (found.is_package or key in source.text):
                    self.load(self._value(module, found))
                else:
                    kept.append((importer, module, name))
            waiting += self._pending
            self._pending = []
        self._pending = kept
        return len(self._running) > before

    def _targets(self, importer: Code, module: str, name: str) -> list[Found]:
        """A module, and the submodule that ``from module import name`` may mean."""
        found = self._find(importer, module)
        if found is None or self.workspace is None:
            return []
        child = self.workspace.finder.child(found, name) if name else None
        return [found, child] if child is not None else [found]

    def load(self, module: Module) -> Optional[SourceModule]:
        """The code of a module, executed; ``None`` for a namespace package and for what cannot be read."""
        source = self.modules.get(module.path)
        if source is None and module.path not in self.modules:
            source = self.modules[module.path] = self._read(module)
        if source is not None and module.path not in self._running:
            self._running.add(module.path)
            source.scope.names["__name__"] = Const(module.name.lstrip("."))
            self._run(source)
        return source

    def _read(self, module: Module) -> Optional[SourceModule]:
        if self.workspace is None or not module.path.endswith(".py"):
            return None
        if module.installed and not module.is_package:
            source = self.workspace.source(module.path)
            if source is None or "torch" not in source.text:
                return None  # what it does with tensors, it does by chance: its name is all that counts
        code = self.workspace.code(module.path)
        return None if code is None else SourceModule(code.source, code.tree)

    def owns(self, code: Code) -> bool:
        """Does a file belong to the project, not to an environment?"""
        if self.workspace is None or code is self.entry:
            return True
        return not self.workspace.finder.is_installed(code.path)

    def _find(self, importer: Code, name: str) -> Optional[Found]:
        if self.workspace is None:
            return None
        found = self.workspace.find(importer.path, name)
        self.asked[importer.path, name] = found.path if found is not None else None
        return found

    def _value(self, name: str, found: Found) -> Module:
        if name.startswith(".") and self.workspace is not None:
            name = self.workspace.finder.dotted(found)
        return Module(name, found.path, found.is_package, found.installed)
