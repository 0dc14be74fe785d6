"""What the piecewise backend costs by itself, on the CPU: runners beside the split module, equal layers compiled once.

Differences come from single calls in random order within one run: on a busy machine only they mean something. Replays
copy the inputs that come from an eager piece; that is in the numbers. `python benchmarks/piecewise.py` prints a table.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent))

from compile_probe.devices import Cpu
from compile_probe.devices.graph import Graph
from compile_probe.piecewise import splitting
from compile_probe.piecewise.backend import PiecewiseBackend
from compile_probe.piecewise.session import Policy

PIECES = 32
ROUNDS = 400


class Chain(nn.Module):
    """``PIECES`` pieces with a splitting op between them; ``width`` says how long a piece takes."""

    def __init__(self, width: int, depth: int = 1) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.eye(width)) for _ in range(PIECES)])
        self.depth = depth

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            for _ in range(self.depth):
                x = torch.mm(x, weight)
            x = torch.relu(x)
        return x


class Block(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unsqueeze(1) for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).squeeze(1))
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Stack(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(layers)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def built(model: nn.Module, x: torch.Tensor, policy: Policy, calls: int) -> Any:
    """The graph that Dynamo handed to the backend, after some calls, and the arguments that Dynamo gives it."""
    torch._dynamo.reset()
    backend = PiecewiseBackend(Cpu(), splitting.parse(["relu"]), policy=policy)
    compiled = torch.compile(model, backend=backend)
    for _ in range(calls):
        compiled(x)
    graph = backend.graphs[0]
    weights = iter(model.parameters())
    names = [node.name for node in graph.root.graph.nodes if node.op == "placeholder"]
    return graph, [x if name.endswith("x_") else next(weights) for name in names]


def timed(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of single calls, in random order within each round."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    generator = random.Random(0)
    for _ in range(rounds):
        order = list(functions)
        generator.shuffle(order)
        for name in order:
            begin = time.perf_counter()
            functions[name]()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


class Nothing(Graph):
    """A graph whose replay costs nothing, as a device's does for the host: what is left is the runner."""

    def capture(self, function: Any, inputs: Any, changed: Any) -> Any:
        return function()

    def replay(self) -> None:
        pass

    def release(self) -> None:
        pass


def runner(width: int, depth: int, rounds: int) -> None:
    """The general way beside the split module; replays that cost nothing beside pieces that cost nothing."""
    model, x = Chain(width, depth), torch.randn(width, width)
    general, arguments = built(model, x, Policy(frequent=None), 3)
    replaying, _ = built(model, x, Policy(clone_outputs=False), 8)
    for one in replaying.runners:
        for entry in one.entries.values():
            entry.graph = Nothing()
    free = torch.fx.GraphModule(replaying.root, replaying.root.graph)
    for one in replaying.runners:
        outputs = next(iter(one.entries.values())).outputs
        free.__dict__[f"piece_{one.piece.index}"] = lambda *args, outputs=outputs: outputs
    seconds = timed(
        {
            "split module": lambda: general._plain(*arguments),
            "general": lambda: general(*arguments),
            "free pieces": lambda: free.forward(*arguments),
            "replayed": lambda: replaying(*arguments),
        },
        rounds,
    )
    piece_us = 1e6 * statistics.median(seconds["split module"]) / PIECES
    print(f"{PIECES} pieces, {piece_us:.0f} us each in the split module")
    for name, base in (("general", "split module"), ("replayed", "free pieces")):
        more = 1e6 * statistics.median(b - a for a, b in zip(seconds[base], seconds[name])) / PIECES
        print(f"  {name:9} {more:+6.2f} us a piece: {1 + more / piece_us:.3f}x of the split module")


def compile_time(layers: int) -> float:
    """Seconds of Inductor for the pieces of a stack, in a process with an empty cache."""
    code = (
        "import sys, torch, tempfile, os; os.environ['TORCHINDUCTOR_CACHE_DIR'] = tempfile.mkdtemp();"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r});"
        "from piecewise import Stack, Cpu, PiecewiseBackend, splitting; torch.set_grad_enabled(False);"
        "torch.compile(torch.nn.Linear(4, 4), backend='inductor')(torch.randn(2, 4));"
        "backend = PiecewiseBackend(Cpu(), splitting.parse(['attention']), 'inductor');"
        f"torch.compile(Stack({layers}), backend=backend)(torch.randn(2, 8, 64));"
        "print('SECONDS', backend.compile_s, backend.compiled_pieces)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    words = ended.stdout.split("SECONDS")[1].split()
    print(f"  {layers:2} layers: {float(words[0]):6.2f} s for {words[1]} pieces compiled")
    return float(words[0])


def main() -> None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    print("The runner over calling the split module directly")
    runner(4, 1, ROUNDS)
    runner(128, 8, ROUNDS // 8)
    if sys.argv[1:] == ["runner"]:
        return
    print("Inductor on equal layers, cold")
    one, many = [], []
    for _ in range(2):  # interleaved: the machine is shared
        one.append(compile_time(1))
        many.append(compile_time(24))
    print(f"  24 layers over one: {min(many) / min(one):.2f}x")


if __name__ == "__main__":
    main()
