"""The job of the first worker: call the target plainly, then watch what Dynamo does with it."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Union

from ..environment import settings, uncaptured
from ..errors import CompileError
from ..observe import Graph, GraphBreak, Observation, Recompile, fresh_calls, observe_calls
from ..observe.patches import Patches
from ..protocol.job import DEFAULTED, Job
from ..protocol.stages import Stages
from ..targets.loading import describe, line_in
from . import preparation


def run(job: Job, stages: Stages) -> None:
    """Observe, with an eye on who assigns options of the compiler."""
    assignments = settings.Assignments()
    with Patches([]) as patches:
        assignments.watch(patches)
        _run(job, stages, assignments)


def environment_keys(assignments: settings.Assignments) -> dict[str, Any]:
    """What changes what compile does, for the result; ``places`` tells where user code assigned an option."""
    options = assignments.changed()
    places = {name: f"{file}:{line}" for name, (file, line) in assignments.places.items() if name in options}
    return {"variables": settings.variables(given_to_us()), "options": options, "places": places}


def given_to_us() -> dict[str, str]:
    """The environment without the variables that the supervisor sets where the user has not."""
    set_by_us = os.environ.get(DEFAULTED, "").split(",")
    return {name: value for name, value in os.environ.items() if name not in set_by_us}


def _run(job: Job, stages: Stages, assignments: settings.Assignments) -> None:
    """Go through load, inputs, eager and trace; what is found is sent as events and as part of the result.

    :raises ProbeError: whatever keeps the target from being called or compiled
    """
    begin = time.perf_counter()
    loaded = preparation.load(job)
    file = loaded.file
    stages.end(time.perf_counter() - begin)
    stages.start("inputs")
    begin = time.perf_counter()
    prepared = preparation.resolve(job, loaded)
    subject = prepared.subject
    if prepared.device.stand_in:
        stages.channel.always["stand_in"] = True
    facts = preparation.versions(prepared.device)
    stages.channel.send("versions", **facts)
    described = preparation.describe_call(subject, prepared.calls[0])
    sizes = list(prepared.inputs.sizes)
    stages.channel.send(
        "inputs",
        source=prepared.inputs.source,
        detail=prepared.inputs.detail,
        description=described,
        calls=len(prepared.calls),
        sizes=sizes,
    )
    stages.part(
        source=prepared.inputs.source,
        source_detail=prepared.inputs.detail,
        inputs=described,
        device=facts["device"],
        device_label=prepared.device.label,
        stand_in=prepared.device.stand_in,
        device_name=facts["device_name"],
        versions=facts,
        sizes=sizes,
        notes=list(prepared.notes),
    )
    stages.end(time.perf_counter() - begin)

    stages.start("eager")
    begin = time.perf_counter()
    eager = preparation.call_eagerly(prepared)
    stages.part(notes=list(dict.fromkeys((*prepared.notes, *eager.notes))))
    stages.end(
        time.perf_counter() - begin,
        note="" if prepared.device.stand_in else f"{1e3 * eager.seconds:.3g} ms, a first call",
    )

    stages.start("trace")
    begin = time.perf_counter()
    state = subject.save(prepared.device.free_bytes())
    observation = observe_calls(
        subject.target,
        fresh_calls(prepared.calls, job.calls),
        train=subject.train,
        grad=subject.grad,
        compiles_inside=subject.compiles_inside,
        cover=True,
        listener=lambda seen: _tell(stages, seen),
        advanced=_Heartbeat(stages).beat,
    )
    subject.restore(state)
    why = uncaptured.cause(subject.target, observation, assignments) if not observation.graphs else None
    stages.part(**_summary(observation, file), not_compiled=None if why is None else asdict(why))
    stages.part(environment=environment_keys(assignments))
    if observation.error is not None:
        error = observation.error
        raise CompileError(
            f"The plain call works, and under torch.compile it raises {describe(error)}.",
            stage="trace",
            file=str(file),
            line=line_in(error, file),
        ) from error
    stages.end(time.perf_counter() - begin)


class _Heartbeat:
    """Tells at most once a second that Dynamo gets on: large models are traced for minutes without an event."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._lines = 0
        self._told = time.monotonic()

    def beat(self) -> None:
        """One more line was traced."""
        self._lines += 1
        now = time.monotonic()
        if now - self._told >= 1.0:
            self._told = now
            self._stages.progress(f"{self._lines} lines traced")


def _tell(stages: Stages, seen: Union[GraphBreak, Recompile, Graph]) -> None:
    if isinstance(seen, GraphBreak):
        stages.channel.send("break", **break_keys(seen))
    else:
        stages.channel.send("recompile" if isinstance(seen, Recompile) else "graph", **asdict(seen))


def break_keys(seen: GraphBreak) -> dict[str, Any]:
    """A break as the keys of an event; ``rule`` is for the reader to fill."""
    return {**asdict(seen), "frame_skipped": seen.frame_skipped, "rule": None}


def _summary(observation: Observation, file: Path) -> dict[str, Any]:
    return {
        "graphs": len(observation.graphs),
        "graph_list": [asdict(graph) for graph in observation.graphs],
        "breaks": [break_keys(seen) for seen in observation.breaks],
        "recompiles": [asdict(seen) for seen in observation.recompiles],
        "traced": {path: ranges(lines) for path, lines in observation.traced.items()},
        "skipped": [asdict(seen) for seen in observation.skipped],
        "suppressed": [asdict(seen) for seen in observation.suppressed],
        "covered": observation.covered,
        "observe_notes": list(observation.notes),
        "sources": hashes([str(file), *observation.traced]),
    }


def ranges(lines: list[int]) -> list[list[int]]:
    """Sorted lines as ``[first, last]`` pairs."""
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def hashes(files: list[str]) -> dict[str, str]:
    """SHA-256 of the content of each file that can be read."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(files):
        try:
            found[name] = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        except OSError:
            continue
    return found
