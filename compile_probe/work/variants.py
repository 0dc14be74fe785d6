"""The job of a worker for one variant: compile it with empty caches, check it, time it."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Generator
from dataclasses import asdict, replace
from typing import Any, Callable

from .. import backends
from ..backends import LAYERS, Backend
from ..check.checker import Check, Checker
from ..environment import uncaptured
from ..environment.settings import Assignments
from ..errors import CompileError
from ..inputs.sources import Case
from ..measure.estimate import Interval
from ..measure.timing import Measurement, Timer, hidden, measure, not_compiled, unsettled
from ..observe import compiles, observe_calls
from ..protocol.job import Job
from ..protocol.stages import Stages
from ..targets.calls import copy_call
from ..targets.loading import describe, line_in
from ..targets.subject import State
from . import preparation
from .preparation import Prepared

STAND_IN = (
    "The driver is a stand-in, not an NPU: calls, captures and replays are real, and no time would mean anything."
)


def run(job: Job, stages: Stages) -> None:
    """Measure ``job.variant`` for every size; each size is compiled anew, as a program that uses only it would.

    :raises ProbeError: the target cannot be compiled
    """
    assert job.variant is not None
    prepared = preparation.resolve(job, preparation.load(job))
    if prepared.device.stand_in:
        stages.channel.always["stand_in"] = True
    preparation.call_eagerly(prepared)
    backend = backends.choose(job.variant, prepared.device.kind)
    stages.progress("the target is ready")
    state = prepared.subject.save(prepared.device.free_bytes())
    checks: list[Check] = []
    measurements: list[Measurement] = []
    for case in prepared.cases:
        check, measurement = _Sizing(prepared, backend, stages, state, job.budget).run(case)
        checks.append(check)
        measurement = replace(measurement, covered=job.covered)
        measurements.append(measurement)
        stages.channel.send("measurement", **measurement.keys())
        stages.part(checks=[check_keys(c) for c in checks], measurements=[m.keys() for m in measurements])


def check_keys(check: Check) -> dict[str, Any]:
    """A check as the keys of its event."""
    worst = check.worst
    return {
        "variant": check.variant,
        "status": check.status,
        "worst": None if worst is None else asdict(worst),
        "message": check.message,
    }


class _Sizing:
    """One size of one variant: compile, check, measure."""

    def __init__(self, prepared: Prepared, backend: Backend, stages: Stages, state: State, budget: float) -> None:
        self._prepared = prepared
        self._backend = backend
        self._stages = stages
        self._state = state
        self._budget = budget

    def run(self, case: Case) -> tuple[Check, Measurement]:
        stages, subject, name = self._stages, self._prepared.subject, self._backend.name
        timer = Timer(subject, case.calls, self._prepared.device)
        eager_s = timer.eager_seconds()
        if stages.name != "compile":
            stages.start("compile", note=_note(name, case))
        compiles.reset()
        subject.restore(self._state)
        compiled = self._backend.compile(subject.target)
        try:
            warm = timer.warm(compiled, lambda index: stages.progress(f"pass {index + 1}"))
        except Exception as error:
            raise CompileError(
                f"Compiling with {name} raised {describe(error)}.",
                stage="compile",
                file=str(self._prepared.file),
                line=line_in(error, self._prepared.file),
            ) from error
        if compiles.graphs() == 0:
            stages.end(0.0, note="nothing was compiled")
            why = self._why_not_compiled(case)
            check, _ = self._check(case, compiled)
            return check, not_compiled(name, case.size, why)
        compile_s = max(0.0, warm.compiling_s - warm.compiling_passes * eager_s)
        stages.end(
            compile_s,
            note=f"{name}, compiled in {warm.compiling_passes} pass{'' if warm.compiling_passes == 1 else 'es'}",
        )

        check, compiled = self._check(case, compiled)
        if check.hides_number:
            stages.skip("measure", "The check failed, so a time would be that of wrong results.")
            shown = None if self._prepared.device.stand_in else compile_s
            return check, hidden(name, case.size, shown, check.message)
        if self._prepared.device.stand_in:
            stages.skip("measure", STAND_IN)
            return check, hidden(name, case.size, None, STAND_IN)
        stages.start("measure", note=_note(name, case))
        begin = time.perf_counter()
        if not warm.settled:
            stages.end(time.perf_counter() - begin, note="not timed: it is compiled again and again")
            return check, unsettled(name, case.size, compile_s)
        timer.warm(compiled, lambda index: stages.progress(f"pass {index + 1}"))
        measurement = measure(timer, name, case.size, compiled, self._budget, compile_s, self._report)
        stages.end(time.perf_counter() - begin, note=_load_note())
        return check, measurement

    def _why_not_compiled(self, case: Case) -> str:
        """Look at the frames once more, with the backend itself: Dynamo made graphs when it was observed."""
        subject = self._prepared.subject
        subject.restore(self._state)
        calls = [copy_call(call) for call in case.calls]
        seen = observe_calls(subject.target, calls, grad=subject.grad, train=subject.train, backend=self._backend.name)
        return uncaptured.cause(subject.target, seen, Assignments()).message

    def _check(self, case: Case, compiled: Callable[..., Any]) -> tuple[Check, Callable[..., Any]]:
        """Check the compiled target; returns it, or a new one where the check had to change how it is compiled."""
        stages, subject, name = self._stages, self._prepared.subject, self._backend.name
        stages.start("check", note=_note(name, case))
        begin = time.perf_counter()
        checker = Checker(subject, case.calls, self._state)
        stages.progress("eager runs are done")
        if checker.drew_random:
            with _same_random_numbers():
                compiles.reset()
                check = checker.check(name, self._backend.compile(subject.target))
            compiles.reset()
            compiled = self._backend.compile(subject.target)
        else:
            check = checker.check(name, compiled)
        if check.hides_number and name not in LAYERS:
            check = replace(check, message=f"{check.message} {self._blame(checker)}")
            compiles.reset()
        stages.channel.send("check", **check_keys(check))
        stages.end(time.perf_counter() - begin, note=check.status)
        return check, compiled

    def _blame(self, checker: Checker) -> str:
        """Name the lowest layer whose result is wrong already: it is where to look, and whom to tell."""
        for layer in LAYERS:
            self._stages.progress(f"looking for the fault in {layer}")
            compiles.reset()
            found = checker.check(layer, Backend(layer).compile(self._prepared.subject.target))
            if found.hides_number:
                where = "Dynamo's tracing" if layer == "eager" else "AOTAutograd"
                return f"It is so with the backend {layer} already: the fault is in {where}, or in what it cannot see."
        return f"Dynamo and AOTAutograd alone give the right result: the fault is in {self._backend.name}."

    def _report(self, pairs: int, seen: Interval) -> None:
        self._stages.channel.send(
            "sample", variant=self._backend.name, pairs=pairs, ratio=seen.ratio, low=seen.low, high=seen.high
        )


@contextlib.contextmanager
def _same_random_numbers() -> Generator[None, None, None]:
    """Have Inductor draw from torch's generators, as eager does, so that results with dropout can be compared."""
    config: Any = importlib.import_module("torch._inductor.config")  # seen on 2.1 to 2.13
    with config.patch(fallback_random=True):
        yield


def _note(name: str, case: Case) -> str:
    return f"{name}, {case.size}" if case.size else name


def _load_note() -> str:
    """Other programs that compete for the processors, if there are more of them than processors."""
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    return f"load average {load:.1f} on {processors} processors" if load > processors + 0.5 else ""
