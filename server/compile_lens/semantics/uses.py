"""What becomes of a value: where an expression's result goes, through names, attributes and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Optional

import libcst as cst

from .code import dotted_name
from .flow import Definition, Flow, Place

CHAINING = frozenset(
    """to eval train cuda cpu xpu npu half float double bfloat16 type requires_grad_ share_memory apply
    to_empty""".split()
)
"""Methods of ``nn.Module`` that return the module itself."""


@dataclass(frozen=True)
class Use:
    """One thing that happens to a value.

    ``kind``: ``called``, ``method`` (called on it), ``attribute`` (read), ``set`` (an attribute of it is),
    ``argument``, ``element`` (of it), ``returned``, ``stored`` (in a container, or an attribute of an object),
    ``bound`` (to a name), ``dropped``, ``looked at`` (compared, printed, tested, deleted), ``other``.
    """

    kind: str
    node: cst.CSTNode
    """The expression whose value is used."""
    name: str = ""
    """Of the attribute, method, variable or keyword."""
    call: Optional[cst.Call] = None
    """The call that it is in, for ``called``, ``method`` and ``argument``."""
    sure: bool = True
    """Nothing else can be in its place there."""
    definition: Optional[Definition] = None
    """For ``bound``, and for ``stored`` in an attribute."""


def uses(flow: Flow, node: cst.CSTNode) -> list[Use]:
    """All uses of the value of an expression in its file."""
    return list(_uses(flow, node, True, set()))


def uses_of_definition(flow: Flow, definition: Definition, sure: bool = True) -> Iterator[Use]:
    """All uses of what one definition binds."""
    yield from _of_definition(flow, definition, sure, set())


def _uses(flow: Flow, node: cst.CSTNode, sure: bool, seen: set[int]) -> Iterator[Use]:
    if id(node) in seen:
        return
    seen.add(id(node))
    parent = flow.parents.get(id(node))
    if isinstance(parent, cst.Arg):
        call = flow.parents.get(id(parent))
        if isinstance(call, cst.Call):
            yield Use("argument", node, parent.keyword.value if parent.keyword else "", call, sure)
            parameter = _parameter(flow, call, parent)
            if parameter is not None:  # other calls may give it something else
                yield from _of_definition(flow, parameter, False, seen)
        else:
            yield Use("other", node, sure=sure)
    elif isinstance(parent, cst.Call):
        yield Use("called", node, call=parent, sure=sure)
    elif isinstance(parent, cst.Expr):
        yield Use("dropped", node, sure=sure)
    elif isinstance(parent, cst.Assign):
        for target in parent.targets:
            yield from _bound(flow, node, target.target, sure, seen)
    elif isinstance(parent, cst.AnnAssign):
        yield from _bound(flow, node, parent.target, sure, seen)
    elif isinstance(parent, cst.NamedExpr):
        yield from _bound(flow, node, parent.target, sure, seen)
        yield from _uses(flow, parent, sure, seen)
    elif isinstance(parent, cst.BooleanOperation) or (isinstance(parent, cst.IfExp) and parent.test is not node):
        yield from _uses(flow, parent, False, seen)
    elif isinstance(parent, cst.Attribute):
        yield from _attribute(flow, node, parent, sure, seen)
    elif isinstance(parent, (cst.Return, cst.Yield, cst.Lambda)):
        yield Use("returned", node, sure=sure)
    elif isinstance(parent, (cst.Element, cst.StarredElement, cst.DictElement, cst.ListComp, cst.GeneratorExp)):
        yield from _element(flow, node, parent, sure, seen)
    elif isinstance(parent, cst.Subscript) and parent.value is node:
        yield Use("element", parent, sure=sure)
    elif isinstance(parent, (*_LOOKING, cst.IfExp)):
        yield Use("looked at", node, sure=sure)
    else:
        yield Use("other", node, sure=sure)


_LOOKING = (
    cst.Comparison,
    cst.ComparisonTarget,
    cst.FormattedStringExpression,
    cst.UnaryOperation,
    cst.If,
    cst.While,
    cst.Assert,
    cst.Del,
)


def _attribute(flow: Flow, node: cst.CSTNode, parent: cst.Attribute, sure: bool, seen: set[int]) -> Iterator[Use]:
    name = parent.attr.value
    read = flow.reads.get(id(parent))
    if read is not None and read.definitions:
        return  # the attribute has been assigned: what was assigned is what happens here
    if id(parent) in flow.definitions:
        yield Use("set", node, name, sure=sure)
        return
    outer = flow.parents.get(id(parent))
    if not isinstance(outer, cst.Call):
        yield Use("attribute", parent, name, sure=sure)
        return
    yield Use("method", node, name, outer, sure)
    if name in CHAINING:
        yield from _uses(flow, outer, sure, seen)


def _bound(flow: Flow, node: cst.CSTNode, target: cst.CSTNode, sure: bool, seen: set[int]) -> Iterator[Use]:
    definition = flow.definitions.get(id(target))
    if definition is None:
        yield Use("stored", node, sure=sure)
        return
    kind = "bound" if isinstance(target, cst.Name) else "stored"
    yield Use(kind, node, definition.path, sure=sure, definition=definition)
    yield from _of_definition(flow, definition, sure, seen)


def _of_definition(flow: Flow, definition: Definition, sure: bool, seen: set[int]) -> Iterator[Use]:
    for read in definition.reads:
        yield from _uses(flow, read.node, sure and len(read.definitions) == 1, seen)


def _parameter(flow: Flow, call: cst.Call, argument: cst.Arg) -> Optional[Definition]:
    """The parameter that an argument becomes, in a call of a function or own method of the file."""
    read = flow.reads.get(id(call.func))
    candidates = read.definitions if read is not None else []
    skipped = 0
    if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
        owner = flow.place(call).owner
        if owner is not None and call.func.value.value == flow.place(call).first_parameter:
            candidates, skipped = owner.bound.get(call.func.attr.value, []), 1
    function = flow.parents.get(id(candidates[0].target)) if len(candidates) == 1 else None
    if not isinstance(function, cst.FunctionDef) or argument.star or (skipped and function.decorators):
        return None
    parameters = [*function.params.posonly_params, *function.params.params]
    if argument.keyword is not None:
        named = [p for p in [*parameters, *function.params.kwonly_params] if p.name.value == argument.keyword.value]
        return flow.definitions.get(id(named[0].name)) if named else None
    index = next((i for i, other in enumerate(call.args) if other is argument), 0)
    if any(other.star for other in call.args[:index]) or index + skipped >= len(parameters):
        return None
    return flow.definitions.get(id(parameters[index + skipped].name))


def _element(flow: Flow, node: cst.CSTNode, parent: cst.CSTNode, sure: bool, seen: set[int]) -> Iterator[Use]:
    """An element of a display; one that is unpacked at once is bound to its name."""
    display = flow.parents.get(id(parent))
    statement = flow.parents.get(id(display)) if display is not None else None
    if isinstance(display, cst.Tuple) and isinstance(statement, cst.Assign):
        for target in statement.targets:
            pattern = target.target
            if isinstance(pattern, (cst.Tuple, cst.List)) and len(pattern.elements) == len(display.elements):
                index = next(i for i, element in enumerate(display.elements) if element is parent)
                yield from _bound(flow, node, pattern.elements[index].value, sure, seen)
                return
    yield Use("stored", node, sure=sure)


def reaches_call(flow: Flow, node: cst.CSTNode, wanted: Callable[[cst.Call], bool], depth: int = 0) -> bool:
    """Does a value get into a call, as an argument or inside a dict, list or tuple that does?"""
    for use in uses(flow, node):
        if use.kind == "argument" and use.call is not None:
            if wanted(use.call):
                return True
            passed_on = (
                dotted_name(use.call.func) in ("dict", "list", "tuple", "copy.deepcopy", "deepcopy") and depth < 4
            )
            if passed_on and reaches_call(flow, use.call, wanted, depth + 1):
                return True
        elif use.kind == "stored" and depth < 4:
            element = flow.parents.get(id(use.node))
            display = flow.parents.get(id(element)) if element is not None else None
            if isinstance(display, (cst.Dict, cst.List, cst.Tuple)) and reaches_call(flow, display, wanted, depth + 1):
                return True
            if isinstance(element, cst.Assign):
                container = _container_of(element)
                read = flow.reads.get(id(container)) if container is not None else None
                for definition in read.definitions if read is not None else ():
                    for other in uses_of_definition(flow, definition):
                        if other.kind == "argument" and other.call is not None and wanted(other.call):
                            return True
    return False


_COPYING = frozenset({"dict", "list", "tuple", "copy.deepcopy", "deepcopy"})


def _container_of(statement: cst.CSTNode) -> Optional[cst.BaseExpression]:
    """``checkpoint`` in ``checkpoint["model"] = value``."""
    targets = statement.targets if isinstance(statement, cst.Assign) else ()
    for target in targets:
        if isinstance(target.target, cst.Subscript):
            return target.target.value
    return None


def origins(flow: Flow, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Expressions that a value may come from: back through names and choices to calls, parameters, literals."""
    found: list[cst.BaseExpression] = []
    pending: list[cst.BaseExpression] = [node]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        read = flow.reads.get(id(current))
        values = [d.value for d in read.definitions] if read is not None else []
        if isinstance(current, cst.IfExp):
            pending += [current.body, current.orelse]
        elif values and all(value is not None for value in values):
            pending += [value for value in values if value is not None]
        else:
            found.append(current)
    return found


def conditions(flow: Flow, node: cst.CSTNode) -> list[cst.CSTNode]:
    """Compound statements around a node that may leave it out, innermost first, up to its function."""
    found: list[cst.CSTNode] = []
    inner = node
    for outer in flow.ancestors(node):
        if isinstance(outer, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            break
        if isinstance(outer, (cst.If, cst.Else, cst.For, cst.While, cst.ExceptHandler, cst.MatchCase, cst.IfExp)):
            is_head = isinstance(outer, (cst.If, cst.While, cst.IfExp)) and outer.test is inner
            if not is_head and not _is_main(outer):
                found.append(outer)
        inner = outer
    return found


def _is_main(node: cst.CSTNode) -> bool:
    """``if __name__ == "__main__":``"""
    return (
        isinstance(node, cst.If) and isinstance(node.test, cst.Comparison) and dotted_name(node.test.left) == "__name__"
    )


def runs_before(flow: Flow, first: cst.CSTNode, second: cst.CSTNode) -> bool:
    """Has ``first`` run whenever ``second`` runs? In one function, by order and by the conditions around them."""
    if flow.place(first) is not flow.place(second):
        return False
    around = {id(outer) for outer in conditions(flow, second)}
    return flow.order.get(id(first), 0) < flow.order.get(id(second), 0) and all(
        id(outer) in around for outer in conditions(flow, first)
    )


def in_function(place: Place) -> bool:
    """Is a namespace that of a function or lambda, so that nobody else can read its names?"""
    return isinstance(place.node, (cst.FunctionDef, cst.Lambda))
