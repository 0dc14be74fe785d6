"""Builds the stand-in CANN driver against the installed torch_npu wheel: ``python build.py FOLDER [--fault NAME]``.

Run by the interpreter that has the wheel; it is found, not imported. What the wheel links to and our C does not define
becomes a function that fails with its name. What the wheel looks up by name at run time and does not find it treats as
a CANN without that function, and says so itself.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FAULTS = ("replay-nothing", "launch-dropped", "wrong-stream")
FLAGS = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden")
LOOKED_UP = ("libopapi.so",)
"""Opened by name at run time; torch_npu 2.7 refuses to run without, and an empty one is a CANN without operators."""


def package(name: str) -> Path:
    """Folder of an installed package."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        sys.exit(f"build.py: {name} is not installed for {sys.executable}")
    return Path(spec.origin).parent


def output(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def undefined(libraries: list[Path]) -> set[str]:
    """Names that libraries want from others; those with a version belong to the C and C++ libraries of the system."""
    lines = (line.split() for library in libraries for line in output("nm", "-D", str(library)).splitlines())
    return {parts[-1] for parts in lines if parts[-2:-1] == ["U"] and "@" not in parts[-1]}


def defined(libraries: list[Path]) -> set[str]:
    """Names that libraries offer."""
    text = "\n".join(output("nm", "-D", "--defined-only", str(library)) for library in libraries)
    return {line.split()[-1].partition("@")[0] for line in text.splitlines() if line.strip()}


def needed(libraries: list[Path]) -> set[str]:
    """Libraries that libraries name."""
    return {name for one in libraries for name in re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-d", str(one)))}


def error_functions(headers: Path) -> set[str]:
    """Functions of which the wheel's headers say that they return an error code."""
    texts = (header.read_text(encoding="utf-8", errors="replace") for header in sorted(headers.rglob("*.h")))
    return {name for text in texts for name in re.findall(r"\baclError\s+(\w+)\s*\(", text)}


def stubs(names: set[str], returning_error: set[str]) -> str:
    """C text of the functions that fail with their name."""
    lines = ["extern int standin_unlisted(const char *, int);", '#define API __attribute__((visibility("default")))']
    for name in sorted(names):
        if re.match(r"_ZT[ISV]", name):
            sys.exit(f"build.py: the wheel wants the data {name}, and only functions can be stood in for")
        lines.append(f'API int {name}(void) {{ return standin_unlisted("{name}", {int(name in returning_error)}); }}')
    return "\n".join(lines) + "\n"


def build(folder: Path, fault: str | None = None) -> str:
    """Build the libraries into ``folder``; returns a sentence with what was made."""
    wheel, torch = package("torch_npu"), package("torch")
    ours = sorted(wheel.rglob("*.so"))
    theirs = sorted((torch / "lib").glob("*.so*"))
    headers = wheel / "include/third_party/acl/inc"
    folder.mkdir(parents=True, exist_ok=True)
    sources = [str(path) for path in sorted(HERE.glob("*.c"))]
    flags = [*FLAGS, f"-I{headers}", *([f"-DFAULT_{fault.upper().replace('-', '_')}"] if fault else [])]
    if fault:
        flags.append("-Wno-unused")
    main = folder / "libascendcl.so"
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch) / "first.so"
        subprocess.run(["cc", *flags, "-o", str(first), *sources, "-lpthread"], check=True)
        python = re.compile(r"_?Py")
        wanted = {name for name in undefined(ours) - defined([*ours, *theirs]) if not python.match(name)}
        missing = wanted - defined([first])
        rest = Path(scratch) / "rest.c"
        rest.write_text(stubs(missing, error_functions(headers)), encoding="utf-8")
        empty = Path(scratch) / "empty.c"
        empty.write_text("", encoding="utf-8")
        soname = "-Wl,-soname,libascendcl.so"
        subprocess.run(["cc", *flags, soname, "-o", str(main), *sources, str(rest), "-lpthread"], check=True)
        present = {path.name for path in (*ours, *theirs)}
        names = {name for name in needed(ours) if name.endswith(".so") and name not in present} - {main.name}
        for name in sorted(names | set(LOOKED_UP)):
            link = [f"-Wl,-soname,{name}", "-Wl,--no-as-needed", f"-L{folder}", "-lascendcl"]
            subprocess.run(["cc", "-fPIC", "-shared", "-o", str(folder / name), str(empty), *link], check=True)
    return f"the wheel links to {len(wanted)} functions, {len(wanted) - len(missing)} are ours, the rest fail by name"


def main() -> None:
    """Build as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fault", choices=FAULTS, help="plant a fault, to see that the tests find it")
    options = parser.parse_args()
    print("stand-in CANN driver:", build(options.folder.resolve(), options.fault))


if __name__ == "__main__":
    main()
