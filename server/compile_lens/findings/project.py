"""The project that given files and folders belong to: its roots, and the environment that it runs in."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from ..semantics.finder import Finder, is_environment, project_root, site_packages
from ..semantics.workspace import Workspace


def open_workspace(paths: Iterable[Path], environments: Iterable[Path] = ()) -> Workspace:
    """A workspace for files and folders; ``environments``: prefixes or folders of installed packages, where known."""
    roots: list[Path] = []
    installed: list[Path] = []
    probe = Finder()
    for path in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):  # noqa: PTH100  # links stay links
        folder = path if path.is_dir() else path.parent
        above = Path(probe.package_root(str(folder)))
        if above != folder and above not in installed and is_environment(above):
            installed.append(above)
        if above in installed:  # a package that somebody looks at in its environment: it alone is the project
            roots.append(above / folder.relative_to(above).parts[0])
        elif folder not in roots:
            roots += [project_root(folder), folder]
    chosen = list(environments) or _environments(roots)
    for environment in chosen:
        installed += site_packages(environment) or [environment]
    return Workspace(Finder(tuple(map(str, dict.fromkeys(roots))), tuple(map(str, dict.fromkeys(installed)))))


def _environments(roots: list[Path]) -> list[Path]:
    """Where the project's packages are: the active environment, one beside the project, else our own."""
    active = os.environ.get("VIRTUAL_ENV")
    beside = [root / name for root in roots for name in (".venv", "venv")]
    found = [Path(active)] if active else [folder for folder in beside if (folder / "pyvenv.cfg").exists()]
    return found or [Path(sysconfig.get_path("purelib"))]
