"""The job of a worker for the piecewise backend: compile, capture every size, check what is replayed, time, and count.

Where the device has graphs, ``piecewise`` is compiled and replayed, ``piecewise:compiled`` compiled only and
``piecewise:replayed`` replayed only, so that a reader sees what each brought. On the CPU a graph is a stand-in that
only proves the logic: its time is never told, and ``piecewise`` compares eager with the compiled pieces.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Callable, Optional

from .. import backends
from ..check.checker import Check, Checker
from ..devices import Device
from ..errors import CompileError, UsageError
from ..inputs.sizing import Sizing, sizing
from ..inputs.sources import Case
from ..measure.timing import Measurement, Timer, hidden, measure
from ..observe import compiles
from ..piecewise import padding, splitting
from ..piecewise.backend import PiecewiseBackend
from ..piecewise.compiler import EAGER, INDUCTOR
from ..piecewise.pieces import KeyReport, PieceReport
from ..piecewise.session import Policy
from ..protocol.job import Job
from ..protocol.stages import Stages
from ..targets.calls import copy_call
from ..targets.loading import describe, line_in
from ..untyped import torch
from . import preparation
from .preparation import Prepared
from .variants import STAND_IN, check_keys

NAME = "piecewise"
MIX_CALLS = 200
"""Requests that a mix is played with."""

_NO_GRAPHS = (
    "The CPU has no device graphs: captures and replays are those of a stand-in that proves the logic, and the number "
    "compares eager with the compiled pieces."
)


def run(job: Job, stages: Stages) -> None:
    """Go through compile, capture, check and measure for all sizes of one compiled target.

    :raises ProbeError: the target cannot be compiled
    """
    if job.train:
        raise UsageError("The backend piecewise is for inference.", remedy="Leave out --mode train.", stage="compile")
    points = splitting.parse(job.split)
    prepared = preparation.resolve(job, preparation.load(job))
    if prepared.device.stand_in:
        stages.channel.always["stand_in"] = True
    preparation.call_eagerly(prepared)
    _Capturing(job, stages, prepared, points).run()


class _Capturing:
    """One target under the piecewise backend."""

    def __init__(self, job: Job, stages: Stages, prepared: Prepared, points: tuple[splitting.SplitPoint, ...]) -> None:
        self._job = job
        self._stages = stages
        self._prepared = prepared
        self._device: Device = prepared.device
        self._sizing: Optional[Sizing] = None
        self._cases = self._wanted()
        self._state = prepared.subject.save(prepared.device.free_bytes())
        policy = Policy(declared=self._declared())
        self._backend = PiecewiseBackend(self._device, points, _compiler(self._device), policy)
        self._notes: list[str] = [] if self._device.real_graphs else [_NO_GRAPHS]
        if self._device.stand_in:
            self._notes.append(STAND_IN)

    def run(self) -> None:
        subject = self._prepared.subject
        compiled: Callable[..., Any] = torch.compile(subject.target, backend=self._backend)
        compile_s = self._compile(compiled)
        self._capture(compiled)
        checks = [self._check(case, compiled) for case in self._cases]
        hits = self._mix(compiled) if self._job.mix else None
        self._tell(compile_s, hits)
        bad = next((check for check in checks if check.hides_number), None)
        self._stages.part(checks=[check_keys(check) for check in checks], measurements=[])
        if bad is not None:
            self._stages.skip("measure", "The check failed, so a time would be that of wrong results.")
            measured = [hidden(NAME, case.size, compile_s, bad.message) for case in self._cases]
        elif self._device.stand_in:
            self._stages.skip("measure", STAND_IN)
            measured = [hidden(NAME, case.size, None, STAND_IN) for case in self._cases]
        else:
            measured = self._measure(compiled, compile_s)
        for one in measured:
            self._stages.channel.send("measurement", **one.keys())
        self._stages.part(measurements=[one.keys() for one in measured])

    def _wanted(self) -> list[Case]:
        """The sizes to capture, largest first: small graphs then fit into the memory of large ones."""
        cases = list(self._prepared.cases)
        if not (self._job.sizes or self._job.mix or len(cases) > 1):
            return cases
        self._sizing = sizing(cases)
        if self._job.sizes:
            name = self._sizing.name
            cases = [Case(f"{name}={n}", (self._sizing.resized(n),)) for n in sorted(set(self._job.sizes))]
        return sorted(cases, key=lambda case: -self._sizing_of(case))

    def _declared(self) -> frozenset[int]:
        """The sizes that are captured at their second call."""
        return frozenset(map(self._sizing_of, self._cases)) if self._sizing is not None else frozenset()

    def _sizing_of(self, case: Case) -> int:
        return self._sizing.of(case.calls[0]) if self._sizing is not None else 0

    def _compile(self, compiled: Callable[..., Any]) -> float:
        """First calls of every size: they go the general way, and Dynamo compiles what it needs."""
        stages, subject = self._stages, self._prepared.subject
        compiles.reset()
        _draw_as_eager()
        begin = time.perf_counter()
        with torch.no_grad():
            for case in self._cases:
                for call in case.calls:
                    args, kwargs = copy_call(call)
                    self._mark(args, kwargs)
                    subject.restore(self._state)
                    try:
                        compiled(*args, **kwargs)
                    except Exception as error:
                        raise CompileError(
                            f"Compiling with {NAME} raised {describe(error)}.",
                            stage="compile",
                            file=str(self._prepared.file),
                            line=line_in(error, self._prepared.file),
                        ) from error
                    stages.progress(case.size or "")
        seconds = time.perf_counter() - begin
        pieces = sum(len(graph.pieces) for graph in self._backend.graphs)
        name = self._backend.compiler
        stages.end(seconds, note=f"{pieces} pieces, {self._backend.compiled_pieces} compiled with {name}")
        for report in self._backend.report().pieces:
            stages.channel.send("piece", **piece_keys(report))
        return seconds

    def _mark(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Tell Dynamo which sizes vary, so that one graph serves them all."""
        if self._sizing is None or len(self._cases) < 2:
            return
        tensors: list[Any] = [v for v in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]
        for index, dimension in self._sizing.dimensions:
            if tensors[index].shape[dimension] > 1:
                torch._dynamo.maybe_mark_dynamic(tensors[index], dimension)

    def _capture(self, compiled: Callable[..., Any]) -> None:
        stages, subject = self._stages, self._prepared.subject
        stages.start("capture", note=f"{len(self._cases)} sizes, {self._device.graph_name}")
        begin = time.perf_counter()
        told: set[tuple[str, Any]] = set()
        with torch.no_grad():
            for case in self._cases:
                for call in case.calls * 4:
                    args, kwargs = copy_call(call)
                    subject.restore(self._state)
                    compiled(*args, **kwargs)
                for report in self._backend.report().pieces:
                    for key in report.keys:
                        if key.state in ("captured", "refused") and (report.piece.name, key.key) not in told:
                            told.add((report.piece.name, key.key))
                            stages.channel.send("capture", **capture_keys(report, key))
        subject.restore(self._state)
        counts = self._backend.counts()
        stages.end(
            time.perf_counter() - begin,
            note=f"{counts.captured} captured, {counts.replayed} replayed, {counts.refused} refused",
        )

    def _check(self, case: Case, compiled: Callable[..., Any]) -> Check:
        """Compare with eager; the calls after the captures are replays, with changed inputs."""
        stages = self._stages
        stages.start("check", note=case.size or "")
        begin = time.perf_counter()
        before = self._backend.counts().replayed
        check = Checker(self._prepared.subject, case.calls, self._state).check(NAME, compiled)
        stages.channel.send("check", **check_keys(check))
        stages.end(time.perf_counter() - begin, note=f"{self._backend.counts().replayed - before} replays compared")
        return check

    def _mix(self, compiled: Callable[..., Any]) -> dict[str, Any]:
        """Play requests of the declared mix in random order and count the way each piece went."""
        how = self._sizing or sizing(self._cases)
        captured = [self._sizing_of(case) for case in self._cases]
        subject = self._prepared.subject
        sizes = [size for size, _ in self._job.mix]
        weights = [weight for _, weight in self._job.mix]
        requests = random.Random(0).choices(sizes, weights, k=MIX_CALLS)
        why_not = {size: self._padding_fault(how, size, captured) for size in sizes} if self._job.pad else {}
        before = self._backend.counts()
        padded = 0
        with torch.no_grad():
            for size in requests:
                args, kwargs = copy_call(how.resized(size))
                target = padding.next_size(size, captured)
                if self._job.pad and target is not None and target != size and not why_not[size]:
                    args, kwargs = padding.pad(how, (args, kwargs), target)
                    padded += 1
                compiled(*args, **kwargs)
        subject.restore(self._state)
        after = self._backend.counts()
        replayed, general = after.replayed - before.replayed, after.general - before.general
        new, refused = after.captured - before.captured, after.refused - before.refused
        total = replayed + general + new + refused
        return {
            "calls": MIX_CALLS,
            "padded": padded,
            "replayed": replayed,
            "general": general,
            "captured": new,
            "refused": refused,
            "hit_rate": replayed / total if total else None,
            "padding_refused": {str(size): why for size, why in why_not.items() if why},
        }

    def _padding_fault(self, how: Sizing, size: int, captured: Sequence[int]) -> str:
        target = padding.next_size(size, captured)
        if target is None or target == size:
            return ""
        with torch.no_grad():
            fault = padding.unsafe(self._prepared.subject.target, how, size, target)
        self._prepared.subject.restore(self._state)
        return fault

    def _tell(self, compile_s: float, hits: Optional[dict[str, Any]]) -> None:
        """Put what became of the pieces into the result."""
        report = self._backend.report()
        self._stages.part(
            piecewise={
                "compiler": self._backend.compiler,
                "compile_s": compile_s,
                "graph_name": self._device.graph_name + (" over a stand-in driver" if self._device.stand_in else ""),
                "stand_in": self._device.stand_in or not self._device.real_graphs,
                "split": list(self._job.split),
                "sizes": [self._sizing_of(case) for case in self._cases] if self._sizing else [],
                "pieces": [piece_keys(piece) for piece in report.pieces],
                "mix": hits,
                "notes": [*report.notes, *self._notes],
            }
        )

    def _measure(self, compiled: Callable[..., Any], compile_s: float) -> list[Measurement]:
        """Time what may be timed: replays where they are the device's, and the compiled pieces alone."""
        found: list[Measurement] = []
        if self._device.real_graphs:
            found += [self._time(NAME, case, compiled, compile_s) for case in self._cases]
            self._backend.release()
            self._backend.policy.declared, self._backend.policy.frequent = frozenset(), None
            found += [self._time(f"{NAME}:compiled", case, compiled, compile_s) for case in self._cases]
            found += self._replay_only()
            return found
        self._backend.release()
        self._backend.policy.declared, self._backend.policy.frequent = frozenset(), None
        return [self._time(NAME, case, compiled, compile_s) for case in self._cases]

    def _replay_only(self) -> list[Measurement]:
        """The same captures over pieces that no compiler saw."""
        policy = Policy(declared=self._declared())
        plain = PiecewiseBackend(self._device, self._backend.points, EAGER, policy)
        compiled: Callable[..., Any] = torch.compile(self._prepared.subject.target, backend=plain)
        compiles.reset()
        return [self._time(f"{NAME}:replayed", case, compiled, None) for case in self._cases]

    def _time(self, name: str, case: Case, compiled: Callable[..., Any], compile_s: Optional[float]) -> Measurement:
        stages, subject = self._stages, self._prepared.subject
        subject.restore(self._state)
        timer = Timer(subject, case.calls, self._device)
        stages.start("measure", note=f"{name}, {case.size}" if case.size else name)
        begin = time.perf_counter()
        timer.warm(compiled, lambda index: stages.progress(f"pass {index + 1}"))

        def report(pairs: int, seen: Any) -> None:
            stages.channel.send("sample", variant=name, pairs=pairs, ratio=seen.ratio, low=seen.low, high=seen.high)

        result = measure(timer, name, case.size, compiled, self._job.budget, compile_s, report)
        stages.end(time.perf_counter() - begin)
        return result


def _draw_as_eager() -> None:
    """Have Inductor draw from torch's generators, so that results with dropout can be compared. Seen on 2.1 to 2.13."""
    config: Any = importlib.import_module("torch._inductor.config")
    config.fallback_random = True


def _compiler(device: Device) -> str:
    """Inductor where it can be used here, else the pieces as Dynamo gives them."""
    if device.kind == "npu":  # its wheel has no Inductor of its own everywhere; capture is what counts there
        return EAGER
    return INDUCTOR if backends.Backend("inductor").reason_unusable(device.kind) is None else EAGER


def piece_keys(report: PieceReport) -> dict[str, Any]:
    """A piece as the keys of its event."""
    piece = report.piece
    counts = report.counts
    return {
        "name": piece.name,
        "kind": piece.kind,
        "state": report.state,
        "why": piece.why,
        "lines": [[place.file, place.line] for place in piece.places],
        "modules": list(piece.modules),
        "ops": dict(piece.ops),
        "nodes": piece.nodes,
        "same_as": piece.same_as,
        "counts": asdict(counts),
        "keys": [_key_of(key) for key in report.keys],
    }


def capture_keys(report: PieceReport, key: KeyReport) -> dict[str, Any]:
    """A capture, or the refusal of one, as the keys of its event."""
    return {"piece": report.piece.name, **_key_of(key)}


def _key_of(key: KeyReport) -> dict[str, Any]:
    return {
        "key": [value if isinstance(value, (int, float, bool)) else str(value) for value in key.key],
        "state": key.state,
        "reason": key.reason,
        "seconds": None if key.seconds is None else round(key.seconds, 4),
        "bytes": key.bytes,
        "counts": asdict(key.counts),
    }
