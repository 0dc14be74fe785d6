"""Example inputs of a target: where they are said, and what shape they may have. Nothing is ever guessed.

Order: ``--inputs NAME``; ``probe_inputs()`` and ``get_example_inputs()``, on the class before the module;
``get_inputs()`` beside an ``nn.Module`` class; Lightning's ``example_input_array``; Hugging Face's ``dummy_inputs``;
a ``# probe:`` comment above the target; inputs recorded from a run (``compile-lens record``);
``[[tool.compile-lens.target]]`` in pyproject.toml. What sources further down say otherwise is told in a note.
Where none of them says anything and no parameter has to be given, the target is called without arguments.

What such a function may return, decided without looking at the target:

=================================  =====================================================================
``tensor`` (or any other value)    one call with this one argument
``{"name": value, ...}``           one call with these keyword arguments
``((a, b), {"k": v})``             a pair of a tuple or list and such a dict: one call, args and kwargs
``(a, b)``                         any other tuple: one call with these arguments
``[(a, b), ((a,), {"k": v})]``     a list of tuples only, not empty: several calls, each tuple read as above
``[a, b]``                         any other list: one call with these arguments
=================================  =====================================================================

``get_inputs()`` is by its convention a list of the arguments of one call, whatever is in it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Callable, Optional, cast

from ..errors import InputsError, NeedsInputsError, ProbeError, UsageError
from ..nested import leaves
from ..recording.values import call_of
from ..targets.calls import Call
from ..targets.discovery import MODULE_SOURCES, find_comment
from ..targets.loading import describe
from . import comments
from .project import inputs_in_project
from .recorded import find_recorded


@dataclass(frozen=True)
class Case:
    """The calls of one size; ``size`` names it (``B=8``) where a comment sweeps over sizes."""

    size: Optional[str]
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class ExampleInputs:
    """Example inputs with their source, which is always shown to the user.

    ``sizes`` are the swept values of a comment, as written there.
    """

    source: str
    cases: tuple[Case, ...]
    sizes: tuple[int, ...] = ()
    detail: str = ""
    """More about the source: which run, how old, which file."""
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of all sizes, in order."""
        return tuple(call for case in self.cases for call in case.calls)


NOTHING_NEEDED = ExampleInputs("no parameters", (Case(None, (((), {}),)),))
"""A target without required parameters, for which nothing says more, is simply called."""


def find_inputs(
    module: ModuleType,
    text: str,
    name: str,
    target: Any,
    owner: Optional[type],
    explicit: Optional[str],
    *,
    factory: bool = False,
) -> ExampleInputs:
    """Find the example inputs of ``target``, an instance already built where it is a module.

    :param owner: the class of which the target is an instance or a method, else None
    :param factory: the inputs may be those of what the target returns, so they need not fit the target
    :raises NeedsInputsError: nothing says what they are; the message shows what to write
    :raises InputsError: what says it raises, or does not fit the target's parameters
    """
    found = _find(module, text, name, target, owner, explicit)
    for call in () if factory else found.calls:
        _check_fit(target, call, found.source)
    return replace(found, notes=(*found.notes, *_others(found, module, text, name)))


def _find(
    module: ModuleType, text: str, name: str, target: Any, owner: Optional[type], explicit: Optional[str]
) -> ExampleInputs:
    if explicit is not None:
        function = getattr(module, explicit, None)
        if not callable(function):
            raise UsageError(f"--inputs {explicit}: the file has no function of this name.", stage="inputs")
        return _single(f"function:{explicit}", calls_of(_ask(function, explicit)))
    for convention in MODULE_SOURCES:
        for place in (owner, module):
            function = getattr(place, convention, None) if place is not None else None
            if callable(function):
                bound = _on_instance(function, target, owner) if place is owner else function
                return _single(convention, calls_of(_ask(bound, convention)))
    if owner is not None and _is_whole(name):
        get_inputs = getattr(module, "get_inputs", None)
        if callable(get_inputs):
            return _single("get_inputs", arguments_of(_ask(get_inputs, "get_inputs")))
        instance = getattr(target, "__self__", target)
        for attribute in ("example_input_array", "dummy_inputs"):
            value = _attribute(instance, attribute)
            if value is not None:
                return _single(attribute, calls_of(value))
    for kind in WRITTEN:
        written = _written(kind, module, text, name)
        if written is not None:
            return written
    if not required(target):
        return NOTHING_NEEDED
    raise NeedsInputsError(
        f"Nothing says what to call {name} with.", stage="inputs", remedy=how_to_write(target, owner is not None)
    )


WRITTEN = ("comment", "recorded", "pyproject")
"""Sources that run no code of the user's, in their order."""


def _written(kind: str, module: ModuleType, text: str, name: str) -> Optional[ExampleInputs]:
    """The inputs of one of ``WRITTEN``, if it has any."""
    file = getattr(module, "__file__", None)
    if kind == "comment":
        comment = find_comment(text, name)
        return _swept(kind, comments.parse(comment)) if comment is not None else None
    if kind == "recorded":
        recorded = find_recorded(file, name)
        if recorded is None:
            return None
        return ExampleInputs(kind, (Case(None, recorded.calls()),), (), recorded.detail, recorded.notes)
    found = inputs_in_project(file, name)
    return _swept(kind, comments.parse(found[0]), str(found[1])) if found is not None else None


def _swept(source: str, sweep: comments.Sweep, detail: str = "") -> ExampleInputs:
    cases = tuple(Case(size.label, (size.call(),)) for size in sweep.sizes())
    return ExampleInputs(source, cases, sweep.swept, detail)


def _others(found: ExampleInputs, module: ModuleType, text: str, name: str) -> list[str]:
    """Notes on sources further down that say something else."""
    behind = WRITTEN[WRITTEN.index(found.source) + 1 :] if found.source in WRITTEN else WRITTEN
    notes: list[str] = []
    for kind in behind:
        try:
            other = _written(kind, module, text, name)
        except ProbeError as error:
            notes.append(f"The {kind} inputs cannot be used and were not needed: {error.message}")
            continue
        if other is not None and _forms(other) != _forms(found):
            of = f" ({other.detail})" if other.detail else ""
            notes.append(f"The {kind} inputs{of} are other ones; those of {found.source} were used.")
    return notes


def _forms(inputs: ExampleInputs) -> set[str]:
    """Calls by the shapes and types of their values, whether given by position or by name."""
    return {
        str([_form(leaf) for leaf in (*leaves(list(args)), *leaves(list(kwargs.values())))])
        for args, kwargs in inputs.calls
    }


def _form(value: Any) -> str:
    return f"{value.dtype}{tuple(value.shape)}" if hasattr(value, "dtype") and hasattr(value, "shape") else repr(value)


def calls_of(value: Any) -> tuple[Call, ...]:
    """Read what an inputs function returned; the module's docstring has the rules."""
    if type(value) is list:
        elements = cast("list[Any]", value)
        if elements and all(type(element) is tuple for element in elements):
            return tuple(_call_of(element) for element in elements)
        return ((tuple(elements), {}),)
    return (_call_of(value),)


def arguments_of(value: Any) -> tuple[Call, ...]:
    """Read what ``get_inputs()`` returned: the arguments of one call, or its keyword arguments."""
    if isinstance(value, (list, tuple)):
        return ((tuple(cast("list[Any]", value)), {}),)
    return (_call_of(value),)


def build(cls: Callable[..., Any], module: ModuleType, text: str, name: str) -> Any:
    """Make the instance of a class target: from ``get_init_inputs()``, ``init(...)`` of a comment, or nothing.

    :raises NeedsInputsError: the constructor needs arguments that nothing gives
    """
    function = getattr(module, "get_init_inputs", None)
    comment = find_comment(text, name)
    init = comments.parse(comment).init if comment is not None else None
    if init is not None:
        args, kwargs = (), dict(init)
        source = "init(...) in the comment"
    elif callable(function):
        args, kwargs = arguments_of(_ask(function, "get_init_inputs"))[0]
        if len(args) == 2 and isinstance(args[0], (list, tuple)) and isinstance(args[1], dict):
            args, kwargs = tuple(cast("list[Any]", args[0])), cast("dict[str, Any]", args[1])
        source = "get_init_inputs()"
    else:
        recorded = find_recorded(getattr(module, "__file__", None), name)
        written = inputs_in_project(getattr(module, "__file__", None), name)
        project_init = comments.parse(written[0]).init if written is not None else None
        missing = required(cls)
        args, kwargs = (), {}
        source = "no arguments"
        if recorded is not None and recorded.init is not None and (missing or not _given(cls, module, text, name)):
            args, kwargs = call_of(recorded.init)
            source = f"the arguments recorded from {recorded.detail}"
        elif project_init is not None:
            kwargs = dict(project_init)
            source = "init(...) in pyproject.toml"
        elif missing:
            listed = ", ".join(missing)
            raise NeedsInputsError(
                f"{name} needs the constructor arguments {listed}, and nothing gives them.",
                stage="inputs",
                remedy=f"Write beside the class: def get_init_inputs(): return [{listed}]",
            )
    try:
        return cls(*args, **kwargs)
    except Exception as error:
        raise InputsError(f"Constructing {name} with {source} raised {describe(error)}.", stage="inputs") from error


def _given(cls: Any, module: ModuleType, text: str, name: str) -> bool:
    """Does something before a recorded run give the inputs of a class?"""
    functions = (getattr(place, source, None) for source in MODULE_SOURCES for place in (cls, module))
    conventions = (getattr(cls, "example_input_array", None), getattr(cls, "dummy_inputs", None))
    return (
        any(callable(function) for function in functions)
        or callable(getattr(module, "get_inputs", None))
        or any(value is not None for value in conventions)
        or find_comment(text, name) is not None
    )


def how_to_write(target: Any, is_module: bool) -> str:
    """The lines that would give the inputs, with the target's own parameter names."""
    parameters = required(target)
    tensors = ", ".join("torch.randn(8, 16)" for _ in parameters)
    names = ", ".join(parameters)
    comment = " ".join(f"{name}=f32[8,16]" for name in parameters if not name.startswith("*"))
    comment = f", or above the definition: # probe: {comment}" if comment else ""
    more = " A class may also have get_inputs() beside it." if is_module else ""
    return (
        f"Write in the file, with the shapes you use: def probe_inputs(): return ({tensors},), {{}}  "
        f"(the arguments {names}){comment}{more}"
    )


def _call_of(value: Any) -> Call:
    if isinstance(value, dict):
        named = cast("dict[Any, Any]", value)
        if all(isinstance(key, str) for key in named):
            return (), dict(named)
        return (named,), {}
    if type(value) is tuple:
        parts = cast("tuple[Any, ...]", value)
        if len(parts) == 2 and type(parts[0]) in (tuple, list) and type(parts[1]) is dict:
            names = cast("dict[Any, Any]", parts[1])
            if all(isinstance(name, str) for name in names):
                return tuple(cast("list[Any]", parts[0])), cast("dict[str, Any]", names)
        return parts, {}
    return (value,), {}


def _single(source: str, calls: tuple[Call, ...]) -> ExampleInputs:
    return ExampleInputs(source, (Case(None, calls),))


def _ask(function: Callable[[], Any], name: str) -> Any:
    """Call a function of the user's that gives inputs."""
    try:
        value = function()
    except ProbeError:
        raise
    except MemoryError as error:
        raise InputsError(f"{name}() ran out of memory.", stage="inputs", remedy="Make them smaller.") from error
    except Exception as error:
        raise InputsError(f"{name}() raised {describe(error)}.", stage="inputs") from error
    if value is None:
        raise InputsError(f"{name}() returned None.", stage="inputs", remedy="It has to return the arguments.")
    return value


def _on_instance(function: Callable[..., Any], target: Any, owner: Optional[type]) -> Callable[[], Any]:
    """A convention on the class may be a method, a class method or static: bind it to the instance at hand."""
    instance = getattr(target, "__self__", target)
    if owner is not None and isinstance(instance, owner):
        return getattr(instance, function.__name__)
    return function


def _attribute(instance: Any, name: str) -> Any:
    try:
        return getattr(instance, name, None)
    except Exception as error:  # a property of the user's
        raise InputsError(f"Reading {name} raised {describe(error)}.", stage="inputs") from error


def _is_whole(name: str) -> bool:
    """Whether the target is a class as a whole, whose conventions speak of ``forward``."""
    return "." not in name or name.endswith(".forward")


def _check_fit(target: Any, call: Call, source: str) -> None:
    args, kwargs = call
    try:
        signature = inspect.signature(getattr(target, "forward", target))
    except (TypeError, ValueError):  # builtins and the like have none
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise InputsError(
            f"The inputs from {source} do not fit the parameters {signature}: {error}.",
            stage="inputs",
            remedy="Return ((positional, ...), {keyword: ...}) to be explicit.",
        ) from error


def required(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters that have to be given; ``*args`` alone may stand for any number, and is asked for."""
    try:
        parameters = inspect.signature(getattr(function, "forward", function)).parameters.values()
        if isinstance(function, type):
            parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [] if isinstance(function, type) else ["x"]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in kinds]
    if named or isinstance(function, type):
        return named
    return [f"*{p.name}" for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
