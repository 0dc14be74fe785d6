"""What an interpreter's environment holds, read from its folders: nothing is started and nothing imported."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional


@dataclass(frozen=True)
class Environment:
    """Versions of an interpreter and of the packages that decide what Dynamo does."""

    python: Optional[tuple[int, int]] = None
    torch: Optional[str] = None
    torch_npu: Optional[str] = None
    torch_folder: str = ""
    """Of the installed package ``torch``; empty where there is none."""


def read_environment(interpreter: list[str]) -> Environment:
    """Versions found beside an interpreter: ``pyvenv.cfg``, and the ``dist-info`` folders of its site-packages."""
    if not interpreter:
        return Environment()
    executable = Path(interpreter[0])
    prefixes = [executable.parent.parent]
    with suppress(OSError):
        prefixes.append(executable.resolve().parent.parent)
    python: Optional[tuple[int, int]] = None
    versions: dict[str, str] = {}
    torch_folder = ""
    for prefix in prefixes:
        for folder in [*prefix.glob("lib/python3.*/site-packages"), *prefix.glob("lib/python3*/dist-packages")]:
            match = re.search(r"python(\d+)\.(\d+)", str(folder))
            if match and python is None:
                python = int(match[1]), int(match[2])
            for package in ("torch", "torch_npu"):
                for info in folder.glob(f"{package}-*.dist-info"):
                    versions.setdefault(package, info.name[len(package) + 1 : -len(".dist-info")])
            if not torch_folder and (folder / "torch" / "_dynamo").is_dir():
                torch_folder = str(folder / "torch")
        if versions:
            break
    return Environment(python, versions.get("torch"), versions.get("torch_npu"), torch_folder)
