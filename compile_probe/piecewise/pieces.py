"""What is told of pieces: where the graph was cut and why, and what became of each piece."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from .names import Place

CaptureKey = tuple[Any, ...]
"""The values of all sizes that a graph or piece depends on; empty where every shape is fixed."""


@dataclass(frozen=True)
class Piece:
    """A run of nodes of one graph, in the order of the graph.

    ``kind`` is ``capture`` for a piece that may be captured, ``eager`` for one that was cut out; ``why`` says what cut
    it out. ``ops`` are ATen ops with their number, ``places`` the lines of user code in order of first appearance,
    ``modules`` the paths of the modules it belongs to.
    """

    graph: int
    index: int
    kind: str
    why: str
    ops: tuple[tuple[str, int], ...]
    places: tuple[Place, ...]
    modules: tuple[str, ...]
    nodes: int
    same_as: Optional[int] = None
    """The first piece of the graph with the same structure, whose compiled code it shares."""

    @property
    def name(self) -> str:
        """``0.3``: graph and piece, counted from 0."""
        return f"{self.graph}.{self.index}"


@dataclass
class Counts:
    """Calls of one piece and key, by the way they went."""

    general: int = 0
    captured: int = 0
    replayed: int = 0
    refused: int = 0
    recaptured: int = 0

    def add(self, other: Counts) -> None:
        """Add the counts of another key or piece."""
        for name in ("general", "captured", "replayed", "refused", "recaptured"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class KeyReport:
    """One key of one piece: its state (``cold``, ``warming``, ``captured``, ``refused``) and what it cost."""

    key: CaptureKey
    state: str
    reason: str
    counts: Counts
    seconds: Optional[float] = None
    bytes: Optional[int] = None


@dataclass(frozen=True)
class PieceReport:
    """A piece with what happened to it."""

    piece: Piece
    keys: tuple[KeyReport, ...] = ()

    @property
    def counts(self) -> Counts:
        """Of all keys."""
        total = Counts()
        for key in self.keys:
            total.add(key.counts)
        return total

    @property
    def state(self) -> str:
        """``eager`` for a piece that was cut out, else the furthest that any key came."""
        if self.piece.kind == "eager":
            return "eager"
        states = {key.state for key in self.keys}
        return next((state for state in ("captured", "refused", "warming", "cold") if state in states), "cold")


@dataclass
class Report:
    """All graphs of one compiled target."""

    pieces: list[PieceReport] = field(default_factory=list[PieceReport])
    notes: list[str] = field(default_factory=list[str])
