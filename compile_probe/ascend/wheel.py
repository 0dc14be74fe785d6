"""An installed torch_npu: found by its folders, its metadata read as text.

``import torch_npu`` loads libraries that are often missing, takes seconds, and replaces signal handlers; the files lie
open. Seen on torch_npu 2.5.1.post1, 2.7.1, 2.7.1.post11, 2.8.0.post5, 2.10.0 and 2.13.0.
"""

from __future__ import annotations

import configparser
import hashlib
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

DISTRIBUTION = "torch_npu"


@dataclass(frozen=True)
class Wheel:
    """One installed torch_npu. ``requires_torch``: the version it was built for, such as ``2.7.1``; empty: not told."""

    package: Path
    info: Path
    version: str
    requires_torch: str

    @property
    def record_key(self) -> str:
        """Digest of the wheel's RECORD, which lists the digest of every file; empty without a RECORD."""
        try:
            return hashlib.sha256((self.info / "RECORD").read_bytes()).hexdigest()
        except OSError:
            return ""

    def entry_points(self, group: str) -> dict[str, str]:
        """Entry points of a group, ``{name: target}``."""
        parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
        try:
            parser.read_string((self.info / "entry_points.txt").read_text(encoding="utf-8"))
        except (OSError, configparser.Error):
            return {}
        return dict(parser.items(group)) if parser.has_section(group) else {}

    def pairs_with(self, torch_version: str) -> bool:
        """Was it built for this torch? Local parts (``+cpu``) play no role; nothing told is no contradiction."""
        return not self.requires_torch or base_version(torch_version) == self.requires_torch


def base_version(text: str) -> str:
    """``2.7.1`` of ``2.7.1.post11+cpu``, ``2.7.1+cu126`` or ``2.13.0.*``; the text itself where it has another form."""
    match = re.match(r"\d+\.\d+\.\d+", text.strip())
    return match[0] if match else text.strip()


def find(site_packages: Path) -> Optional[Wheel]:
    """The torch_npu that is installed in a folder; ``None`` when there is none. Leftover metadata is passed over."""
    package = site_packages / DISTRIBUTION
    if not package.is_dir():
        return None
    told = _version_told_by_the_code(package)
    found: list[Wheel] = []
    for info in sorted([*site_packages.glob("torch_npu-*.dist-info"), *site_packages.glob("torch_npu-*.egg-info")]):
        metadata = _metadata(info)
        if metadata is not None:
            found.append(Wheel(package, info, metadata[0], metadata[1]))
    fitting = [wheel for wheel in found if wheel.version == told] or found
    return fitting[-1] if fitting else Wheel(package, package, told, "")


def installed() -> Optional[Wheel]:
    """The torch_npu of this interpreter, found without importing it."""
    try:
        spec = importlib.util.find_spec(DISTRIBUTION)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return find(Path(places[0]).parent) if places else None


def torch_version(site_packages: Path) -> str:
    """Version of the torch installed in a folder, from its metadata; empty when there is none."""
    for info in sorted(site_packages.glob("torch-*.dist-info")):
        version = _field(_text(info / "METADATA"), "Version")
        if version:
            return version
    match = re.search(r"^__version__ = '([^']+)'", _text(site_packages / "torch" / "version.py"), re.MULTILINE)
    return match[1] if match else ""


def _metadata(info: Path) -> Optional[tuple[str, str]]:
    """Version, and the version of torch that is required; ``None`` for metadata of something else."""
    text = _text(info / "METADATA") or _text(info / "PKG-INFO")
    if _field(text, "Name").replace("-", "_").lower() != DISTRIBUTION:
        return None
    needs = re.search(r"^Requires-Dist:\s*torch\s*\(?\s*==\s*([^);\s]+)", text, re.MULTILINE)
    return _field(text, "Version"), base_version(needs[1]) if needs else ""


def _version_told_by_the_code(package: Path) -> str:
    match = re.search(r"^__version__ = '([^']+)'", _text(package / "version.py"), re.MULTILINE)
    return match[1] if match else ""


def _field(text: str, name: str) -> str:
    match = re.search(rf"^{name}:\s*(.+?)\s*$", text, re.MULTILINE)
    return match[1] if match else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
