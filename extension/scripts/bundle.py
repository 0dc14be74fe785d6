"""Fills bundled/ with the server, the probe and the libraries of the server, for one platform and several Pythons.

The libraries are pure Python but for libcst, whose one native module is named after the Python it was built for, so
that the modules of several Pythons stand side by side in one folder and one extension package serves them all.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "bundled"
PYTHONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
MACHINES = {"linux-x64": "x86_64", "linux-arm64": "aarch64"}

#: What the server imports, in versions that run on the oldest Python. libcst also asks for PyYAML, but only its
#: command-line tool imports that.
PURE = [
    "attrs==26.1.0",
    "cattrs==25.3.0",
    "exceptiongroup==1.3.0",
    "lsprotocol==2025.0.0",
    "pygls==2.1.1",
    "typing_extensions==4.16.0",
]
NATIVE = "libcst==1.9.0"


def main() -> None:
    here = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(platform.machine())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=sorted(MACHINES), default=here, help="platform of the package")
    parser.add_argument("--only-current", action="store_true", help="only this Python's libcst: quick, for tests")
    options = parser.parse_args()
    if options.target is None:
        parser.error(f"no package is made for {platform.machine()}; give --target")
    pythons = [current_python()] if options.only_current else PYTHONS

    shutil.rmtree(TARGET, ignore_errors=True)
    copy_sources()
    with tempfile.TemporaryDirectory() as folder:
        wheels = download(PURE, PYTHONS[0], options.target, Path(folder))
        for python in pythons:
            wheels += download([NATIVE], python, options.target, Path(folder) / python)
        for wheel in wheels:
            unpack(wheel, TARGET / "libs")
    check(pythons, importable=options.target == here and current_python() in pythons)
    print(f"bundled/ holds the server and its libraries for {options.target}, Python {', '.join(pythons)}")


def current_python() -> str:
    return "{}.{}".format(*sys.version_info)


def copy_sources() -> None:
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "server" / "compile_lens", TARGET / "compile_lens", ignore=ignore)
    shutil.copytree(ROOT / "compile_probe", TARGET / "compile_probe", ignore=ignore)
    shutil.copy(ROOT / "extension" / "scripts" / "start_server.py", TARGET)


def download(requirements: list[str], python: str, target: str, folder: Path) -> list[Path]:
    """Fetches wheels without their dependencies; pip would judge those by this Python, not by the target's."""
    folder.mkdir(exist_ok=True)
    before = set(folder.glob("*.whl"))
    machine = MACHINES[target]
    platforms = [f"--platform=manylinux{version}_{machine}" for version in ("2014", "_2_28")]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    subprocess.run(
        [*pip, "--only-binary=:all:", f"--python-version={python}", *platforms, f"--dest={folder}", *requirements],
        check=True,
    )
    return sorted(set(folder.glob("*.whl")) - before)


def unpack(wheel: Path, libs: Path) -> None:
    """Unpacks without tests; the licences lie in the .dist-info folders and stay."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not re.search(r"/tests?/|\.data/|/RECORD$", name):
                archive.extract(name, libs)


def check(pythons: list[str], importable: bool) -> None:
    """Every promised Python has its native module; where this Python can import them, a bare one does."""
    for python in pythons:
        tag = python.replace(".", "")
        if not list((TARGET / "libs" / "libcst").glob(f"native.cpython-{tag}-*")):
            raise SystemExit(f"no native libcst for Python {python}")
    if importable:
        program = f"import sys; sys.path[:0] = [{str(TARGET / 'libs')!r}]; import libcst, pygls.lsp.server"
        subprocess.run([sys.executable, "-I", "-S", "-B", "-c", program], check=True)


if __name__ == "__main__":
    main()
