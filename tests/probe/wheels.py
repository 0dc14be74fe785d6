"""torch_npu wheels for tests: downloaded once, never installed; only the files that are read stay in ``.cache``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

CACHE = Path(__file__).parent.parent.parent / ".cache" / "torch_npu"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def site_packages(version: str) -> Path:
    """A folder that looks like site-packages with torch_npu ``version``: its sources, tables and metadata.

    A test that needs it fails, and says why, where the wheel cannot be had.
    """
    folder = CACHE / version
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as downloads:
            _unpack(_download(version, Path(downloads)), folder)
        (folder / "complete").touch()
    return folder


def _download(version: str, into: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", "3.11", *(f"--platform={name}" for name in PLATFORMS)]
    ended = subprocess.run(
        [*command, "--dest", str(into), f"torch-npu=={version}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    wheels = list(into.glob("*.whl"))
    if ended.returncode or not wheels:
        pytest.fail(f"torch-npu=={version} cannot be downloaded; this test needs it:\n{ended.stderr[-2000:]}")
    return wheels[0]


def _unpack(wheel: Path, folder: Path) -> None:
    """Everything that the readers could look at, so that a test does not know which files they choose."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".dist-info/" in name or (name.startswith("torch_npu/") and name.endswith((".py", ".yaml"))):
                archive.extract(name, folder)
