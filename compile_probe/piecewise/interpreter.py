"""Walks the split graph with its fake values and puts a runner in the place of each piece that may be captured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from . import keys
from .compiler import PieceCompiler
from .hazards import NodeFacts, examine, storage_of
from .partition import Split
from .pieces import Piece
from .runner import PiecewiseRunner
from .session import Session


class PieceInterpreter:
    """Compiles every piece with the fake values it gets, in the fake mode of the graph's own placeholders."""

    def __init__(self, split: Split, compiler: PieceCompiler, session: Session, known: frozenset[str]) -> None:
        self._split = split
        self._compiler = compiler
        self._session = session
        self._known = known

    def place_runners(self) -> list[PiecewiseRunner]:
        """Replace the pieces in the root module; the runners come in the order of the pieces, eager ones left out."""
        runners: list[PiecewiseRunner] = []
        root = self._split.root
        for piece in self._split.pieces:
            name = f"piece_{piece.index}"
            module = getattr(root, name)
            if piece.kind == "eager":
                root.__dict__[name] = module.forward  # without the hooks of a module's call
                continue
            runner = self._runner(piece, module)
            root.__dict__[name] = runner
            runners.append(runner)
        return runners

    def _runner(self, piece: Piece, module: Any) -> PiecewiseRunner:
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        values = [node.meta.get("example_value") for node in placeholders]
        facts = examine(module)
        general, same_as = self._compiler.compile(piece.index, module, facts)
        own_key, _ = keys.reader(values, self._known)
        return PiecewiseRunner(
            replace(piece, same_as=same_as),
            general,
            self._session,
            stays=frozenset(index for index, node in enumerate(placeholders) if node.meta.get("stays")),
            changed=_changed(values, facts.values()),
            own_key=own_key,
            random=any(fact.random for fact in facts.values()),
        )


def _changed(values: Sequence[Any], facts: Any) -> frozenset[int]:
    """Positions of the inputs whose memory some node of the piece writes."""
    written: set[int] = set()
    for fact in facts:
        assert isinstance(fact, NodeFacts)
        written |= fact.mutates
    return frozenset(
        index
        for index, value in enumerate(values)
        if hasattr(value, "untyped_storage") and storage_of(value) in written
    )
