"""Compiled anew: how many graphs a loop makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from harness import Net, X, backend, compile, form, graphs

COSTS = "Compiled anew"


def graphs_of(run: Callable[[], Any]) -> str:
    before = graphs()
    with torch.no_grad():
        run()
    return f"{graphs() - before} graphs"


@form(COSTS, "`torch.compile(net)(x)` in a loop of 12")
def module_in_loop() -> str:
    net = Net()

    def run() -> None:
        for _ in range(12):
            compile(net)(X)

    return graphs_of(run)


@form(COSTS, "`torch.compile(f)(x)` in a loop of 12")
def function_in_loop() -> str:
    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    def run() -> None:
        for _ in range(12):
            compile(f)(X)

    return graphs_of(run)


@form(COSTS, "`torch.compile(lambda x: ...)` in a loop of 12")
def lambda_in_loop() -> str:
    def run() -> None:
        for _ in range(12):
            compile(lambda x: torch.relu(x) * 2)(X)

    return graphs_of(run)


@form(COSTS, "`torch.compile` of a lambda that closes over a number which changes, in a loop of 12")
def closure_in_loop() -> str:
    def run() -> None:
        for i in range(12):
            compile(lambda x, i=i: torch.relu(x) * i)(X)

    return graphs_of(run)


@form(COSTS, "`torch.compile` of an inner function that closes over a module, in a loop of 12")
def closure_over_module() -> str:
    net = Net()

    def run() -> None:
        for _ in range(12):

            def step(x: Any) -> Any:
                return net(x) * 2

            compile(step)(X)

    return graphs_of(run)


@form(COSTS, "`net = Net(); torch.compile(net)(x)` in a loop of 12: a new module each time")
def new_module_in_loop() -> str:
    def run() -> None:
        for _ in range(12):
            compile(Net())(X)

    return graphs_of(run)


@form(COSTS, "`net.compile()` in a loop of 12, and `net(x)`")
def in_place_in_loop() -> str:
    net = Net()

    def run() -> None:
        for _ in range(12):
            net.compile(backend=backend)
            net(X)

    return graphs_of(run)


@form(COSTS, "`torch.compile(f, backend=lambda gm, i: gm)` in a loop of 12: a new backend each time")
def new_backend_in_loop() -> str:
    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    def run() -> None:
        for _ in range(12):
            torch.compile(f, backend=lambda graph, inputs: backend(graph, inputs))(X)  # noqa: PLW0108

    return graphs_of(run)


@form(COSTS, "`model = torch.compile(model)` in a loop of 4: wrapped again each time")
def wrapped_again_in_loop() -> str:
    model: Any = Net()

    def run() -> None:
        nonlocal model
        for _ in range(4):
            model = compile(model)
            model(X)

    return graphs_of(run)
