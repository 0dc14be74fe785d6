"""What the forms share: the models, the counting backend, the registry of forms."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

_graphs = [0]
FORMS: dict[str, tuple[str, str, Callable[[], str]]] = {}
X = torch.ones(2, 4)


def graphs() -> int:
    """Graphs that the backend has been given so far."""
    return _graphs[0]


def backend(graph: Any, inputs: Any, **ignored: Any) -> Any:
    _graphs[0] += 1
    return graph.forward


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.lin(x))

    def twice(self, x: Any) -> Any:
        return self(self(x))

    def through_forward(self, x: Any) -> Any:
        return self.forward(x)

    def other(self, x: Any) -> Any:
        return self.lin(x) + 1


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Net() for _ in range(3))

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def form(group: str, title: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    def register(function: Callable[[], str]) -> Callable[[], str]:
        FORMS[function.__name__] = group, title, function
        return function

    return register


def frames(*calls: Callable[[], Any]) -> str:
    """Graphs that the backend was given while the calls ran."""
    before = graphs()
    with torch.no_grad():
        for call in calls:
            call()
    count = graphs() - before
    return f"{count} compiled" if count else "eager"


def compile(target: Any, **options: Any) -> Any:
    return torch.compile(target, backend=backend, **options)


def outcome(call: Callable[[], Any]) -> str:
    try:
        return str(call())
    except Exception as error:
        if os.environ.get("COMPILE_SITE_TRACEBACK"):
            traceback.print_exc()
        return f"raises {type(error).__name__}"
