"""The Dynamo backend: takes each FX graph, splits it, and returns the function that runs its pieces.

Shape guards stay Dynamo's: a branch on a size compiles a graph of its own, and nothing is assumed of sizes for which no
guard was asked. (vLLM drops guards; a wrong branch is then taken in silence.)
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from ..devices import Device
from ..errors import CompileError
from ..untyped import torch
from . import hazards, keys, partition
from .compiler import EAGER, PieceCompiler
from .interpreter import PieceInterpreter
from .pieces import Counts, PieceReport, Report
from .runner import PiecewiseRunner
from .session import Policy, Session
from .splitting import SplitPoint


class PiecewiseGraph:
    """One graph of Dynamo's, run piece by piece. Calls that overlap go the general way: captures have one memory."""

    def __init__(self, root: Any, plain: Any, runners: list[PiecewiseRunner], session: Session, key: Any) -> None:
        self.root = root
        self.runners = runners
        self.pieces: tuple[Any, ...] = ()
        self.busy = 0
        self._forward = root.forward
        self._plain = plain.forward
        self._session = session
        self._key: Optional[keys.KeyReader] = key
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        """Run the graph on real inputs."""
        if not self._lock.acquire(blocking=False):
            self.busy += 1
            return self._plain(*args)
        try:
            if self._key is not None:
                key = self._key(args)
                for runner in self.runners:
                    runner.key = key
            outputs = self._forward(*args)
            if self._session.owned and self._session.policy.clone_outputs:
                return self._freed(outputs)
            return outputs
        finally:
            self._lock.release()

    def report(self) -> list[PieceReport]:
        """Every piece in order."""
        runners = {runner.piece.index: runner for runner in self.runners}
        return [runners[p.index].report() if p.index in runners else PieceReport(p) for p in self.pieces]

    def _freed(self, outputs: Sequence[Any]) -> Any:
        """Outputs out of the memory that the next replay overwrites; what was one memory stays one."""
        session = self._session
        copies: dict[int, Any] = {}
        done: dict[int, Any] = {}
        shared: dict[int, int] = {}
        for output in outputs:
            if isinstance(output, torch.Tensor):
                address = output.untyped_storage().data_ptr()
                shared[address] = shared.get(address, 0) + 1
        result: list[Any] = []
        for output in outputs:
            if not isinstance(output, torch.Tensor) or not session.owns(output):
                result.append(output)
                continue
            if id(output) not in done:
                done[id(output)] = _copied(output, shared, copies)
            result.append(done[id(output)])
        return tuple(result)


def _copied(output: Any, shared: dict[int, int], copies: dict[int, Any]) -> Any:
    """A copy of one output, over a copy of the storage where others look at it too or its elements are not dense."""
    storage = output.untyped_storage()
    address = storage.data_ptr()
    copy = output.detach().clone() if shared[address] == 1 else None
    if copy is not None and copy.stride() == output.stride():
        return copy
    if address not in copies:
        copies[address] = storage.clone()
    empty: Any = torch.empty(0, dtype=output.dtype, device=output.device)
    return empty.set_(copies[address], output.storage_offset(), output.shape, output.stride())


@dataclass
class PiecewiseBackend:
    """What is given to ``torch.compile(backend=...)``; keeps all graphs of the target, for the report."""

    device: Device
    points: tuple[SplitPoint, ...] = ()
    compiler: str = EAGER
    policy: Policy = field(default_factory=Policy)
    graphs: list[PiecewiseGraph] = field(default_factory=list[PiecewiseGraph])

    def __post_init__(self) -> None:
        self.session = Session(self.device, self.policy)
        self.matched: set[str] = set()
        self.seen: set[str] = set()
        self.compile_s = 0.0
        self.compiled_pieces = 0
        self.notes: list[str] = []

    def __call__(self, graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        """Dynamo's call: split the graph and return what runs it.

        :raises CompileError: the graph is to be trained
        """
        placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        values = [node.meta.get("example_value") for node in placeholders]
        if torch.is_grad_enabled() and any(getattr(value, "requires_grad", False) for value in values):
            raise CompileError(
                "The backend piecewise is for inference: this graph would be trained.",
                stage="compile",
                remedy="Probe with --mode inference, call it under torch.no_grad(), or take another backend.",
            )
        self.session.building += 1
        try:
            return self._build(graph_module, values)
        finally:
            self.session.building -= 1

    def _build(self, graph_module: Any, values: Sequence[Any]) -> PiecewiseGraph:
        partition.decompose_sizes(graph_module)
        partition.hoist_numbers(graph_module)
        facts = hazards.examine(graph_module)
        for node, fact in facts.items():
            self.matched |= {point.text for point in self.points if point.matches(node, fact.ops)}
            if node.op in ("call_function", "call_method"):
                self.seen.add(str(node.target) if node.op == "call_method" else getattr(node.target, "__name__", ""))
        parts = partition.assign(graph_module, facts, self.points)
        split = partition.split(graph_module, facts, parts, len(self.graphs))
        plain = torch.fx.GraphModule(split.root, split.root.graph)
        read_key, known = keys.reader(values)
        compiler = PieceCompiler(self.compiler, len(self.graphs))
        runners = PieceInterpreter(split, compiler, self.session, known).place_runners()
        self.compile_s += compiler.seconds
        self.compiled_pieces += compiler.compiled
        self.notes += compiler.notes
        graph = PiecewiseGraph(split.root, plain, runners, self.session, read_key)
        same = {runner.piece.index: runner.piece for runner in runners}
        graph.pieces = tuple(same.get(piece.index, piece) for piece in split.pieces)
        self.graphs.append(graph)
        return graph

    def counts(self) -> Counts:
        """Calls of pieces by the way they went, over all graphs."""
        total = Counts()
        for graph in self.graphs:
            for piece in graph.report():
                total.add(piece.counts)
        return total

    def report(self) -> Report:
        """All pieces of all graphs, and what the user should know about the split."""
        pieces = [piece for graph in self.graphs for piece in graph.report()]
        notes = list(self.notes)
        notes += [
            f"--split {point.text} matched nothing; the graph calls {', '.join(sorted(self.seen)) or 'nothing'}."
            for point in self.points
            if self.graphs and point.text not in self.matched
        ]
        if self.graphs and all(piece.piece.kind == "capture" for piece in pieces):
            notes.append("Nothing cuts the graph: each graph is one piece.")
        return Report(pieces, notes)

    def release(self) -> None:
        """Drop all captures."""
        for graph in self.graphs:
            for runner in graph.runners:
                for entry in runner.entries.values():
                    runner.drop(entry)
