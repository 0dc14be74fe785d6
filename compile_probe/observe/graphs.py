"""A backend that runs graphs as they are and reports each of them.

Uses only the contract of Dynamo backends: a callable of (graph module, example inputs). The source of a node is read
from ``node.meta["stack_trace"]``, a text in the form of a traceback, seen on 2.1 to 2.13.
"""

from __future__ import annotations

import re
import time
from typing import Any, Callable

from ..targets.ownership import is_user_file
from .recorder import Recorder

_PLACE = re.compile(r'^\s*File "(.+)", line (\d+)', re.M)
_CALLS = ("call_function", "call_method", "call_module")


def counting_eager(recorder: Recorder) -> Callable[[Any, Any], Callable[..., Any]]:
    """Return a backend that counts the operations of a graph, and the lines they come from, and compiles nothing."""

    def backend(module: Any, example_inputs: Any) -> Callable[..., Any]:
        nodes = [node for node in module.graph.nodes if node.op in _CALLS]
        lines = {place for node in nodes for place in _innermost_user_place(node.meta.get("stack_trace"))}
        recorder.add_graph(len(nodes), tuple(sorted(lines)))

        def run(*args: Any) -> Any:
            begin = time.perf_counter()
            try:
                return module.forward(*args)
            finally:
                recorder.graph_seconds += time.perf_counter() - begin

        return run

    return backend


def _innermost_user_place(trace: Any) -> list[tuple[str, int]]:
    """The last user line of a traceback text, as a list of none or one."""
    places = [(file, int(line)) for file, line in _PLACE.findall(str(trace or "")) if is_user_file(file)]
    return places[-1:]
