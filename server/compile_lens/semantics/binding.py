"""Binding of arguments to parameters, and what a parameter is of which no call says anything."""

from __future__ import annotations

import libcst as cst

from .code import dotted_name
from .frames import Engine, Frame
from .parameters import from_annotation, from_default, used_as_tensors
from .scopes import Scope
from .values import NONE, Dictionary, Function, Sequence, Tensor, Unknown, Value, join, join_all


def bind_parameters(
    interpreter: Engine,
    function: Function,
    scope: Scope,
    arguments: tuple[Value, ...],
    keywords: dict[str, Value],
) -> None:
    """Give the parameters of a function their abstract values in ``scope``, the scope of its call."""
    parameters = function.node.params
    given = list(arguments)
    if function.bound is not None and not isinstance(function.node, cst.Lambda):
        given.insert(0, function.bound)
    positional = [*parameters.posonly_params, *parameters.params]
    defaults = Frame(interpreter, function.module, function.scope)
    open_ended = "**" in keywords or "*" in keywords
    missing: list[cst.Param] = []
    for index, parameter in enumerate([*positional, *parameters.kwonly_params]):
        name = parameter.name.value
        if index < len(positional) and index < len(given):
            value: Value = given[index]
        elif name in keywords:
            value = keywords[name]
        elif parameter.default is not None and not open_ended:
            value = interpreter.evaluate(defaults, parameter.default)
        else:
            missing.append(parameter)
            continue
        if isinstance(value, Unknown):
            missing.append(parameter)
        else:
            scope.names[name] = value
    if missing:
        _infer(interpreter, function, scope, missing, defaults)
    if isinstance(parameters.star_arg, cst.Param):
        rest = given[len(positional) :]
        element = from_annotation(parameters.star_arg.annotation.annotation if parameters.star_arg.annotation else None)
        scope.names[parameters.star_arg.name.value] = Sequence(
            "tuple", None if open_ended else rest, join_all(rest) if rest else element
        )
    if parameters.star_kwarg is not None:
        known = {p.name.value for p in [*positional, *parameters.kwonly_params]}
        extra = {k: v for k, v in keywords.items() if k not in known and k not in ("*", "**")}
        scope.names[parameters.star_kwarg.name.value] = Dictionary(extra, exact=not open_ended)


def _infer(interpreter: Engine, function: Function, scope: Scope, missing: list[cst.Param], defaults: Frame) -> None:
    """Parameters of which no call says anything: annotation, then default, then use."""
    unknown: set[str] = set()
    for parameter in missing:
        name = parameter.name.value
        value = from_annotation(parameter.annotation.annotation if parameter.annotation else None)
        if isinstance(value, Unknown) and parameter.default is not None:
            value = from_default(interpreter.evaluate(defaults, parameter.default))
        scope.names[name] = value
        if isinstance(value, Unknown) and name != "self":
            unknown.add(name)
    if unknown:
        tensors = used_as_tensors(function.node, unknown, lambda node: interpreter.name_in(function.scope, node))
        for parameter in missing:
            name = parameter.name.value
            if name in tensors:
                guess: Value = Tensor(guessed=True)
                optional = parameter.default is not None and dotted_name(parameter.default) == "None"
                scope.names[name] = join(guess, NONE) if optional else guess
