"""What the rules say while a file's regions are walked: hits, each at the place where its user can do something."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

import libcst as cst

from ..rules.registry import rules_by_operation
from ..rules.rule import Context, Hit, Rule
from ..semantics.code import Code
from ..semantics.frames import Frame
from ..semantics.interpreter import Interpreter
from ..semantics.modules import CompileSite
from ..semantics.operations import Operation
from .options import Options

RANK = {"candidate": 0, "likely": 1, "certain": 2}


@dataclass(frozen=True)
class Inside:
    """Where in an installed package a break is that is reported at the user's line which calls into it."""

    code: Code
    node: cst.CSTNode
    function: str


@dataclass
class Record:
    """What is known of one hit after all walks."""

    rule: Rule
    hit: Hit
    code: Code
    """The file in which it is reported."""
    node: cst.CSTNode
    """Where in that file: the hit's own node, or the call that leads into an installed package."""
    statement: Optional[cst.CSTNode]
    certainty: str
    region: str
    skipped: bool
    function: str
    root: str
    site: Optional[CompileSite] = None
    """What compiles it; none for candidates and for what is said of a whole file."""
    inside: Optional[Inside] = None
    behind: bool = False
    """A break before it already sends the whole frame to eager."""
    fullgraph: bool = False


@dataclass
class Walk:
    """Collects the hits of the walks of one entry file."""

    options: Options
    interpreter: Interpreter
    context: Context = field(default_factory=Context)
    records: dict[tuple[str, int], Record] = field(default_factory=dict[tuple[str, int], Record])
    region: str = ""
    site: Optional[CompileSite] = None
    candidate: bool = False
    walked: set[int] = field(default_factory=set[int])
    """``id`` of the nodes of all functions that were walked."""
    compiled: set[int] = field(default_factory=set[int])
    """Those of them that a compile site reaches."""
    functions: set[int] = field(default_factory=set[int])
    """Those that the present site reaches."""
    files: set[str] = field(default_factory=set[str])
    """Paths of the files that they are in."""

    def reached(self, code: Code, node: cst.CSTNode) -> None:
        self.walked.add(id(node))
        if not self.candidate:
            self.compiled.add(id(node))
            self.functions.add(id(node))
            self.files.add(code.path)

    def __call__(self, operation: Operation) -> None:
        frame = operation.frame
        if frame.function is not None:
            self.reached(frame.module, frame.function.node)
        for rule in rules_by_operation().get(type(operation), ()):
            if self.options.wants(rule.code) and self.context.version in rule.versions:
                for hit in rule.check(operation, self.context):
                    self.note(rule, hit, frame)

    def note(self, rule: Rule, hit: Hit, frame: Optional[Frame], code: Optional[Code] = None) -> None:
        """A rule applies; ``code``: the file, where no frame says it."""
        certainty = "candidate" if self.candidate else "certain" if hit.sure else "likely"
        breaks = rule.effect == "graph-break"
        first = frame is not None and frame.at_first_statement()
        skipped = breaks and ((not hit.resumes and first) or (frame is not None and frame.breaking_skips()))
        shown, node, inside = frame, hit.node, None
        if frame is not None:
            code = frame.module
            if not self.interpreter.loader.owns(code):
                shown, node, inside = self._outside(frame, hit.node)
                code = shown.module if shown is not None else self.site.module if self.site is not None else code
        if code is None:
            code = self.interpreter.module
        key = rule.code, id(node)
        old = self.records.get(key)
        if old is not None:
            old.skipped = old.skipped or skipped
            if RANK[certainty] > RANK[old.certainty]:
                old.certainty, old.region, old.site = certainty, self.region, self.site
            return
        statement: Optional[cst.CSTNode] = None
        if shown is not None and shown.statements:
            body, index = shown.statements[-1]
            statement = body[index]
        root = frame.root() if frame is not None else None
        behind = breaks and root is not None and root.lost and not skipped
        if skipped and root is not None:
            root.lost = True
        self.records[key] = Record(
            rule,
            hit,
            code,
            node,
            statement,
            certainty,
            self.region,
            skipped,
            shown.name if shown is not None else "",
            root.name if root is not None and root.function is not None else "",
            self.site if frame is not None and not self.candidate else None,
            inside,
            behind,
            self.context.fullgraph and not self.candidate,
        )

    def _outside(self, frame: Frame, node: cst.CSTNode) -> tuple[Optional[Frame], cst.CSTNode, Inside]:
        """The nearest frame of the project around one of an installed package, and the call in it."""
        inside = Inside(frame.module, node, frame.name)
        inner: Frame = frame
        outer = frame.parent
        while outer is not None and outer.traced and not self.interpreter.loader.owns(outer.module):
            inner, outer = outer, outer.parent
        if outer is None or not outer.traced or inner.call is None:
            return None, self.site.node if self.site is not None else node, inside
        return outer, inner.call, inside
