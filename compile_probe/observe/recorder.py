"""Gathers what the hooks report during one observation and turns it into an ``Observation``."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any, Callable, Optional, Union

from .records import Graph, GraphBreak, Observation, Recompile, SkippedFrame, Suppressed

Seen = Union[GraphBreak, Recompile, Graph]
Listener = Callable[[Seen], None]


class Recorder:
    """What was seen so far; ``listener`` hears of every graph, recompile and new break as it happens.

    ``advanced`` is called for every line that Dynamo interprets, so it has to be quick.
    """

    def __init__(self, listener: Optional[Listener] = None, advanced: Optional[Callable[[], None]] = None) -> None:
        self.advanced = advanced
        self.call = 0
        self.compiles = 0
        self.notes: list[str] = []
        self.breaks: OrderedDict[tuple[str, int, Optional[str]], GraphBreak] = OrderedDict()
        self.recompiles: list[Recompile] = []
        self.graphs: list[Graph] = []
        self.lines: dict[str, set[int]] = {}
        self.suppressed: list[Suppressed] = []
        self.graph_seconds = 0.0
        self._skipped: OrderedDict[tuple[str, int, str, str], int] = OrderedDict()
        self._listener = listener

    @property
    def left_something(self) -> bool:
        """Whether a part of the target was left to Python."""
        return bool(self.breaks or self._skipped or self.suppressed)

    def add_break(self, seen: GraphBreak) -> None:
        """Count a break under its (file, line, id); the first one seen gives the details, the worst effect stays."""
        key = (seen.file, seen.line, seen.gb_id or seen.gb_type)
        known = self.breaks.get(key)
        if known is None:
            seen = replace(seen, call=self.call)
            self.breaks[key] = seen
            self._tell(seen)
            return
        effect = max(known.effect, seen.effect, key=("resume", "rest-eager", "skip-frame").index)
        self.breaks[key] = replace(known, count=known.count + seen.count, effect=effect)

    def add_recompile(self, seen: Recompile) -> None:
        self.recompiles.append(seen)
        self._tell(seen)

    def add_graph(self, ops: int, lines: tuple[tuple[str, int], ...]) -> None:
        graph = Graph(len(self.graphs), ops, lines)
        self.graphs.append(graph)
        self._tell(graph)

    def add_skip(self, file: str, line: int, function: str, reason: str) -> None:
        key = (file, line, function, reason)
        self._skipped[key] = self._skipped.get(key, 0) + 1

    def finish(self, outputs: list[Any], error: Optional[BaseException]) -> Observation:
        """Freeze everything seen."""
        return Observation(
            breaks=tuple(self.breaks.values()),
            recompiles=tuple(self.recompiles),
            graphs=tuple(self.graphs),
            traced={file: sorted(lines) for file, lines in sorted(self.lines.items())},
            skipped=tuple(SkippedFrame(*key, count=count) for key, count in self._skipped.items()),
            suppressed=tuple(self.suppressed),
            compiles=self.compiles,
            outputs=outputs,
            error=error,
            notes=tuple(self.notes),
        )

    def mute(self) -> None:
        """Tell nobody any more: what comes now is not part of the observation."""
        self._listener = self.advanced = None

    def _tell(self, seen: Seen) -> None:
        if self._listener is not None:
            self._listener(seen)
