"""Imports the user's file as Python would, and finds the target in it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

from ..errors import TargetError, UsageError
from . import sites
from .discovery import read_source


def package_root(file: Path) -> tuple[Path, str]:
    """The folder that has to be on ``sys.path``, and the dotted name under which the file is imported from there."""
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def prepare_path(file: Path) -> None:
    """Give the user's code the ``sys.path`` and ``sys.argv`` of ``python FILE``.

    For a module inside a package the package's root comes first, as its imports need. The file's own folder then
    stands last: sibling imports still work, and a sibling named like a standard module hides nothing.
    """
    root, _ = package_root(file)
    sys.path.insert(0, str(root))
    if root != file.parent:
        sys.path.append(str(file.parent))
    sys.argv = [str(file)]


def import_file(file: Path) -> ModuleType:
    """Import the file, under its name in its package so that relative imports work, never as ``__main__``.

    :raises TargetError: with the innermost line of the file, when its code raises or leaves the process
    """
    _, name = package_root(file)
    try:
        if "." in name:
            module = importlib.import_module(name)
            if _same_file(module, file):
                return module
        return _import_alone(file, name)
    except SystemExit as error:
        message = f"Importing {file.name} ended the program with sys.exit({error.code!r})."
        remedy = "Move the program behind `if __name__ == '__main__':`."
        raise TargetError(message, remedy=remedy, file=str(file), line=line_in(error, file)) from error
    except MemoryError as error:
        raise TargetError(f"Importing {file.name} ran out of memory.", file=str(file)) from error
    except BaseException as error:  # user code may raise anything
        if isinstance(error, TargetError):
            raise
        raise TargetError(
            f"Importing {file.name} raised {describe(error)}.",
            remedy=_import_remedy(error),
            file=str(file),
            line=line_in(error, file),
        ) from error


def find_target(module: ModuleType, name: str, file: Path) -> tuple[Any, Optional[type]]:
    """The object called ``name`` in the module, and its class if it is a method of one."""
    owner: Optional[type] = None
    found: Any = module
    for part in name.split("."):
        if isinstance(found, type):
            owner = found
        try:
            found = getattr(found, part)
        except AttributeError:
            site = sites.site_called(read_source(file), name)
            if site is not None:
                raise UsageError(
                    f"{name} is compiled inside {site.holder} ({file.name}:{site.line}), out of reach from outside.",
                    remedy=f"Probe {file.name}::{site.target}, which holds it, or define it at the module's level.",
                    file=str(file),
                    line=site.line,
                ) from None
            others = ", ".join(sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))[:12])
            raise UsageError(
                f"{file.name} has no {name!r}.",
                remedy=f"It has: {others}." if others else "It defines nothing callable.",
            ) from None
    if not callable(found):
        raise UsageError(f"{name} in {file.name} is a {type(found).__name__}, which cannot be called.")
    return found, owner if owner is not found else None


def describe(error: BaseException, limit: int = 600) -> str:
    """An exception as ``Type: message``, cut to a readable length."""
    text = str(error).strip()
    text = text if len(text) <= limit else text[:limit].rstrip() + " ..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_in(error: BaseException, file: Path) -> Optional[int]:
    """The innermost line of ``file`` in the traceback of an exception."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None


def _import_alone(file: Path, name: str) -> ModuleType:
    """Import by path: a script's name may be no identifier, or the name of a module that is already there."""
    if name in sys.modules or not name.isidentifier():
        name = f"probed_{''.join(c if c.isalnum() else '_' for c in file.stem)}"
    spec: Any = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise TargetError(f"{file.name} is not a Python file.", file=str(file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look the module up by its name
    spec.loader.exec_module(module)
    return module


def _same_file(module: ModuleType, file: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == file.resolve()


def _import_remedy(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"Install {error.name!r} in {sys.executable}, or choose the interpreter that has it."
    return ""
