"""What may happen after compiling: is the result still right?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import torch
from harness import Net, X, backend, compile, form, frames, graphs
from torch import nn

ORDER = "After compiling"


def warm(net: nn.Module) -> Any:
    fast = compile(net)
    with torch.no_grad():
        fast(X)
    return fast


def agrees(fast: Any, net: nn.Module, x: torch.Tensor = X) -> str:
    """Does the compiled module still compute what the module does? And what did the change cost?"""
    before = graphs()
    with torch.no_grad():
        try:
            same = torch.equal(fast(x), net(x))
        except Exception as error:
            return f"raises {type(error).__name__}"
    return ("same results" if same else "DIFFERENT RESULTS") + (", compiled again" if graphs() > before else "")


@form(ORDER, "`.half()` / `.double()` after the first call")
def cast_after() -> str:
    net = Net()
    fast = warm(net)
    net.double()
    return agrees(fast, net, X.double())


@form(ORDER, "`load_state_dict(...)` after the first call")
def loaded_after() -> str:
    net = Net()
    fast = warm(net)
    net.load_state_dict(Net().state_dict())
    return agrees(fast, net)


@form(ORDER, "`load_state_dict(..., assign=True)` after the first call")
def assigned_after() -> str:
    net = Net()
    fast = warm(net)
    net.load_state_dict(Net().state_dict(), assign=True)
    return agrees(fast, net)


@form(ORDER, "a submodule replaced (LoRA, quantization) after the first call")
def replaced_after() -> str:
    net = Net()
    fast = warm(net)
    net.lin = nn.Sequential(net.lin, nn.Tanh())
    return agrees(fast, net)


@form(ORDER, "weights tied after the first call")
def tied_after() -> str:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    fast = warm(net)
    net[1].weight = net[0].weight
    return agrees(fast, net)


@form(ORDER, "a parameter frozen (`requires_grad_(False)`) after the first call")
def frozen_after() -> str:
    net = Net()
    fast = warm(net)
    net.lin.weight.requires_grad_(False)
    return agrees(fast, net)


@form(ORDER, "`net.forward` replaced after `fast = torch.compile(net)`")
def forward_replaced() -> str:
    net = Net()
    fast = compile(net)
    net.forward = lambda x: x * 3
    return agrees(fast, net)


@form(ORDER, "`net.forward` replaced after `net.compile()`")
def forward_replaced_in_place() -> str:
    net = Net()
    net.compile(backend=backend)
    net.forward = lambda x: x * 3
    with torch.no_grad():
        return "new forward runs" if torch.equal(net(X), X * 3) else "OLD FORWARD RUNS"


@form(ORDER, "`net.forward` replaced after `net.compile()` and a first call")
def forward_replaced_in_place_warm() -> str:
    net = Net()
    net.compile(backend=backend)
    with torch.no_grad():
        net(X)
        net.forward = lambda x: x * 3
        return "new forward runs" if torch.equal(net(X), X * 3) else "OLD FORWARD RUNS"


def distributed(build: Callable[[Any], Any]) -> str:
    """Graphs of a data-parallel model in a group of one process."""
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=0, world_size=1)
        try:
            model = build(Net())
            return f"{frames(lambda: model(X))}, first key {next(iter(model.state_dict()))}"
        finally:
            torch.distributed.destroy_process_group()


@form(ORDER, "`torch.compile(DistributedDataParallel(net))`")
def compiled_distributed() -> str:
    return distributed(lambda net: compile(nn.parallel.DistributedDataParallel(net)))


@form(ORDER, "`DistributedDataParallel(torch.compile(net))`")
def distributed_compiled() -> str:
    return distributed(lambda net: nn.parallel.DistributedDataParallel(compile(net)))


@form(ORDER, "`net.compile()`; `DistributedDataParallel(net)`")
def distributed_in_place() -> str:
    def build(net: Any) -> Any:
        net.compile(backend=backend)
        return nn.parallel.DistributedDataParallel(net)

    return distributed(build)
