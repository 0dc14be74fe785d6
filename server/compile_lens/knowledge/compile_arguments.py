"""What ``torch.compile`` accepts: read from the files of the installed torch, which is never imported.

Without an installed torch the names that 2.5.1, 2.7.1 and 2.13 have in common serve to recognise slips of the pen.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Optional

KEYWORDS = frozenset({"model", "fullgraph", "dynamic", "backend", "mode", "options", "disable"})
MODES = frozenset({"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"})
BACKENDS = frozenset(
    {"inductor", "eager", "aot_eager", "aot_eager_decomp_partition", "cudagraphs", "onnxrt", "openxla", "tvm"}
)


@dataclass(frozen=True)
class Accepted:
    """Names that ``torch.compile`` takes."""

    keywords: frozenset[str] = KEYWORDS
    modes: frozenset[str] = MODES
    backends: frozenset[str] = BACKENDS
    options: frozenset[str] = frozenset()
    """Of Inductor, as they are spelt in its configuration: ``max_autotune``, ``triton.cudagraphs``."""
    installed: bool = False
    """Read from a torch, so that a name which is missing does not exist there."""


def installed_torch() -> str:
    """Folder of the torch beside which this program is installed, found without importing it; empty without one."""
    spec = find_spec("torch")
    return str(Path(spec.origin).parent) if spec is not None and spec.origin else ""


@lru_cache(maxsize=8)
def accepted(torch_folder: str) -> Accepted:
    """What the torch in a folder takes; the common names where there is none, or it cannot be read."""
    folder = Path(torch_folder) if torch_folder else None
    if folder is None or not (folder / "_dynamo").is_dir():
        return Accepted()
    keywords, modes, options = _keywords(folder), _modes(folder), _options(folder)
    backends = _backends(folder)
    if not (keywords and modes and options and "inductor" in backends):
        return Accepted()
    return Accepted(keywords, modes, backends, options, True)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _keywords(folder: Path) -> frozenset[str]:
    """Parameters of every overload of ``torch.compile``."""
    found: set[str] = set()
    for block in re.findall(r"^def compile\((.*?)^\)", _text(folder / "__init__.py"), re.S | re.M):
        found.update(re.findall(r"^    (\w+):", block, re.M))
    return frozenset(found)


def _modes(folder: Path) -> frozenset[str]:
    """Keys of the table in ``list_mode_options``."""
    match = re.search(
        r"mode_options\b[^=]*=\s*\{(.*?)^    \}", _text(folder / "_inductor" / "__init__.py"), re.S | re.M
    )
    return frozenset(re.findall(r'^        "([\w-]+)":', match[1], re.M)) if match else frozenset()


def _options(folder: Path) -> frozenset[str]:
    """Module-level names of Inductor's configuration, and those of its classes with their prefix."""
    try:
        tree = ast.parse(_text(folder / "_inductor" / "config.py"))
    except SyntaxError:
        return frozenset()
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return frozenset(_assigned(tree.body, "", classes))


def _assigned(body: list[ast.stmt], prefix: str, classes: dict[str, ast.ClassDef]) -> set[str]:
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
            for cls in (node, *bases):
                found |= _assigned(cls.body, f"{prefix}{node.name}.", classes)
        elif isinstance(node, (ast.If, ast.Try)):
            found |= _assigned([*node.body, *node.orelse], prefix, classes)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {prefix + target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _backends(folder: Path) -> frozenset[str]:
    """Names that torch registers, and those that installed packages announce."""
    found: set[str] = set()
    dynamo = folder / "_dynamo"
    for path in (*dynamo.glob("backends/*.py"), *dynamo.glob("repro/*.py")):
        text = re.sub(r"^\s*#.*$", "", _text(path), flags=re.M)
        found.update(re.findall(r"register_\w*backend\(\s*name=[\"'](\w+)", text))
        found.update(re.findall(r"@register_\w*backend\b(?:\([^)]*\))?[^\n]*\n(?:@[^\n]*\n)*def (\w+)", text))
    for entry in folder.parent.glob("*.dist-info/entry_points.txt"):
        with suppress(IndexError):
            section = _text(entry).split("[torch_dynamo_backends]")[1].split("\n[")[0]
            found.update(re.findall(r"^\s*([\w.-]+)\s*=", section, re.M))
    return frozenset(found)


def nearest(name: str, known: frozenset[str], least: float = 0.75) -> Optional[str]:
    """The known name that is most like one that is not known."""
    import difflib  # noqa: PLC0415  # only for a mistake

    close = difflib.get_close_matches(name.lower().replace("_", "-"), [k.replace("_", "-") for k in known], 1, least)
    return next((k for k in sorted(known) if close and k.replace("_", "-") == close[0]), None)
