"""The state of one call that is being walked, and what a graph break at its current place would cost.

Dynamo's rules (``torch/_dynamo/symbolic_convert.py``, 2.13): ``maybe_has_backedge`` throws the whole frame away when a
jump backwards comes before the next return; ``should_compile_partial_graph`` refuses to resume inside ``try`` and
inside context managers that it cannot restore; a break in an inlined function is charged to its caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional, Protocol

import libcst as cst

from .code import Code
from .loading import Loader
from .scopes import Scope
from .values import Class, Function, Value

RESUMABLE_CONTEXTS = frozenset(
    {
        "torch.no_grad",
        "torch.enable_grad",
        "torch.set_grad_enabled",
        "torch.inference_mode",
        "torch.autocast",
        "torch.amp.autocast",
        "torch.cuda.amp.autocast",
        "torch.cpu.amp.autocast",
        "torch.autograd.profiler.record_function",
        "torch.profiler.record_function",
        "contextlib.nullcontext",
    }
)
"""Context managers that Dynamo exits and enters again around a break (``block_stack`` entries that can be restored)."""


class Engine(Protocol):
    """What the operations on values need of the interpreter that walks the code."""

    python_version: tuple[int, int]
    loader: Loader
    """Resolves imports."""
    exhausted: bool
    """The budget of the walk is spent: nothing more is walked."""
    current_class: Optional[Class]
    """The class whose body is being executed."""
    contained: set[int]
    """``id`` of the nodes of classes of which another module builds objects."""
    cut: dict[int, str]
    """Functions that Dynamo does not enter, by ``id`` of their node, and why."""
    stored_outside_init: dict[int, set[str]]
    """Attributes that methods other than the constructor assign, by ``id`` of the node of the class."""

    # Walking.

    def evaluate(self, frame: Frame, node: cst.CSTNode) -> Value: ...

    def test(self, frame: Frame, node: cst.BaseExpression, kind: str, statement: cst.CSTNode) -> Optional[bool]: ...

    def assign(self, frame: Frame, target: cst.CSTNode, value: Value) -> None: ...

    def read_attribute(self, frame: Frame, node: cst.CSTNode, receiver: Value, name: str) -> Value: ...

    def call(
        self, frame: Frame, node: cst.Call, callee: Value, arguments: tuple[Value, ...], keywords: dict[str, Value]
    ) -> Value:
        """Call any value."""
        ...

    def call_function(
        self,
        caller: Optional[Frame],
        function: Function,
        arguments: tuple[Value, ...],
        keywords: dict[str, Value],
        node: Optional[cst.CSTNode],
        quiet: bool = False,
        root: bool = False,
    ) -> Value:
        """Walk the body of an analysed function."""
        ...

    def announce(self, operation: Operation) -> None:
        """Tell who listens of an operation, if Dynamo would see it."""
        ...

    # Names and decorators.

    def name_in(self, scope: Scope, node: cst.BaseExpression) -> str: ...

    def resolve(self, frame: Frame, node: cst.BaseExpression) -> Value: ...

    def decorators(self, function: Function) -> tuple[str, ...]: ...

    def decorator_name(self, scope: Scope, decorator: cst.Decorator) -> str: ...

    def decorate(self, frame: Frame, value: Value, decorator: cst.Decorator) -> Value: ...

    # What is noted about a file.

    def defined(self, value: Value) -> None: ...

    def constructed(self, frame: Frame, target: cst.CSTNode, statement: cst.Assign, value: Value) -> None: ...

    def configured(self, frame: Frame, name: str, value: object) -> None:
        """``torch._dynamo.config.name`` is set."""
        ...

    def compile_site(
        self, frame: Frame, node: cst.CSTNode, target: Optional[Value], keywords: dict[str, Value], form: str = ""
    ) -> None:
        """Something is given to ``torch.compile``."""
        ...


@dataclass(frozen=True)
class Operation:
    """Base: where it happens, and whether the value it is about is certain or one of several alternatives."""

    node: cst.CSTNode
    frame: Frame
    sure: bool


@dataclass
class Block:
    """A compound statement around the current place: ``loop``, ``try``, ``with``, ``comprehension``."""

    kind: str
    node: cst.CSTNode
    resumable: bool = True
    depth: int = 0
    """Index of the block's body in the frame's ``statements``."""
    escaped: list[dict[str, Value]] = field(default_factory=list[dict[str, Value]])
    """Names at every ``break`` and ``continue`` out of a loop body."""


@dataclass
class Frame:
    """One call in progress."""

    interpreter: Engine
    module: Code
    scope: Scope
    function: Optional[Function] = None
    parent: Optional[Frame] = None
    traced: bool = False
    """Would Dynamo trace it? Code outside compiled regions is walked too, to find the regions."""
    blocks: list[Block] = field(default_factory=list[Block])
    statements: list[tuple[list[cst.CSTNode], int]] = field(default_factory=list[tuple[list[cst.CSTNode], int]])
    """Innermost last: the statement lists being executed, and the place in each."""
    returned: Optional[Value] = None
    yielded: Optional[Value] = None
    dead: bool = False
    """The current path has ended (return, raise, break, continue)."""
    conditional: int = 0
    """How many branches that may not be taken surround the current place."""
    depth: int = 0
    call: Optional[cst.CSTNode] = None
    """Where the frame around it calls it."""
    lost: bool = False
    """A break before the current place made Dynamo skip the whole frame."""

    @property
    def name(self) -> str:
        return self.function.qualified_name if self.function else "<module>"

    def root(self) -> Frame:
        """The frame that Dynamo was called for: the outermost traced one."""
        frame = self
        while frame.parent is not None and frame.parent.traced:
            frame = frame.parent
        return frame

    def at_first_statement(self) -> bool:
        """Has nothing of the function run before the current statement? Then there is nothing to compile."""
        return len(self.statements) <= 1 and (not self.statements or self.statements[0][1] == 0)

    def breaking_skips(self) -> bool:
        """Would a break here make Dynamo skip the whole frame, and run all of it eagerly?"""
        frame: Optional[Frame] = self
        while frame is not None and frame.traced:
            # Before 3.12 a comprehension is a function of its own: the frame around it goes on behind it.
            inlined = frame.interpreter.python_version >= (3, 12)
            if any(block.kind == "try" or (block.kind == "comprehension" and inlined) for block in frame.blocks):
                return True
            if any(block.kind == "with" and not block.resumable for block in frame.blocks):
                return True
            if frame.has_backedge():
                return True
            frame = frame.parent
        return False

    def has_backedge(self) -> bool:
        """Does a jump backwards come before the next return, from the current place on?"""
        if not any(block.kind == "loop" for block in self.blocks):
            return False
        ends = {block.depth for block in self.blocks if block.kind == "loop"}
        for depth in range(len(self.statements) - 1, -1, -1):
            body, index = self.statements[depth]
            here = body[index]
            following = [*_bodies(here), *body[index + 1 :]] if depth == len(self.statements) - 1 else body[index + 1 :]
            for later in following:
                event = next(_jumps([later]), None)
                if event is not None:
                    return event == "back"
            if depth in ends:
                return True
        return True


def _bodies(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The statements of an ``if`` or ``while``, in the order of the bytecode; none for anything else."""
    if not isinstance(node, (cst.If, cst.While)):
        return []
    found: list[cst.CSTNode] = list(getattr(getattr(node, "body", None), "body", ()))
    orelse = getattr(node, "orelse", None)
    if orelse is not None:
        found += [orelse] if isinstance(orelse, cst.If) else list(orelse.body.body)
    return found


def _jumps(nodes: list[cst.CSTNode]) -> Iterator[str]:
    """``return`` and ``back`` in textual order."""
    for node in nodes:
        if isinstance(node, cst.Return):
            yield "return"
        elif isinstance(node, cst.Continue):
            yield "back"
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            continue
        elif isinstance(node, cst.SimpleStatementLine):
            yield from _jumps(list(node.body))
        elif isinstance(node, cst.If):
            yield from _jumps(_bodies(node))
        elif isinstance(node, (cst.With, cst.Try, cst.For, cst.While)):
            body = node.body
            yield from _jumps(list(body.body))
            # The jump back of an inner loop that starts later does not lead before the current place.
