"""Which reads of a name a definition reaches: def-use chains over the statements of a file, without any values.

A *variable* is a name, or a dotted path of names (``self.net``). Inside one function the answer depends on the order of
statements; where a name is read in another function than the one that binds it, every binding may reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Optional

import libcst as cst

from .code import Code, dotted_name

MAX_PASSES = 4
"""Passes over a loop body; reaching definitions of structured code settle in two."""


@dataclass(eq=False)
class Definition:
    """One place that binds a variable."""

    path: str
    target: Optional[cst.CSTNode]
    """The name or attribute that is bound; ``None`` for what the surroundings had bound before."""
    value: Optional[cst.BaseExpression] = None
    """What is bound, where that is one expression."""
    kind: str = "assign"
    """``assign``, ``parameter``, ``loop``, ``import``, ``definition``, ``other``, ``outer``."""
    place: Optional[Place] = None
    reads: list[Read] = field(default_factory=list["Read"])


@dataclass(eq=False)
class Read:
    """One place that reads a variable."""

    node: cst.CSTNode
    path: str
    place: Place
    definitions: list[Definition] = field(default_factory=list[Definition])


@dataclass(eq=False)
class Place:
    """A namespace: the module, a class body, a function or lambda."""

    node: cst.CSTNode
    parent: Optional[Place] = None
    first_parameter: str = ""
    """Name of the first parameter of a method: ``self``."""
    bound: dict[str, list[Definition]] = field(default_factory=dict[str, "list[Definition]"])
    shared: set[str] = field(default_factory=set[str])
    """Names that are declared ``global`` or ``nonlocal``."""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, cst.ClassDef)

    @property
    def owner(self) -> Optional[Place]:
        """The class whose method this is."""
        return self.parent if self.parent is not None and self.parent.is_class else None


State = dict[str, frozenset[Definition]]


@cache
def _fields(kind: type) -> tuple[str, ...]:
    skipped = ("whitespace", "leading", "trailing", "lines_after", "comma", "lpar", "rpar", "lbracket", "rbracket")
    skipped = (*skipped, "semicolon", "header", "footer", "colon", "equal", "asynchronous", "dot")
    return tuple(name for name in kind.__dataclass_fields__ if not name.startswith(skipped))  # type: ignore[attr-defined]


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly inside one, in the order of the text, without white space and punctuation."""
    for name in _fields(type(node)):
        value: Any = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:  # type: ignore[misc]
                if isinstance(item, cst.CSTNode):
                    yield item


class Flow:
    """Definitions and reads of one file."""

    def __init__(self, tree: cst.Module) -> None:
        self.parents: dict[int, cst.CSTNode] = {}
        """The node around a node, by ``id``; expressions and statements that were walked."""
        self.reads: dict[int, Read] = {}
        self.definitions: dict[int, Definition] = {}
        """By ``id`` of the target."""
        self.order: dict[int, int] = {}
        """Sequence in which reads and calls are evaluated, by ``id``; only within one function it means anything."""
        self.places: dict[int, Place] = {}
        """Around a statement, by ``id``."""
        self.attributes: set[str] = set()
        """Names of all attributes that are read anywhere, of whatever object."""
        self.calls: list[cst.Call] = []
        self.item_stores: list[tuple[cst.Subscript, Optional[cst.BaseExpression]]] = []
        """Assignments ``receiver[index] = value``."""
        self.module = Place(tree)
        self._queue: list[tuple[Place, list[cst.CSTNode], Optional[cst.Parameters]]] = []
        _Walker(self, self.module).run(list(tree.body), None)
        while self._queue:
            place, body, parameters = self._queue.pop()
            _Walker(self, place).run(body, parameters)
        self._link()

    def later(self, place: Place, body: list[cst.CSTNode], parameters: Optional[cst.Parameters]) -> None:
        """Walk the body of a function once everything around it has been walked."""
        self._queue.append((place, body, parameters))

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around one, innermost first, up to the module."""
        while True:
            parent = self.parents.get(id(node))
            if parent is None:
                return
            yield parent
            node = parent

    def statement(self, node: cst.CSTNode) -> Optional[cst.SimpleStatementLine]:
        """The line of simple statements that holds an expression."""
        for outer in self.ancestors(node):
            if isinstance(outer, cst.SimpleStatementLine):
                return outer
        return None

    def place(self, node: cst.CSTNode) -> Place:
        """The function, class body or module that an expression is evaluated in."""
        if id(node) in self.places:
            return self.places[id(node)]
        for outer in self.ancestors(node):
            found = self.places.get(id(outer))
            if found is not None:
                return found
        return self.module

    def _link(self) -> None:
        """Join reads with definitions of other functions: closures, globals, attributes of one class."""
        for read in self.reads.values():
            outer = [d for d in read.definitions if d.kind == "outer"]
            if not outer:
                continue
            read.definitions = [d for d in read.definitions if d.kind != "outer"]
            for definition in self._elsewhere(read):
                if definition not in read.definitions:
                    read.definitions.append(definition)
                    definition.reads.append(read)

    def _elsewhere(self, read: Read) -> list[Definition]:
        """Definitions of a variable outside the function that reads it."""
        first, dot, rest = read.path.partition(".")
        place: Optional[Place] = read.place
        while place is not None:
            if dot and place.owner is not None and first == place.first_parameter:
                return place.owner.bound.get(f"self.{rest}", [])
            if place is not read.place and not place.is_class and read.path in place.bound:
                return place.bound[read.path]
            if dot and place is read.place and first in place.bound and first not in place.shared:
                return []  # an attribute of a local object
            place = place.parent
        return []


class _Walker:
    """Walks the statements of one namespace in order and keeps what reaches them."""

    def __init__(self, flow: Flow, place: Place) -> None:
        self.flow = flow
        self.place = place
        self.state: Optional[State] = {}
        """``None`` where the code cannot be reached."""
        self._exits: list[tuple[list[State], list[State]]] = []
        """States at ``break`` and at ``continue``, for the loops around the current place."""
        self._made: list[list[Definition]] = []
        self._outer: dict[str, Definition] = {}
        self._split: set[str] = set()
        """Paths of which a longer one was bound: only those need looking for what they end."""

    def run(self, body: list[cst.CSTNode], parameters: Optional[cst.Parameters]) -> None:
        if parameters is not None:
            for parameter in _all(parameters):
                self.define(parameter.name, parameter.name.value, None, "parameter")
        self.block(body, None)

    # --- variables -------------------------------------------------------------------------------------------------

    def before(self, path: str) -> Definition:
        """Stands for whatever a variable held before this namespace bound it."""
        found = self._outer.get(path)
        if found is None:
            found = self._outer[path] = Definition(path, None, kind="outer")
        return found

    def define(self, target: cst.CSTNode, path: str, value: Optional[cst.BaseExpression], kind: str) -> None:
        definition = self.flow.definitions.get(id(target))
        if definition is None:
            definition = Definition(path, target, value, kind, self.place)
            self.flow.definitions[id(target)] = definition
            self._register(definition)
        if self._made:
            self._made[-1].append(definition)
        if self.state is not None:
            if path in self._split:
                prefix = path + "."
                for other in [name for name in self.state if name.startswith(prefix)]:
                    del self.state[other]
            parts = path.split(".")
            self._split.update(".".join(parts[:count]) for count in range(1, len(parts)))
            self.state[path] = frozenset((definition,))

    def _register(self, definition: Definition) -> None:
        first, dot, rest = definition.path.partition(".")
        place = self.place
        if dot and place.owner is not None and first == place.first_parameter:
            place.owner.bound.setdefault(f"self.{rest}", []).append(definition)
            return
        while first in place.shared and place.parent is not None:
            place = place.parent
        place.bound.setdefault(definition.path, []).append(definition)

    def read(self, node: cst.CSTNode, path: str) -> None:
        self.flow.order.setdefault(id(node), len(self.flow.order))
        read = self.flow.reads.get(id(node))
        if read is None:
            read = self.flow.reads[id(node)] = Read(node, path, self.place)
        reaching = (self.state or {}).get(path) or (self.before(path),)
        for definition in reaching:
            if definition not in read.definitions:
                read.definitions.append(definition)
                definition.reads.append(read)

    def merge(self, *states: Optional[State]) -> Optional[State]:
        """What may reach a place from several paths."""
        alive = [state for state in states if state is not None]
        if len(alive) < 2:
            return dict(alive[0]) if alive else None
        merged: State = {}
        for path in {path for state in alive for path in state}:
            merged[path] = frozenset().union(*(s.get(path) or (self.before(path),) for s in alive))
        return merged

    # --- expressions -----------------------------------------------------------------------------------------------

    def expression(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        self.flow.parents[id(node)] = parent
        kind = type(node)
        if kind is cst.Name:
            self.read(node, node.value)  # type: ignore[attr-defined]
        elif isinstance(node, cst.Attribute):
            self.expression(node.value, node)
            self.flow.attributes.add(node.attr.value)
            path = dotted_name(node)
            if path:
                self.read(node, path)
        elif isinstance(node, cst.Lambda):
            self._function(node, [node.body], node.params)
        elif isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)):
            self._comprehension(node)
        elif isinstance(node, cst.NamedExpr):
            self.expression(node.value, node)
            self.target(node.target, node, node.value)
        elif isinstance(node, cst.Arg):
            self.expression(node.value, node)
        else:
            for part in parts(node):
                self.expression(part, node)
            if isinstance(node, cst.Call) and id(node) not in self.flow.order:
                self.flow.order[id(node)] = len(self.flow.order)
                self.flow.calls.append(node)

    def _comprehension(self, node: Any) -> None:
        loop: Optional[cst.CompFor] = node.for_in
        saved = dict(self.state) if self.state is not None else None
        outer: cst.CSTNode = node
        while loop is not None:
            self.flow.parents[id(loop)] = outer
            self.expression(loop.iter, loop)
            self.target(loop.target, loop, None, "loop")
            for condition in loop.ifs:
                self.expression(condition, loop)
            outer, loop = loop, loop.inner_for_in
        for part in (node.key, node.value) if isinstance(node, cst.DictComp) else (node.elt,):
            self.expression(part, node)
        self.state = saved

    def _function(self, node: Any, body: list[cst.CSTNode], parameters: cst.Parameters) -> None:
        """Defaults are evaluated here and now; the body later, in a namespace of its own."""
        self.flow.parents.setdefault(id(parameters), node)
        names = [parameter.name.value for parameter in _all(parameters)]
        for parameter in _all(parameters):
            if parameter.default is not None:
                self.expression(parameter.default, node)
        place = Place(node, self.place, names[0] if names and self.place.is_class else "")
        if isinstance(node, cst.Lambda):
            self.flow.places[id(node.body)] = place
        for statement in body:
            self.flow.parents[id(statement)] = node
        self.flow.later(place, body, parameters)

    def target(
        self,
        node: cst.CSTNode,
        parent: cst.CSTNode,
        value: Optional[cst.BaseExpression],
        kind: str = "assign",
    ) -> None:
        """Bind what stands on the left of an assignment."""
        self.flow.parents[id(node)] = parent
        if isinstance(node, cst.Name):
            self.define(node, node.value, value, kind)
        elif isinstance(node, cst.Attribute):
            self.expression(node.value, node)
            path = dotted_name(node)
            if path:
                self.define(node, path, value, kind)
        elif isinstance(node, (cst.Tuple, cst.List)):
            values: list[Optional[cst.BaseExpression]] = [None] * len(node.elements)
            if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(node.elements):
                values = [element.value for element in value.elements]
            for element, part in zip(node.elements, values):
                self.flow.parents[id(element)] = node
                self.target(element.value, element, part, kind if part is not None or kind == "loop" else "other")
        elif isinstance(node, cst.Subscript):
            self.flow.item_stores.append((node, value))
            for part in parts(node):
                self.expression(part, node)

    # --- statements ------------------------------------------------------------------------------------------------

    def block(self, body: list[cst.CSTNode], parent: Optional[cst.CSTNode]) -> None:
        for statement in body:
            if parent is not None:
                self.flow.parents[id(statement)] = parent
            self.flow.places.setdefault(id(statement), self.place)
            self.statement(statement)

    def suite(self, node: Any) -> None:
        """The statements of a compound statement, on lines of their own or behind the colon."""
        self.flow.parents[id(node.body)] = node
        self.block(list(node.body.body), node.body)

    def statement(self, node: cst.CSTNode) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)
            return
        for part in parts(node):
            self.expression(part, node)
        if isinstance(node, (cst.Return, cst.Raise)):
            self.state = None

    def line(self, node: cst.SimpleStatementLine) -> None:
        self.block(list(node.body), node)

    def assign(self, node: cst.Assign) -> None:
        self.expression(node.value, node)
        for target in node.targets:
            self.flow.parents[id(target)] = node
            self.target(target.target, target, node.value)

    def annotated(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.expression(node.value, node)
            self.target(node.target, node, node.value)

    def augmented(self, node: cst.AugAssign) -> None:
        self.expression(node.value, node)
        self.target(node.target, node, None, "other")

    def delete(self, node: cst.Del) -> None:
        self.expression(node.target, node)
        path = dotted_name(node.target)
        if path and self.state is not None:
            self.state[path] = frozenset()

    def imported(self, node: Any) -> None:
        for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
            bound = alias.asname.name if alias.asname is not None else alias.name
            while isinstance(bound, cst.Attribute):
                bound = bound.value
            if isinstance(bound, cst.Name):
                self.define(bound, bound.value, None, "import")

    def declared(self, node: Any) -> None:
        self.place.shared.update(item.name.value for item in node.names)

    def jump(self, node: cst.CSTNode) -> None:
        if self._exits and self.state is not None:
            self._exits[-1][isinstance(node, cst.Continue)].append(self.state)
        self.state = None

    def condition(self, node: cst.If) -> None:
        self.expression(node.test, node)
        before = self.merge(self.state)
        self.suite(node)
        after, self.state = self.state, before
        if node.orelse is not None:
            self.flow.parents[id(node.orelse)] = node
            if isinstance(node.orelse, cst.If):
                self.flow.places.setdefault(id(node.orelse), self.place)
                self.condition(node.orelse)
            else:
                self.suite(node.orelse)
        self.state = self.merge(after, self.state)

    def loop(self, node: Any) -> None:
        if isinstance(node, cst.For):
            self.expression(node.iter, node)
        entry = self.merge(self.state)
        leaving: list[State] = []
        for _ in range(MAX_PASSES):
            start = self.merge(entry)
            self.state = self.merge(entry)
            breaks: list[State] = []
            continues: list[State] = []
            self._exits.append((breaks, continues))
            if isinstance(node, cst.While):
                self.expression(node.test, node)
            else:
                self.target(node.target, node, None, "loop")
            self.suite(node)
            self._exits.pop()
            leaving += breaks
            entry = self.merge(entry, self.state, *continues)
            if entry == start:
                break
        self.state = entry
        if node.orelse is not None:
            self.flow.parents[id(node.orelse)] = node
            self.suite(node.orelse)
        self.state = self.merge(self.state, *leaving)

    def with_(self, node: cst.With) -> None:
        for item in node.items:
            self.flow.parents[id(item)] = node
            self.expression(item.item, item)
            if item.asname is not None:
                self.target(item.asname.name, item, None, "other")
        self.suite(node)

    def try_(self, node: Any) -> None:
        before = self.merge(self.state)
        self._made.append([])
        self.suite(node)
        made = self._made.pop()
        after = self.state
        interrupted = self.merge(before, after) or {}
        for definition in made:
            old = interrupted.get(definition.path) or frozenset((self.before(definition.path),))
            interrupted[definition.path] = old | {definition}
        if self._made:
            self._made[-1] += made
        ends: list[Optional[State]] = []
        for handler in node.handlers:
            self.flow.parents[id(handler)] = node
            self.state = self.merge(interrupted)
            if handler.type is not None:
                self.expression(handler.type, handler)
            if handler.name is not None:
                self.target(handler.name.name, handler, None, "other")
            self.suite(handler)
            ends.append(self.state)
        self.state = after
        if node.orelse is not None:
            self.flow.parents[id(node.orelse)] = node
            self.suite(node.orelse)
        self.state = self.merge(self.state, *ends)
        if node.finalbody is not None:
            ended = self.state is None
            self.state = self.merge(self.state, interrupted)
            self.flow.parents[id(node.finalbody)] = node
            self.suite(node.finalbody)
            if ended:
                self.state = None

    def match(self, node: cst.Match) -> None:
        self.expression(node.subject, node)
        before = self.merge(self.state)
        ends: list[Optional[State]] = [before]
        for case in node.cases:
            self.flow.parents[id(case)] = node
            self.state = self.merge(before)
            self._pattern(case.pattern, case)
            if case.guard is not None:
                self.expression(case.guard, case)
            self.suite(case)
            ends.append(self.state)
        self.state = self.merge(*ends)

    def _pattern(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        """Names in a pattern are bound, the rest of it is read by nobody we follow."""
        self.flow.parents[id(node)] = parent
        if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
            self.define(node.name, node.name.value, None, "other")
        for part in parts(node):
            if isinstance(part, (cst.MatchPattern, cst.MatchSequenceElement, cst.MatchKeywordElement)):
                self._pattern(part, node)

    def function(self, node: cst.FunctionDef) -> None:
        for decorator in node.decorators:
            self.expression(decorator, node)
        self.define(node.name, node.name.value, None, "definition")
        self.flow.parents[id(node.name)] = node
        self.flow.parents[id(node.body)] = node
        self._function(node, list(node.body.body), node.params)
        for statement in node.body.body:
            self.flow.parents[id(statement)] = node.body

    def class_(self, node: cst.ClassDef) -> None:
        for part in (*node.decorators, *node.bases, *node.keywords):
            self.expression(part, node)
        self.define(node.name, node.name.value, None, "definition")
        place = Place(node, self.place)
        self.flow.parents[id(node.body)] = node
        for statement in node.body.body:
            self.flow.parents[id(statement)] = node.body
        self.flow.later(place, list(node.body.body), None)


_HANDLERS: dict[type, Any] = {
    cst.SimpleStatementLine: _Walker.line,
    cst.Assign: _Walker.assign,
    cst.AnnAssign: _Walker.annotated,
    cst.AugAssign: _Walker.augmented,
    cst.Del: _Walker.delete,
    cst.Import: _Walker.imported,
    cst.ImportFrom: _Walker.imported,
    cst.Global: _Walker.declared,
    cst.Nonlocal: _Walker.declared,
    cst.Break: _Walker.jump,
    cst.Continue: _Walker.jump,
    cst.If: _Walker.condition,
    cst.For: _Walker.loop,
    cst.While: _Walker.loop,
    cst.With: _Walker.with_,
    cst.Try: _Walker.try_,
    cst.TryStar: _Walker.try_,
    cst.Match: _Walker.match,
    cst.FunctionDef: _Walker.function,
    cst.ClassDef: _Walker.class_,
}


def _all(parameters: cst.Parameters) -> list[cst.Param]:
    rest = [p for p in (parameters.star_arg, parameters.star_kwarg) if isinstance(p, cst.Param)]
    return [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params, *rest]


def flow_of(module: Code) -> Flow:
    """The flow of a file, made when somebody asks for it."""
    flow: Optional[Flow] = module.derived.get("flow")
    if flow is None:
        flow = module.derived["flow"] = Flow(module.tree)
    return flow
