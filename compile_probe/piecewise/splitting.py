"""Where a user wants the graph cut: ``--split`` and its presets.

=============================================  ====================================================================
``aten::softmax``, ``mylib::op.overload``      an op, by packet or overload; also as ``torch.ops.aten.softmax``
``torch.nn.functional.gelu``, ``F.gelu``       a function; what it arrives as does not matter
``Tensor.softmax``, ``softmax``                a method, or any function of the name
``module:Attention``, ``layers.0.attn``        everything inside modules of a class, or of a path from the root
``model.py:41``, ``:41``                       what the line calls, in the file or in any file of the user's
``attention``                                  a preset: attention however it arrives, and what an installed vLLM or
                                               vllm-ascend declares as its splitting ops
=============================================  ====================================================================
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ..errors import UsageError
from . import names

PRESETS = ("attention",)

_ATTENTION = (
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
    "flex_attention",
    "npu_fusion_attention",
    "npu_prompt_flash_attention",
    "npu_incre_flash_attention",
    "npu_fused_infer_attention_score",
    "_npu_paged_attention",
)
_LINE = re.compile(r"^(?P<file>[^:]*\.py)?:(?P<line>\d+)$")
_WORD = re.compile(r"^[A-Za-z_][\w.]*(::[\w.]+)?$")


@dataclass(frozen=True)
class SplitPoint:
    """One thing to split at, as the user wrote it."""

    text: str
    names: frozenset[str] = frozenset()
    module: str = ""
    file: str = ""
    line: int = 0

    def matches(self, node: Any, ops: tuple[str, ...]) -> bool:
        """Whether a node is one of those meant."""
        if self.line:
            where = names.place(node)
            return where is not None and where.line == self.line and where.file.endswith(self.file)
        if self.names and not self.names.isdisjoint(names.names(node, ops)):
            return True
        return bool(self.module) and any(_is_module(self.module, path, cls) for path, cls in names.module_path(node))


def parse(texts: Sequence[str]) -> tuple[SplitPoint, ...]:
    """Read ``--split`` values; each may hold several, divided by commas.

    :raises UsageError: it cannot name anything
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return tuple(_parse(part) for part in parts)


def _parse(text: str) -> SplitPoint:
    if text in PRESETS:
        return SplitPoint(text, names=attention_names())
    line = _LINE.match(text)
    if line is not None:
        file = (line["file"] or "").replace("\\", "/")
        return SplitPoint(text, file=f"/{file}" if file and not file.startswith("/") else file, line=int(line["line"]))
    kind, colon, rest = text.partition(":")
    if kind == "module" and colon and _WORD.match(rest):
        return SplitPoint(text, module=rest)
    if not _WORD.match(text):
        raise UsageError(
            f"--split {text}: this names no op, function, module or line.",
            remedy="For example: attention, aten::softmax, torch.nn.functional.gelu, module:Attention, model.py:41.",
        )
    return SplitPoint(text, names=frozenset({text}), module=text)


def _is_module(wanted: str, path: str, cls: type) -> bool:
    return wanted in (path, cls.__name__, f"{cls.__module__}.{cls.__qualname__}")


def attention_names() -> frozenset[str]:
    """Names of the preset ``attention``."""
    found = set(_ATTENTION)
    for package, file in (
        ("vllm", "config/compilation.py"),
        ("vllm_ascend", "platform.py"),
        ("vllm_ascend", "utils.py"),
    ):
        found |= declared_ops(package, file)
    return frozenset(found)


def declared_ops(package: str, file: str) -> set[str]:
    """Splitting ops that an installed serving engine declares, read from its source: any list of ``ns::op`` strings."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # put into sys.modules by hand, without a spec
        return set()
    folder: Optional[str] = next(iter(spec.submodule_search_locations or ()), None) if spec is not None else None
    if folder is None:
        return set()
    try:
        tree = ast.parse((Path(folder) / file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple)):
            texts = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            found |= {text for text in texts if re.fullmatch(r"\w+::\w+", text)}
    return found
