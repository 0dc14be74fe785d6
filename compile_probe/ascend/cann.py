"""CANN, Huawei's driver stack, as it lies on this host: found on disk, and told whether its environment is loaded.

The usual fault is not that CANN is missing: a shell that is not interactive (ssh HOST CMD, an editor's remote server)
has not sourced ``set_env.sh``, so the loader does not find ``libhccl.so`` and torch_npu cannot be imported.
Unverified on hardware: paths and files are those of public installation guides and images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

LIBRARIES = ("libhccl.so", "libascendcl.so")
"""What torch_npu's own library needs first."""

SCRIPT = "set_env.sh"

VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH")
"""Set by ``set_env.sh``."""

_FOLDERS = (
    "usr/local/Ascend/cann",
    "usr/local/Ascend/ascend-toolkit",
    "usr/local/Ascend/nnae",
    "usr/local/Ascend/nnrt",
)
"""Where installers put it for all users; for one user the same lies below the home directory, without ``usr/local``."""


@dataclass(frozen=True)
class Cann:
    """One installation. ``script``: its ``set_env.sh``, where there is one."""

    folder: Path
    version: str
    script: Optional[Path]


def find(environ: Mapping[str, str], root: Path = Path("/")) -> Optional[Cann]:
    """The CANN of this host: the one that the environment names, else the first at a usual place."""
    for folder in _places(environ, root):
        if any(_libraries_below(folder)):
            return Cann(folder, _version(folder), _script(folder))
    return None


def _places(environ: Mapping[str, str], root: Path) -> Iterable[Path]:
    for name in VARIABLES:
        if environ.get(name):
            named = Path(environ[name])
            yield named if name in VARIABLES[:2] else named.parent
    homes = [Path(environ["HOME"]).relative_to("/")] if environ.get("HOME", "").startswith("/") else []
    for folder in (*_FOLDERS, *(str(home / Path(f).relative_to("usr/local")) for home in homes for f in _FOLDERS)):
        place = root / folder
        yield place / "latest"
        yield place
        with suppress(OSError):
            yield from sorted((entry for entry in place.iterdir() if entry.is_dir()), reverse=True)


def _libraries_below(folder: Path) -> Iterable[Path]:
    for sub in ("lib64", "runtime/lib64", "compiler/lib64", "*-linux/lib64"):
        for name in LIBRARIES:
            with suppress(OSError):
                yield from folder.glob(f"{sub}/{name}")


def _script(folder: Path) -> Optional[Path]:
    for place in (folder, folder.parent, folder.resolve(), folder.resolve().parent):
        if (place / SCRIPT).is_file():
            return place / SCRIPT
    return None


def _version(folder: Path) -> str:
    for name in ("version.cfg", "version.info", "compiler/version.info", "runtime/version.info"):
        version = version_in(folder / name)
        if version:
            return version
    for info in sorted(folder.glob("*-linux/ascend_*_install.info")):
        version = version_in(info)
        if version:
            return version
    match = re.search(r"\d+\.\d+[\w.]*", folder.resolve().name)
    return match[0] if match else ""


def version_in(path: Path) -> str:
    """The version that an information file of CANN or of the driver states; empty without one."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    match = re.search(r"^\s*(?:package_)?version\s*=\s*\[?\"?([\w.\-]+)", text, re.MULTILINE | re.IGNORECASE)
    match = match or re.search(r"_version=\[([^:\]]+)", text)
    return match[1] if match else ""


def driver_version(root: Path = Path("/")) -> str:
    """Version of the NPU driver; empty when there is none (in a container it may be hidden)."""
    return version_in(root / "usr/local/Ascend/driver/version.info")


def libraries_visible(environ: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Would the loader find CANN's libraries: in ``LD_LIBRARY_PATH``, or in its cache?"""
    for entry in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if entry and all((Path(entry) / name).exists() for name in LIBRARIES[:1]):
            return True
    with suppress(OSError):
        return LIBRARIES[0].encode() in (root / "etc/ld.so.cache").read_bytes()
    return False
