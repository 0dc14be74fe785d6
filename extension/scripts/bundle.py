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
LIBS = TARGET / "libs"
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

    copy_sources()
    if missing(options.target, pythons):
        fill_libs(options.target, pythons)
    if options.target == here and current_python() in pythons:
        try_import()
    print(f"bundled/ holds the server and its libraries for {options.target}, Python {', '.join(pythons)}")


def fill_libs(target: str, pythons: list[str]) -> None:
    """Downloads the libraries anew; tests and packages of one version find them there and need no network."""
    shutil.rmtree(LIBS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        wheels = download(PURE, PYTHONS[0], target, Path(folder))
        for python in pythons:
            wheels += download([NATIVE], python, target, Path(folder) / python)
        for wheel in wheels:
            unpack(wheel)
    if lacking := missing(target, pythons):
        raise SystemExit(f"the downloaded libraries lack {', '.join(lacking)}")


def current_python() -> str:
    return "{}.{}".format(*sys.version_info)


def copy_sources() -> None:
    """Replaces everything but the libraries."""
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.iterdir():
        if old.is_dir() and old != LIBS:
            shutil.rmtree(old)
    for cache in list(TARGET.rglob("__pycache__")):  # of a server that was started here
        shutil.rmtree(cache)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "server" / "compile_lens", TARGET / "compile_lens", ignore=ignore)
    shutil.copytree(ROOT / "compile_probe", TARGET / "compile_probe", ignore=ignore)
    shutil.copy(ROOT / "extension" / "scripts" / "start_server.py", TARGET)
    for package in ("compile_lens", "compile_probe"):
        for file in (TARGET / package).rglob("*.py"):
            compile(file.read_text(encoding="utf-8"), str(file), "exec")  # users never meet half-written code


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


def unpack(wheel: Path) -> None:
    """Unpacks without tests; the licences lie in the .dist-info folders and stay."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not re.search(r"/tests?/|\.data/|/RECORD$", name):
                archive.extract(name, LIBS)


def missing(target: str, pythons: list[str]) -> list[str]:
    """What the libraries lack: one of the pinned versions, or the native module of a promised Python."""
    folders = [f"{pin.replace('==', '-')}.dist-info" for pin in [*PURE, NATIVE]]
    modules = [f"libcst/native.cpython-{python.replace('.', '')}-{MACHINES[target]}-linux-gnu.so" for python in pythons]
    return [name for name in [*folders, *modules] if not (LIBS / name).exists()]


def try_import() -> None:
    """A bare interpreter, without the packages of this environment, imports what the server imports."""
    program = f"import sys; sys.path[:0] = [{str(LIBS)!r}]; import libcst, pygls.lsp.server"
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", program], check=True)


if __name__ == "__main__":
    main()
