"""What a rule is: a check of operations on values, with the examples that prove it against the real Dynamo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Optional

import libcst as cst

from ..fixes.edit import Fix
from ..knowledge.versions import ALWAYS, NEWEST, Interval, Version
from ..semantics.contracts import Contract
from ..semantics.interpreter import Interpreter
from ..semantics.modules import SourceModule
from ..semantics.operations import Operation
from ..text.source import Range

EFFECTS = ("graph-break", "recompile", "wrong-result", "contract", "performance", "misuse", "info")


@dataclass(frozen=True)
class Text:
    """One text in the languages that we speak."""

    en: str
    zh: str

    def in_locale(self, locale: str) -> str:
        return self.zh if locale.lower().startswith("zh") else self.en


@dataclass(frozen=True)
class Context:
    """What holds in the compiled region that an operation stands in."""

    version: Version = NEWEST
    python_version: tuple[int, int] = (3, 11)
    fullgraph: bool = False
    settings: dict[str, object] = field(default_factory=dict[str, object])
    """``torch._dynamo.config`` as the file sets it."""
    contract: Optional[Contract] = None
    """What the framework that compiles the region asks beyond Dynamo."""

    @property
    def captures_scalars(self) -> bool:
        """Does Dynamo put ``.item()`` into the graph? With ``fullgraph=True`` only since 2.8 or later.

        Seen on 2.13 (``OutputGraph``: ``one_graph or config.capture_scalar_outputs``); not on 2.5.1 and 2.7.1.
        """
        default = self.fullgraph and self.version >= (2, 8, 0)
        return bool(self.settings.get("capture_scalar_outputs", default)) or default

    @property
    def captures_dynamic_shapes(self) -> bool:
        """Does Dynamo put operators with data-dependent output shapes into the graph?"""
        default = self.fullgraph and self.version >= (2, 8, 0)
        return bool(self.settings.get("capture_dynamic_output_shape_ops", default)) or default


@dataclass(frozen=True)
class Hit:
    """A rule applies to an operation: where, why, and what it knows besides."""

    node: cst.CSTNode
    reason: Text
    """One sentence that stands alone; the cost of the break and the remedy are added behind it."""
    remedy: Optional[Text] = None
    gb_types: tuple[str, ...] = ()
    sure: bool = True
    resumes: bool = True
    """Can Dynamo go on behind it? If not, what stands before it is compiled and the rest runs eagerly."""
    replacement: str = ""
    """What to write in place of the node, where that alone mends it."""


@dataclass(frozen=True)
class FileView:
    """A whole file, for rules about what is compiled in it."""

    interpreter: Interpreter
    compiled: frozenset[int]
    """``id`` of the nodes of functions that were walked in compiled regions."""
    scope: str
    """``regions``, ``candidates`` or ``all``."""
    unresolved: dict[int, str]
    """Why what a site compiles was not followed, by ``id`` of the site's node."""
    torch_folder: str = ""
    """Of the installed torch, whose files say what it accepts; empty where there is none."""


@dataclass(frozen=True)
class Place:
    """A hit with its surroundings in the text, for building fixes."""

    hit: Hit
    interpreter: Interpreter
    statement: Optional[cst.CSTNode]
    """The innermost statement around the hit; the line, for simple ones."""
    locate: Callable[[list[cst.CSTNode]], dict[int, Range]]
    """Ranges of nodes of the file, by ``id``."""
    module: SourceModule
    """The file."""


@dataclass(frozen=True)
class Example:
    """A small program that proves a rule. It defines ``f`` (or ``make()`` that builds it) and ``inputs()``.

    Lines that must break end in the comment ``# breaks``; ``fixed`` is the rewrite of an INVALID one. Where the effect
    is misuse, performance or info, the program defines ``assertion(captured_operations)`` instead, which asserts the
    harm or its absence with the number of operations that a call puts into graphs.
    """

    code: str
    fixed: Optional[str] = None
    gb_types: tuple[str, ...] = ()
    calls: int = 2


class Rule:
    """Base of all rules; a subclass fills in the class attributes and `check`."""

    code: ClassVar[str]
    name: ClassVar[str]
    effect: ClassVar[str]
    summary: ClassVar[Text]
    """What it is about, for lists."""
    explanation: ClassVar[str]
    """Why Dynamo does that and what to write instead, in Markdown, for the rule's page and the hover."""
    operations: ClassVar[tuple[type[Operation], ...]]
    """Operations that the rule wants to see."""
    gb_types: ClassVar[tuple[str, ...]] = ()
    """Dynamo's own names for the breaks that it predicts."""
    versions: ClassVar[Interval] = ALWAYS
    """Torch versions on which the examples were seen to prove it."""
    proven_on: ClassVar[tuple[str, ...]] = ("2.13.0",)
    invalid: ClassVar[tuple[Example, ...]] = ()
    valid: ClassVar[tuple[Example, ...]] = ()

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        """Hits of one operation; none for most."""
        return iter(())

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        """Hits of a whole file, for rules that look at what is compiled rather than at operations."""
        return iter(())

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        """Edits that mend a hit; by default none is known."""
        return []
