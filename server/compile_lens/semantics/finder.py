"""Which file a module is: Python's own search, made without importing anything.

A relative import is a matter of folders. An absolute one is looked for beside the importing file's own package, beside
the script, in the roots of the project and their ``src``, then in any other folder of the project that holds a module
of this name (monorepos), last among installed packages.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

OPAQUE = frozenset({"torch", "torch_npu", "torchgen", "triton", "numpy", "functorch"})
"""Packages that Dynamo knows by name: what it does with them stands in tables, not in their source."""
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache", "build", "site-packages"}
)
MAX_FOLDERS = 4000
"""Folders of a project that are looked through for a module that is in none of the usual places."""
STANDARD_LIBRARY: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset()) or frozenset(
    [name.partition(".")[0] for name in os.listdir(sysconfig.get_path("stdlib"))] + list(sys.builtin_module_names)
)
"""Its names before Python 3.10 too."""
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", "requirements.txt")


@dataclass(frozen=True)
class Found:
    """Where a module is: a file, or the folder of a namespace package."""

    path: str
    is_package: bool = False
    """An ``__init__.py``, or a folder without one."""
    installed: bool = False
    """It belongs to an environment, not to the project."""


class Finder:
    """Finds modules for one project: ``roots`` are its folders, ``installed`` the site-packages of its interpreter."""

    def __init__(self, roots: tuple[str, ...] = (), installed: tuple[str, ...] = ()) -> None:
        self.roots = tuple(dict.fromkeys(os.path.abspath(root) for root in roots))
        self.installed = tuple(dict.fromkeys(os.path.abspath(folder) for folder in installed))
        self._listings: dict[str, Optional[frozenset[str]]] = {}
        self._found: dict[tuple[str, str], Optional[Found]] = {}
        self._elsewhere: Optional[dict[str, list[str]]] = None
        self._site: dict[str, bool] = {}

    def forget(self) -> None:
        """Files were made, moved or removed."""
        self._listings.clear()
        self._found.clear()
        self._elsewhere = None

    # --- modules ---------------------------------------------------------------------------------------------------

    def relative(self, importer: str, level: int, name: str) -> Optional[Found]:
        """The module of ``from ..name import``: ``level`` dots above the folder of the importing file."""
        folder = os.path.dirname(importer)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        if not name:
            return self._package(folder)
        return self._below(folder, name.split("."))

    def absolute(self, importer: str, name: str) -> Optional[Found]:
        """The module that ``import name`` means in a file."""
        top = name.partition(".")[0]
        if top in OPAQUE or top in STANDARD_LIBRARY or not name:
            return None
        folder = os.path.dirname(importer)
        key = folder, name
        if key not in self._found:
            self._found[key] = self._search(folder, name.split("."))
        return self._found[key]

    def child(self, package: Found, name: str) -> Optional[Found]:
        """A submodule of a package."""
        if not package.is_package:
            return None
        folder = os.path.dirname(package.path) if package.path.endswith(".py") else package.path
        return self._below(folder, name.split("."))

    def dotted(self, found: Found) -> str:
        """The absolute name of a module, from the folder above its outermost package on."""
        path = os.path.dirname(found.path) if found.path.endswith("__init__.py") else found.path
        path = path.removesuffix(".py")
        root = self.package_root(os.path.dirname(path))
        return path[len(root) :].strip(os.sep).replace(os.sep, ".")

    def _search(self, folder: str, parts: list[str]) -> Optional[Found]:
        namespace: Optional[Found] = None
        for root in self._places(folder, parts[0]):
            found = self._below(root, parts)
            if found is not None:
                if found.path.endswith(".py"):
                    return found
                namespace = namespace or found  # a regular package anywhere wins over a namespace
        return namespace

    def _places(self, folder: str, top: str) -> list[str]:
        places = [self.package_root(folder), folder]
        for root in self.roots:
            places += [root, os.path.join(root, "src")]
        places += self._others().get(top, ())
        return list(dict.fromkeys([*places, *self.installed]))

    def _below(self, folder: str, parts: list[str]) -> Optional[Found]:
        for part in parts[:-1]:
            if part not in (self._listing(folder) or ()):
                return None
            folder = os.path.join(folder, part)
        last = parts[-1]
        names = self._listing(folder) or frozenset[str]()
        if last in names:
            package = self._package(os.path.join(folder, last))
            if package is not None and (package.path.endswith(".py") or f"{last}.py" not in names):
                return package
        if f"{last}.py" in names:
            path = os.path.join(folder, f"{last}.py")
            return Found(path, False, self.is_installed(path))
        return None

    def _package(self, folder: str) -> Optional[Found]:
        names = self._listing(folder)
        if names is None:
            return None
        if "__init__.py" in names:
            return Found(os.path.join(folder, "__init__.py"), True, self.is_installed(folder))
        return Found(folder, True, self.is_installed(folder))

    # --- folders ---------------------------------------------------------------------------------------------------

    def package_root(self, folder: str) -> str:
        """The folder above the outermost package that a folder belongs to."""
        while "__init__.py" in (self._listing(folder) or ()):
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
        return folder

    def is_installed(self, path: str) -> bool:
        """Does a path lie in an environment?"""
        folders = [folder for folder in self.installed if _inside(path, folder)]
        return bool(folders) and not any(
            _inside(path, root) and _inside(root, folder) for root in self.roots for folder in folders
        )

    def _listing(self, folder: str) -> Optional[frozenset[str]]:
        """Python files and folders in a folder; ``None`` when there is no such folder."""
        if folder not in self._listings:
            try:
                with os.scandir(folder) as entries:
                    self._listings[folder] = frozenset(
                        e.name for e in entries if e.name.endswith(".py") or ("." not in e.name and e.is_dir())
                    )
            except OSError:
                self._listings[folder] = None
        return self._listings[folder]

    def _others(self) -> dict[str, list[str]]:
        """Folders of the project that hold a package or module, by its name; the nearest to the root first."""
        if self._elsewhere is None:
            found: dict[str, list[str]] = {}
            pending = list(self.roots)
            count = 0
            while pending and count < MAX_FOLDERS:
                folder = pending.pop(0)
                count += 1
                names = self._listing(folder) or frozenset[str]()
                inside = "__init__.py" in names
                for name in sorted(names):
                    if name.endswith(".py"):
                        if not inside:
                            found.setdefault(name[:-3], []).append(folder)
                    elif name not in SKIPPED_FOLDERS:
                        below = os.path.join(folder, name)
                        if not os.path.islink(below):
                            pending.append(below)
                            if not inside and "__init__.py" in (self._listing(below) or ()):
                                found.setdefault(name, []).append(folder)
            self._elsewhere = found
        return self._elsewhere


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def project_root(path: Path) -> Path:
    """The folder of the project that a file or folder belongs to: the nearest above with a project's mark."""
    start = path if path.is_dir() else path.parent
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
        if folder == Path.home():
            break
    return start


def site_packages(environment: Path) -> list[Path]:
    """Folders of installed packages below the prefix of an environment."""
    found = [*environment.glob("lib/python3*/site-packages"), *environment.glob("lib/python3*/dist-packages")]
    windows = environment / "Lib" / "site-packages"
    return [*sorted(found), *([windows] if windows.is_dir() else [])]


def is_environment(folder: Path) -> bool:
    """Does a folder hold installed packages, by their metadata?"""
    return any(True for _ in folder.glob("*.dist-info"))
