"""Execution of statements: assignments, control flow, definitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Optional

import libcst as cst

from .code import dotted_name
from .expressions import evaluate, index_value, test
from .finder import OPAQUE
from .frames import RESUMABLE_CONTEXTS, Block, Frame
from .iteration import element_of, iterate
from .narrowing import narrow
from .operations import AttributeStore, Call, ContextEntered, GlobalStore, Subscript
from .operators import binary, binary_operator
from .parameters import from_annotation
from .scopes import Scope, join_names, same_names
from .values import (
    UNKNOWN,
    Class,
    Const,
    Deferred,
    Dictionary,
    External,
    Function,
    Instance,
    Iterator,
    Sequence,
    Value,
    join,
    join_all,
    options,
)

MAX_LOOP_PASSES = 3


def execute(frame: Frame, body: list[cst.CSTNode]) -> None:
    """Execute statements in order, until the path ends."""
    frame.statements.append((body, 0))
    for index, statement in enumerate(body):
        if frame.dead or frame.interpreter.exhausted:
            break
        frame.statements[-1] = (body, index)
        executor = _EXECUTORS.get(type(statement))
        if executor is not None:
            executor(frame, statement)
    frame.statements.pop()


def body_of(node: Any) -> list[cst.CSTNode]:
    """Statements of a suite, on lines of its own or behind the colon."""
    return list(node.body.body)


def _line(frame: Frame, node: cst.SimpleStatementLine) -> None:
    for statement in node.body:
        if frame.dead:
            return
        executor = _EXECUTORS.get(type(statement))
        if executor is not None:
            executor(frame, statement)


# --- simple statements ---------------------------------------------------------------------------------------------


def _expression(frame: Frame, node: cst.Expr) -> None:
    evaluate(frame, node.value)


def _assign(frame: Frame, node: cst.Assign) -> None:
    value = evaluate(frame, node.value)
    for target in node.targets:
        if isinstance(target.target, cst.Attribute):
            store_attribute(frame, target.target, value, None, augmented=False, expression=node.value)
        else:
            assign(frame, target.target, value)
        frame.interpreter.constructed(frame, target.target, node, value)


def _annotated(frame: Frame, node: cst.AnnAssign) -> None:
    declared = from_annotation(node.annotation.annotation)
    if node.value is not None:
        value = evaluate(frame, node.value)
        assign(frame, node.target, declared if value is UNKNOWN else value)
    elif isinstance(node.target, cst.Name) and declared is not UNKNOWN:
        frame.scope.set(node.target.value, declared)


def _augmented(frame: Frame, node: cst.AugAssign) -> None:
    symbol, function = binary_operator(node.operator)
    if isinstance(node.target, cst.Subscript):
        receiver, index = evaluate(frame, node.target.value), index_value(frame, node.target)
        evaluate(frame, node.value)
        for choice in options(receiver):
            frame.interpreter.announce(Subscript(node.target, frame, True, choice, index, store=True, augmented=True))
        return
    old = evaluate(frame, node.target)
    value = evaluate(frame, node.value)
    result = join_all(binary(symbol, function, a, b) for a in options(old) for b in options(value))
    if isinstance(old, Sequence) and symbol == "+":
        old.append(element_of(value), False)
        result = old
    if isinstance(node.target, cst.Attribute):
        store_attribute(frame, node.target, result, old, augmented=True)
    elif isinstance(node.target, cst.Name) and node.target.value in frame.scope.globals:
        frame.interpreter.announce(
            GlobalStore(node.target, frame, True, node.target.value, old, result, augmented=True)
        )
        assign(frame, node.target, result)
    else:
        assign(frame, node.target, result)


def assign(frame: Frame, target: cst.CSTNode, value: Value) -> None:
    """Bind a value to a name, an attribute, an element, or spread it over several targets."""
    if isinstance(target, cst.Name):
        frame.scope.set(target.value, value)
    elif isinstance(target, cst.Attribute):
        store_attribute(frame, target, value, None, augmented=False)
    elif isinstance(target, cst.Subscript):
        receiver, index = evaluate(frame, target.value), index_value(frame, target)
        for choice in options(receiver):
            frame.interpreter.announce(Subscript(target, frame, True, choice, index, store=True))
            if isinstance(choice, Dictionary):
                choice.store(index, value)
            elif isinstance(choice, Sequence):
                choice.element = join(choice.element, value)
                choice.items = None
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(frame, target, value)
    elif isinstance(target, cst.StarredElement):
        assign(frame, target.value, Sequence("list", None, value))


def _unpack(frame: Frame, target: Any, value: Value) -> None:
    count = len(target.elements)
    starred = any(isinstance(element, cst.StarredElement) for element in target.elements)
    if isinstance(value, Sequence) and value.items is not None and len(value.items) == count and not starred:
        parts = list(value.items)
    else:
        element = iterate(frame, target, value)
        if isinstance(value, Iterator) and value.kind == "cell":
            element = value.element
        parts = [element] * count
    for element, part in zip(target.elements, parts):
        if isinstance(element, cst.StarredElement):
            assign(frame, element.value, Sequence("list", None, part))
        else:
            assign(frame, element.value, part)


def store_attribute(
    frame: Frame,
    target: cst.Attribute,
    value: Value,
    old: Optional[Value],
    augmented: bool,
    expression: Optional[cst.BaseExpression] = None,
) -> None:
    """``receiver.name = value``; on an object that is known, later reads see it."""
    receiver = evaluate(frame, target.value)
    name = target.attr.value
    for choice in options(receiver):
        before = old
        if before is None:
            before = choice.attributes.get(name, UNKNOWN) if isinstance(choice, Instance) else UNKNOWN
        operation = AttributeStore(target, frame, True, choice, name, before, value, augmented, expression)
        frame.interpreter.announce(operation)
        if isinstance(choice, External) and choice.name == "torch._dynamo.config" and isinstance(value, Const):
            frame.interpreter.configured(frame, name, value.value)
        if isinstance(choice, Instance):
            certain = not frame.conditional and name not in choice.changing
            known = choice.attributes.get(name)
            choice.attributes[name] = value if certain or known is None else join(known, value)
            if certain:
                continue
        if isinstance(choice, Class):
            choice.members[name] = value


def _return(frame: Frame, node: cst.Return) -> None:
    value = Const(None) if node.value is None else evaluate(frame, node.value)
    frame.returned = value if frame.returned is None else join(frame.returned, value)
    frame.dead = True


def _raise(frame: Frame, node: cst.Raise) -> None:
    if node.exc is not None:
        evaluate(frame, node.exc)
    frame.dead = True


def _stop(frame: Frame, node: cst.CSTNode) -> None:
    loop = next((block for block in reversed(frame.blocks) if block.kind == "loop"), None)
    if loop is not None:
        loop.escaped.append(frame.scope.snapshot())
    frame.dead = True


def _assert(frame: Frame, node: cst.Assert) -> None:
    known = test(frame, node.test, "assert", node)
    if node.msg is not None and known is not True:
        saved, frame.conditional = frame.conditional, frame.conditional + 1
        traced, frame.traced = frame.traced, False  # evaluated only when the assertion fails
        evaluate(frame, node.msg)
        frame.conditional, frame.traced = saved, traced
    narrow(frame, node.test, True)


def _delete(frame: Frame, node: cst.Del) -> None:
    if isinstance(node.target, cst.Name):
        frame.scope.names.pop(node.target.value, None)


def _global(frame: Frame, node: cst.Global) -> None:
    frame.scope.globals.update(item.name.value for item in node.names)


def _nonlocal(frame: Frame, node: cst.Nonlocal) -> None:
    frame.scope.nonlocals.update(item.name.value for item in node.names)


def _import(frame: Frame, node: cst.Import) -> None:
    for alias in node.names:
        name = dotted_name(alias.name)
        frame.interpreter.loader.pend(frame.module, name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            frame.scope.set(alias.asname.name.value, frame.interpreter.loader.module(frame.module, name))
        elif name:
            top = name.split(".")[0]
            frame.scope.set(top, frame.interpreter.loader.module(frame.module, top))


def _import_from(frame: Frame, node: cst.ImportFrom) -> None:
    module = "." * len(node.relative) + dotted_name(node.module)
    loader, importer = frame.interpreter.loader, frame.module
    if isinstance(node.names, cst.ImportStar):
        loader.pend(importer, module)
        frame.scope.stars.append(partial(loader.star, importer, module))
        return
    for alias in node.names:
        name = dotted_name(alias.name)
        bound = alias.asname.name.value if alias.asname and isinstance(alias.asname.name, cst.Name) else name
        if module.partition(".")[0] in OPAQUE:
            frame.scope.set(bound, loader.name(importer, module, name))
        else:
            loader.pend(importer, module, name)
            frame.scope.set(bound, Deferred(partial(loader.name, importer, module, name)))


# --- control flow --------------------------------------------------------------------------------------------------


def _if(frame: Frame, node: cst.If) -> None:
    known = test(frame, node.test, "if", node)
    orelse: list[cst.CSTNode] = []
    if node.orelse is not None:
        orelse = [node.orelse] if isinstance(node.orelse, cst.If) else body_of(node.orelse)
    if known is not None:
        narrow(frame, node.test, known)
        execute(frame, body_of(node) if known else orelse)
        return
    before = frame.scope.snapshot()
    frame.conditional += 1
    narrow(frame, node.test, True)
    execute(frame, body_of(node))
    after, dead = frame.scope.snapshot(), frame.dead
    frame.scope.restore(before)
    frame.dead = False
    narrow(frame, node.test, False)
    execute(frame, orelse)
    frame.conditional -= 1
    if frame.dead and not dead:
        frame.scope.restore(after)
    elif not frame.dead and not dead:
        frame.scope.names = join_names(after, frame.scope.names)
    frame.dead = frame.dead and dead


def _loop(frame: Frame, node: Any, step: Callable[[], Optional[bool]]) -> None:
    """Execute a loop body until the names hold what one more pass would not change."""
    block = Block("loop", node, depth=len(frame.statements))
    frame.blocks.append(block)
    frame.conditional += 1
    for _ in range(MAX_LOOP_PASSES):
        before = frame.scope.snapshot()
        if step() is False:
            break
        execute(frame, body_of(node))
        joined = before if frame.dead else join_names(before, frame.scope.names)
        for names in block.escaped:
            joined = join_names(joined, names)
        block.escaped.clear()
        frame.dead = False
        settled = same_names(before, joined)
        frame.scope.names = joined
        if settled:
            break
    frame.conditional -= 1
    frame.blocks.pop()
    if node.orelse is not None:
        execute(frame, body_of(node.orelse))


def _for(frame: Frame, node: cst.For) -> None:
    iterated = evaluate(frame, node.iter)
    if isinstance(iterated, Sequence) and iterated.items is not None and not iterated.items:
        return
    element = iterate(frame, node.iter, iterated)

    def step() -> None:
        assign(frame, node.target, element)

    _loop(frame, node, step)


def _while(frame: Frame, node: cst.While) -> None:
    def step() -> Optional[bool]:
        known = test(frame, node.test, "while", node)
        narrow(frame, node.test, True)
        return known

    _loop(frame, node, step)


def _with(frame: Frame, node: cst.With) -> None:
    resumable = True
    managers: list[Value] = []
    for item in node.items:
        manager = evaluate(frame, item.item)
        name = context_name(frame, item.item, manager)
        for choice in options(manager):
            frame.interpreter.announce(ContextEntered(item.item, frame, True, choice, name))
        resumable = resumable and name in RESUMABLE_CONTEXTS
        if item.asname is not None:
            assign(frame, item.asname.name, _entered(frame, node, manager, "__enter__") or UNKNOWN)
        else:
            _entered(frame, node, manager, "__enter__")
        managers.append(manager)
    frame.blocks.append(Block("with", node, resumable))
    execute(frame, body_of(node))
    dead, frame.dead = frame.dead, False
    for manager in reversed(managers):
        _entered(frame, node, manager, "__exit__")
    frame.dead = dead
    frame.blocks.pop()


def _entered(frame: Frame, node: cst.With, manager: Value, name: str) -> Optional[Value]:
    """Walk the special method of an analysed context manager; Dynamo cannot resume inside."""
    method = manager.cls.find(name) if isinstance(manager, Instance) and isinstance(manager.cls, Class) else None
    if not isinstance(method, Function):
        return None
    bound = Function(method.node, method.module, method.scope, method.owner, manager)
    frame.blocks.append(Block("with", node, False))
    value = frame.interpreter.call_function(frame, bound, (), {"**": UNKNOWN}, node)
    frame.blocks.pop()
    return value


def context_name(frame: Frame, node: cst.CSTNode, manager: Value) -> str:
    """Dotted name of the class or function that made a context manager."""
    if isinstance(manager, Instance):
        return manager.external_class or (manager.cls.qualified_name if isinstance(manager.cls, Class) else "")
    if isinstance(node, cst.Call):
        callee = frame.interpreter.resolve(frame, node.func)
        return callee.name if isinstance(callee, External) else ""
    return manager.name if isinstance(manager, External) else ""


def _try(frame: Frame, node: Any) -> None:
    before = frame.scope.snapshot()
    frame.blocks.append(Block("try", node))
    execute(frame, body_of(node))
    frame.blocks.pop()
    after, dead = frame.scope.snapshot(), frame.dead
    frame.conditional += 1
    for handler in node.handlers:
        frame.scope.restore(join_names(before, after))
        frame.dead = False
        if handler.name is not None and isinstance(handler.name.name, cst.Name):
            frame.scope.set(handler.name.name.value, UNKNOWN)
        # Dynamo follows an exception only where one is raised while tracing.
        traced, frame.traced = frame.traced, False
        execute(frame, body_of(handler))
        frame.traced = traced
        if not frame.dead:
            after = frame.scope.snapshot() if dead else join_names(after, frame.scope.names)
            dead = False
    frame.conditional -= 1
    frame.scope.restore(after)
    frame.dead = dead
    if node.orelse is not None and not frame.dead:
        execute(frame, body_of(node.orelse))
    if node.finalbody is not None:
        ended, frame.dead = frame.dead, False
        frame.blocks.append(Block("try", node))
        execute(frame, body_of(node.finalbody))
        frame.blocks.pop()
        frame.dead = frame.dead or ended


def _match(frame: Frame, node: cst.Match) -> None:
    evaluate(frame, node.subject)
    before = frame.scope.snapshot()
    joined: Optional[dict[str, Value]] = None
    frame.conditional += 1
    for case in node.cases:
        frame.scope.restore(before)
        frame.dead = False
        execute(frame, body_of(case))
        if not frame.dead:
            joined = frame.scope.snapshot() if joined is None else join_names(joined, frame.scope.names)
    frame.conditional -= 1
    frame.dead = False
    frame.scope.restore(join_names(before, joined or {}))


# --- definitions ---------------------------------------------------------------------------------------------------


def _function(frame: Frame, node: cst.FunctionDef) -> None:
    scope = frame.scope
    owner = frame.interpreter.current_class if scope.of_class else None
    if scope.of_class and scope.parent is not None:
        scope = scope.parent  # methods do not close over the class body
    function: Value = Function(node, frame.module, scope, owner)
    frame.interpreter.defined(function)
    for decorator in reversed(node.decorators):
        function = frame.interpreter.decorate(frame, function, decorator)
    frame.scope.set(node.name.value, function)


def _class(frame: Frame, node: cst.ClassDef) -> None:
    bases = tuple(evaluate(frame, argument.value) for argument in node.bases if not argument.star)
    cls = Class(node, frame.module, frame.scope, bases)
    frame.interpreter.announce(Call(node.name, frame, True, "__build_class__", bases, {}))
    outer, enclosing = frame.scope, frame.interpreter.current_class
    frame.scope, frame.interpreter.current_class = Scope(outer), cls
    frame.scope.names = cls.members
    frame.scope.of_class = True
    execute(frame, body_of(node))
    frame.dead = False
    frame.scope, frame.interpreter.current_class = outer, enclosing
    frame.interpreter.defined(cls)
    value: Value = cls
    for decorator in reversed(node.decorators):
        value = frame.interpreter.decorate(frame, value, decorator)
    frame.scope.set(node.name.value, value)


Executor = Callable[[Frame, Any], None]
_EXECUTORS: dict[type, Executor] = {
    cst.SimpleStatementLine: _line,
    cst.SimpleStatementSuite: _line,
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Break: _stop,
    cst.Continue: _stop,
    cst.Assert: _assert,
    cst.Del: _delete,
    cst.Global: _global,
    cst.Nonlocal: _nonlocal,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Match: _match,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
}
