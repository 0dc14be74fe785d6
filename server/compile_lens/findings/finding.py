"""Findings and the analysis of a file, as data that may cross a process border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..fixes.draft import Draft
from ..fixes.edit import Fix
from ..text.source import Range


@dataclass(frozen=True)
class Related:
    """Another place that belongs to a finding: the compile site that leads to it."""

    path: str
    range: Range
    message: str


@dataclass(frozen=True)
class Finding:
    """What the scanner predicts at one place."""

    path: str
    range: Range
    code: str
    name: str
    effect: str
    certainty: str
    """``certain``, ``likely``, ``candidate`` (in no compiled region); a probe makes it ``confirmed`` or ``refuted``."""
    message: str
    """One line. Its first sentence stands alone; cost and remedy follow."""
    function: str
    """Qualified name of the function that holds the place."""
    region: str
    """What compiles it; empty for candidates."""
    frame_skipped: bool = False
    gb_types: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    related: tuple[Related, ...] = ()

    @property
    def counts(self) -> bool:
        """Does it make ``compile-lens check`` exit with 1?"""
        return self.certainty != "candidate" and self.effect != "info"


@dataclass(frozen=True)
class Site:
    """A place where something is given to ``torch.compile``, and what became of it."""

    range: Range
    state: str
    """``traced`` or ``unresolved``."""
    functions: int = 0
    """Functions that were walked from it."""
    reason: str = ""
    """Why it is unresolved."""
    path: str = ""
    """The file that it stands in."""
    files: int = 0
    """Files that those functions are in."""
    findings: int = 0


@dataclass(frozen=True)
class Target:
    """Something that can be probed."""

    name: str
    range: Range
    """The line of its definition."""
    kind: str
    """``module`` or ``function``."""
    draft: Optional[Draft] = None
    """Example inputs to write, where the file gives none."""


@dataclass(frozen=True)
class Offer:
    """A rewrite on offer in a range, without a finding."""

    range: Range
    fix: Fix


@dataclass(frozen=True)
class Analysis:
    """All that is known of one file, and what its compile sites lead to in others."""

    path: str
    findings: tuple[Finding, ...] = ()
    """Each says which file it stands in."""
    sites: tuple[Site, ...] = ()
    targets: tuple[Target, ...] = ()
    offers: tuple[Offer, ...] = ()
    error: Optional[str] = None
    """Why the file could not be analysed, in a sentence with the remedy."""
    error_line: Optional[int] = None
    dependencies: tuple[tuple[str, str], ...] = ()
    """Files that the result depends on, this one among them: path and digest of the text."""
    fault: Optional[str] = None
    """The traceback, where the error is a fault of the analyser; it goes into the log."""
