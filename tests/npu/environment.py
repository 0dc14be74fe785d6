"""Makes what the Ascend tests run in, and runs a command there: ``environment.py [options] -- ARGUMENTS``.

A virtual environment with the wheels of a requirements file, set up once for each content of that file, and the
stand-in driver, built once for each content of its sources, both below ``.cache/npu``. Two runs at a time share them.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CACHE = ROOT / ".cache" / "npu"
SITE = HERE / "driver" / "site"


def digest(paths: list[Path], *more: str) -> str:
    """A short name for the content of files."""
    sha = hashlib.sha256("\0".join(more).encode())
    for path in paths:
        sha.update(path.name.encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()[:12]


@contextmanager
def only_one(name: str) -> Iterator[None]:
    """Keep a second process out while the first makes something."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def interpreter(requirements: Path) -> Path:
    """The Python that has the wheels; made if it is not there."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = CACHE / f"venv-{requirements.stem}-{digest([requirements], version)}"
    python = folder / "bin" / "python"
    with only_one(folder.name):
        if not (folder / "ready").exists():
            print(f"set-up: installing {requirements.name} into {folder.relative_to(ROOT)} (minutes the first time)")
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-qq", "-r", requirements], check=True)
            (folder / "ready").touch()
    return python


def driver(python: Path, fault: str = "") -> Path:
    """The folder with the libraries of the driver, built against the wheel of ``python``."""
    sources = [*sorted((HERE / "driver").glob("*.[ch]")), HERE / "driver" / "build.py"]
    folder = CACHE / f"driver-{digest(sources, str(python), fault)}"
    with only_one(folder.name):
        if not folder.exists():
            missing = [tool for tool in ("cc", "nm", "readelf") if shutil.which(tool) is None]
            if missing:
                sys.exit(f"environment.py: {', '.join(missing)} is missing: install gcc (Debian: apt-get install gcc)")
            scratch = folder.with_suffix(".new")
            shutil.rmtree(scratch, ignore_errors=True)
            plant = ["--fault", fault] if fault else []
            subprocess.run([python, HERE / "driver" / "build.py", scratch, *plant], check=True)
            scratch.rename(folder)
    return folder


def variables(libraries: Path) -> dict[str, str]:
    """The environment in which torch_npu finds the stand-in driver and its kernels."""
    result = dict(os.environ)
    for name in ("VIRTUAL_ENV", "PYTHONHOME"):
        result.pop(name, None)
    result.update(_ours(libraries))
    return result


def launcher(python: Path, libraries: Path) -> Path:
    """A script that is this Python over the stand-in driver, for programs that start an interpreter by its path."""
    script = libraries / "python"
    if not script.exists():
        lines = ["#!/bin/sh", *(f"export {name}='{value}'" for name, value in _ours(libraries).items())]
        scratch = libraries / f"python.{os.getpid()}"
        scratch.write_text("\n".join([*lines, f'exec "{python}" "$@"', ""]), encoding="utf-8")
        scratch.chmod(0o755)
        scratch.rename(script)
    return script


def _ours(libraries: Path) -> dict[str, str]:
    """What is ours in it. Without torch_npu's queue of tasks each call reaches the driver at once and in order."""
    return {
        "LD_LIBRARY_PATH": str(libraries),
        "PYTHONPATH": str(SITE),
        "OMP_NUM_THREADS": "1",
        "TASK_QUEUE_ENABLE": "0",
    }


def main() -> None:
    """Set up and replace this process by the command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements" / "npu.txt")
    parser.add_argument("--fault", default="", help="plant a fault in the driver")
    parser.add_argument("--launcher", action="store_true", help="print the path of a launcher and end")
    parser.add_argument("arguments", nargs="*", help="after --: the arguments of Python")
    options = parser.parse_args()
    if sys.platform != "linux":
        print("NOT RUN: there are torch_npu wheels for Linux only; nothing is claimed for the Ascend path here")
        return
    python = interpreter(options.requirements)
    libraries = driver(python, options.fault)
    if options.launcher:
        print(launcher(python, libraries))
        return
    sys.stdout.flush()
    os.execve(python, [str(python), *options.arguments], variables(libraries))


if __name__ == "__main__":
    main()
