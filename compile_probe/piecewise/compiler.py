"""Compiles pieces for every size, equal pieces once.

An 80-layer model has 80 equal pieces, and Inductor takes seconds for each. Weights are inputs of a piece, so pieces of
one structure share their code.

Seen on 2.5 to 2.13: ``torch._inductor.compile_fx.compile_fx(gm, inputs)``, ``torch._guards.tracing``.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from typing import Any, Callable, Optional

from ..untyped import torch
from . import partition
from .hazards import NodeFacts, fake_mode_of

Function = Callable[..., Any]

EAGER, INDUCTOR = "eager", "inductor"


class PieceCompiler:
    """Turns a piece into a callable that takes its inputs and returns its outputs, for all sizes.

    With Inductor a piece is compiled in segments, one for each repeated block of the model, and each structure once.
    """

    def __init__(self, name: str = EAGER, graph: int = 0) -> None:
        self.name = name
        self.seconds = 0.0
        self.compiled = 0
        self.notes: list[str] = []
        self._graph = graph
        self._known: dict[Any, tuple[int, Function]] = {}

    def compile(self, index: int, module: Any, facts: dict[Any, NodeFacts]) -> tuple[Function, Optional[int]]:
        """The callable, and the index of the equal piece that it was compiled for, if it was not this one."""
        if self.name == EAGER:
            return module.forward, None
        whole = structure(module.graph)
        if whole in self._known:
            first, function = self._known[whole]
            return function, first
        parts = partition.segments(module, facts)
        if len(parts) == 1:
            return self._compile(index, module), None
        root = partition.split(module, facts, parts, self._graph).root
        for number in range(len(parts)):
            name = f"piece_{number}"
            root.__dict__[name] = self._compile(index, getattr(root, name))
        self._known[whole] = index, root.forward
        return root.forward, None

    def _compile(self, index: int, module: Any) -> Function:
        key = structure(module.graph)
        known = self._known.get(key)
        if known is not None:
            return known[1]
        values = [node.meta.get("example_value") for node in module.graph.nodes if node.op == "placeholder"]
        begin = time.perf_counter()
        try:
            function = _inductor(module, values)
            self.compiled += 1
        except Exception as error:  # a fault of the compiler's in one piece leaves the others
            first = str(error).partition("\n")[0]
            self.notes.append(
                f"Piece {self._graph}.{index} runs eagerly: Inductor raised {type(error).__name__}: {first}"
            )
            function = module.forward
        self.seconds += time.perf_counter() - begin
        self._known[key] = index, function
        return function


def _inductor(module: Any, values: Sequence[Any]) -> Function:
    guards: Any = importlib.import_module("torch._guards")
    compile_fx: Any = importlib.import_module("torch._inductor.compile_fx")
    mode = fake_mode_of(list(values))
    own = torch.fx.GraphModule(module, _copy(module.graph))  # Inductor changes what it is given
    if mode is None:
        mode = torch._subclasses.FakeTensorMode()
    with guards.tracing(guards.TracingContext(mode)):
        return compile_fx.compile_fx(own, list(values))


def _copy(graph: Any) -> Any:
    copied: Any = torch.fx.Graph()
    inner: dict[Any, Any] = {}
    output = copied.graph_copy(graph, inner)
    copied.output(output)
    for old, new in inner.items():
        new.meta = {key: old.meta[key] for key in ("example_value",) if key in old.meta}
    return copied


def structure(graph: Any) -> tuple[Any, ...]:
    """What makes two pieces of one graph equal: the same ops in the same order, over inputs of the same kind."""
    number: dict[Any, int] = {}
    rows: list[Any] = []
    for node in graph.nodes:
        number[node] = len(number)
        value = node.meta.get("example_value")
        if node.op == "placeholder":
            rows.append(("placeholder", describe(value)))
        else:
            target = id(node.target) if callable(node.target) else str(node.target)
            owned = id(graph.owning_module) if node.op in ("get_attr", "call_module") else 0
            rows.append((node.op, target, owned, _plain(node.args, number), _plain(node.kwargs, number)))
    return tuple(rows)


def describe(value: Any) -> str:
    """The kind of an input: dtype, device, sizes and strides of a tensor, its symbols by name; else the type."""
    if isinstance(value, torch.Tensor):
        strided = value.layout is torch.strided
        shape = [str(size) for size in value.shape]
        stride = [str(size) for size in value.stride()] if strided else []
        offset = str(value.storage_offset()) if strided else ""
        return f"{value.dtype} {value.device} {value.layout} {shape} {stride} {offset} {value.requires_grad}"
    return f"{type(value).__name__} {value}"


def _plain(tree: Any, number: dict[Any, int]) -> str:
    """Arguments as text, nodes by their number in the piece."""

    def plain(node: Any) -> str:
        return f"%{number[node]}"

    return repr(torch.fx.node.map_arg(tree, plain))
