"""Loads the small programs that prove rules, and runs them through the real Dynamo."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

_COUNTER = itertools.count()

sys.path.insert(0, str(Path(__file__).parent / "contract"))  # the contract of vLLM, under vLLM's name


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Import source text as a module of its own file: Dynamo reports lines of that file."""
    names: list[str] = []

    def from_text(text: str) -> ModuleType:
        name = f"proof_{next(_COUNTER)}"
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        names.append(name)
        spec.loader.exec_module(module)
        return module

    yield from_text
    for name in names:
        del sys.modules[name]


def entry(module: ModuleType) -> Callable[..., Any]:
    """What a proof is about: ``f``, or what ``make()`` builds."""
    return module.make() if hasattr(module, "make") else module.f


def calls(module: ModuleType, least: int) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls from ``inputs()``, repeated until there are enough; every one with tensors of its own."""
    torch.manual_seed(0)
    given = module.inputs()
    rounds = -(-least // len(given))
    return [(tuple(_fresh(a) for a in arguments), {}) for _ in range(rounds) for arguments in given]


def _fresh(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value
