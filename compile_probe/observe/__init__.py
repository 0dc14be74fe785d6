"""What Dynamo did with a call: graph breaks, recompiles, graphs and traced lines, seen from inside the compiler.

``torch._dynamo.explain`` miscounts and stops at one call, and logs are text, so Dynamo's own funnels are wrapped while
the calls run. Every touch of a private torch API has a small module here, which says on which versions it was seen
and leaves a note in ``Observation.notes`` where a torch has it not.
"""

from ..targets.calls import fresh_calls
from .records import Frame, Graph, GraphBreak, Observation, Recompile, SkippedFrame
from .session import observe_calls

__all__ = [
    "Frame",
    "Graph",
    "GraphBreak",
    "Observation",
    "Recompile",
    "SkippedFrame",
    "fresh_calls",
    "observe_calls",
]
