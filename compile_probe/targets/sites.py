"""Finds the places inside functions where a file compiles something, from its text: no name outside reaches those."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Site:
    """A ``torch.compile`` on the 1-based ``line`` inside ``holder`` (``main``, ``Trainer.__init__``).

    ``name`` is what the compiled object is called there, ``step`` or ``self.step``, or None.
    """

    name: Optional[str]
    holder: str
    line: int

    @property
    def target(self) -> str:
        """What can be probed in place of the site: the function that holds it, or its class."""
        return self.holder.removesuffix(".__init__")


def compile_sites(text: str) -> list[Site]:
    """List the sites inside functions, in the order of their lines; none where the text is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return sorted(_sites(tree), key=lambda site: site.line)


def site_called(text: str, name: str) -> Optional[Site]:
    """The site whose object a user would call ``name``: ``step``, ``main.step``, ``Trainer.step``."""
    owner, _, last = name.rpartition(".")
    called = [site for site in compile_sites(text) if site.name in (last, f"self.{last}")]
    return next((site for site in called if owner and site.holder.startswith(owner)), called[0] if called else None)


def _sites(scope: ast.AST, classes: tuple[str, ...] = (), holder: Optional[str] = None) -> Iterator[Site]:
    """Walk with the classes around; ``holder`` is the outermost function, since nothing deeper has a name outside."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.ClassDef) and holder is None:
            yield from _sites(node, (*classes, node.name))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if holder is not None and any(_compiles(decorator) for decorator in node.decorator_list):
                yield Site(node.name, holder, node.lineno)
            yield from _sites(node, classes, holder or ".".join((*classes, node.name)))
        elif holder is not None and isinstance(node, (ast.Assign, ast.AnnAssign)) and _compiles(node.value):
            yield Site(_name(node.targets[0] if isinstance(node, ast.Assign) else node.target), holder, node.lineno)
        elif holder is not None and isinstance(node, ast.Call) and _compiles(node):
            yield Site(_receiver(node), holder, node.lineno)
        else:
            yield from _sites(node, classes, holder)


def _compiles(node: Optional[ast.expr]) -> bool:
    """Whether this is ``torch.compile``, alone or called, or the ``compile()`` method of a module."""
    while isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Attribute) and node.attr == "compile" and not _is_re(node.value)


def _is_re(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("re", "regex", "ast", "builtins")


def _receiver(node: ast.Call) -> Optional[str]:
    """``model`` of ``model.compile()``."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = _name(owner) if owner is not None else None
    return None if name == "torch" else name


def _name(node: ast.expr) -> Optional[str]:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None
