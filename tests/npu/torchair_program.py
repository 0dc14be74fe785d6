"""What torchair does over the stand-in driver, as JSON: it wants a process that never used npugraph_ex.

The graph engine of CANN is not part of the stand-in. Conversion to Ascend IR comes before it, so there its three entry
points are replaced in Python, and what they are given is looked at.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from typing import Any

import torch
import torch_npu  # noqa: F401
from standin_kernels import errors

from tests.npu.standin import Counted

before = signal.getsignal(signal.SIGINT)
import torchair  # noqa: E402

torchair.CompilerConfig()
found: dict[str, Any] = {"handler_changed": signal.getsignal(signal.SIGINT) is not before}


def model() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
    ).eval()  # fmt: skip


def backend(mode: str) -> Any:
    config = torchair.CompilerConfig()
    config.mode = mode
    return torchair.get_npu_backend(compiler_config=config)


def replays() -> None:
    ours, reference, seen = model().npu(), model(), Counted()
    compiled = torch.compile(ours, backend=backend("reduce-overhead"), dynamic=False)
    worst = 0.0
    for size in (2, 2, 4, 2):
        x = torch.randn(size, 8)
        worst = max(worst, (compiled(x.npu()).cpu() - reference(x)).abs().max().item())
    found["reduce_overhead"] = {
        "worst": worst,
        "captures": seen.captures_ended,
        "replays": seen.replays,
        "tasks": seen.tasks_captured,
    }


class Engine:
    """Takes the place of CANN's graph engine: keeps the types of the operators that it is given."""

    graphs: list[list[str]] = []  # noqa: RUF012

    def __init__(self, name: str = "") -> None:
        self.name = name

    def load(self, graph: Any, options: Any = None) -> None:
        Engine.graphs.append([node.type for node in graph.op])

    def compile(self) -> None:
        pass

    def auto_tune(self, *_: Any) -> None:
        pass

    def run(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("the graph engine is not part of the stand-in")


def replace_engine() -> None:
    import torchair.core._backend as core

    graph, start = core.TorchNpuGraph, core.initialize_graph_engine
    for module in list(sys.modules.values()):
        for name, old, new in (
            ("TorchNpuGraph", graph, Engine),
            ("initialize_graph_engine", start, lambda *_, **__: None),
        ):
            if getattr(module, "__dict__", {}).get(name) is old:
                setattr(module, name, new)


def convert(name: str, function: Any, *args: Any) -> None:
    torch._dynamo.reset()
    Engine.graphs.clear()
    causes: list[str] = []
    try:
        torch.compile(function, backend=backend("max-autotune"), dynamic=False)(*args)
    except Exception as error:
        cause: Any = error
        while cause is not None:
            causes.append(f"{type(cause).__name__}: {cause}")
            cause = cause.__cause__
    found[name] = {"graphs": [list(graph) for graph in Engine.graphs], "causes": causes}


def main() -> None:
    logging.disable(logging.ERROR)
    with torch.no_grad():
        replays()
        replace_engine()
        x = torch.randn(4, 8, device="npu")
        convert("mlp", model().npu(), x)
        convert("isnan", lambda a: torch.isnan(a).sum(), x)
        convert("pdist", torch.nn.functional.pdist, x)
    found["errors"] = [str(error) for error in errors]
    print("\x1e" + json.dumps(found), flush=True)


main()
