"""The engine: parse a file, find what is compiled in it, walk that into every file, let the rules look."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import libcst as cst

from ..rules.registry import RULES
from ..rules.rule import Context, FileView
from ..semantics.contracts import contract_of
from ..semantics.examples import ExampleCall
from ..semantics.interpreter import Interpreter
from ..semantics.values import UNKNOWN, Class, Const, External, Function, Instance, Module, Partial, Value, options
from ..semantics.workspace import Workspace
from ..text.errors import SourceError
from ..text.parse import parse
from ..text.source import Source, read
from .assemble import SiteState, assemble
from .fault import internal_error
from .finding import Analysis
from .options import SCOPES, Options
from .walks import Walk

__all__ = ["SCOPES", "Options", "scan", "scan_file"]

PROVIDERS = ("probe_inputs", "get_example_inputs", "inputs", "get_inputs")


def scan_file(path: Path, options: Options, workspace: Optional[Workspace] = None) -> Analysis:
    """Analyse a file on disk; an unreadable or unparsable one gives an analysis with an error."""
    try:
        source = read(path)
    except SourceError as error:
        return Analysis(str(path), error=error.message, error_line=error.line)
    return scan(source, options, workspace)


def scan(source: Source, options: Options, workspace: Optional[Workspace] = None) -> Analysis:
    """Analyse the text of one file, and what its regions reach in others if there is a workspace."""
    if "torch" not in source.text and (workspace is None or "compile" not in source.text):
        return Analysis(source.path)
    try:
        return _scan(source, _parsed(source, workspace), options, workspace)
    except SourceError as error:
        return Analysis(source.path, error=error.message, error_line=error.line)
    except RecursionError:
        return Analysis(source.path, error=f"{source.path}: its code is nested too deeply to be analysed")
    except BaseException as error:  # native code panics with exceptions of its own
        return internal_error(source.path, error)


def _parsed(source: Source, workspace: Optional[Workspace]) -> cst.Module:
    """The tree of a file, out of the workspace where it has it. Raises `SourceError`."""
    if workspace is None:
        return parse(source)
    known = workspace.parsed(source)
    if known is None:
        known = parse(source)
        workspace.keep(source, known)
    return known


def _scan(source: Source, tree: cst.Module, options: Options, workspace: Optional[Workspace]) -> Analysis:
    interpreter = Interpreter(source, tree, options.python_version, workspace)
    interpreter.run_module()
    walk = Walk(options, interpreter)
    settings = _settings(interpreter)
    states: list[SiteState] = []
    _walk_sites(interpreter, walk, states, settings)
    if options.scope != "regions":
        walk.candidate, walk.region, walk.site = True, "", None
        walk.context = Context(options.torch_version, options.python_version, settings=settings)
        _walk_candidates(interpreter, walk, frozenset(walk.compiled), options.scope == "all")
        walk.candidate = False
        _walk_sites(interpreter, walk, states, settings)
    compiled = frozenset(walk.compiled)
    resolved = {id(state.site.node) for state in states if not state.reason}
    unresolved = {id(s.site.node): s.reason for s in states if id(s.site.node) not in resolved}
    view = FileView(interpreter, compiled, options.scope, unresolved, options.torch_folder)
    places = {id(site.node): site.module for site in interpreter.sites}
    for rule in RULES.values():
        if options.wants(rule.code) and options.torch_version in rule.versions:
            for hit in rule.check_file(view, walk.context):
                walk.note(rule, hit, None, places.get(id(hit.node)))
    return assemble(interpreter, walk, states, options)


def _settings(interpreter: Interpreter) -> dict[str, object]:
    """``torch._dynamo.config`` as the file sets it, by assignment or in a module-level ``CONFIG`` dict."""
    found: dict[str, object] = dict(interpreter.settings)
    config = interpreter.module.scope.names.get("CONFIG")
    for key, value in getattr(config, "entries", {}).items():
        if isinstance(key, str) and isinstance(value, Const):
            found[key.rpartition(".")[2]] = value.value
    return found


def _walk_sites(interpreter: Interpreter, walk: Walk, states: list[SiteState], settings: dict[str, object]) -> None:
    """Walk every site that has not been walked yet, and those that are met on the way."""
    done = {id(state.site) for state in states}
    while pending := [site for site in interpreter.sites if id(site) not in done]:
        for site in pending:
            done.add(id(site))
            walk.site = site
            walk.functions, walk.files = set(), set()
            walk.context = Context(
                walk.options.torch_version,
                walk.options.python_version,
                fullgraph=site.keywords.get("fullgraph") == Const(True),
                contract=contract_of(site),
                settings=settings,
            )
            reason = _walk_site(interpreter, walk, site.target)
            states.append(SiteState(site, reason, frozenset(walk.functions), frozenset(walk.files)))
    known = {id(site) for site in interpreter.sites}
    states[:] = [state for state in states if id(state.site) in known]  # some became better known on the way


def _walk_site(interpreter: Interpreter, walk: Walk, target: Optional[Value]) -> str:
    """Walk what one site compiles; why not, where it is not known."""
    if target is None:
        return "nothing is given to it here"
    resolved = False
    for choice in options(target):
        entry = interpreter.entry(choice)
        walk.region = describe(choice)
        if entry is not None:
            resolved = True
            interpreter.trace(choice, walk, _calls(interpreter, choice))
            walk.reached(entry.module, entry.node)
        elif isinstance(choice, Instance) and choice.external_class.startswith("torch.nn."):
            resolved = True
            interpreter.trace_layer(choice, walk)
    return "" if resolved else _why_unresolved(target)


def _why_unresolved(target: Value) -> str:
    if isinstance(target, Instance):
        return f"the code of `{target.external_class or 'its class'}` was not found"
    if isinstance(target, (External, Module)):
        return f"the code of `{target.name}` was not found"
    return "what it compiles comes from a parameter, a factory or a configuration that cannot be read"


def describe(value: Value) -> str:
    """What a site compiles, by its name in the code."""
    if isinstance(value, Instance) and isinstance(value.cls, Class):
        return value.cls.qualified_name
    if isinstance(value, Partial):
        return describe(value.function)
    return getattr(value, "qualified_name", "")


def _calls(interpreter: Interpreter, root: Value) -> Optional[list[ExampleCall]]:
    """Example calls that the code itself gives for a root: evaluated abstractly, never run.

    Those of the file's own ``inputs()`` belong to what the file defines and does not call itself, where the number of
    arguments fits; else those with which host code calls it.
    """
    entry = interpreter.entry(root)
    if entry is None:
        return None
    return _provided_calls(interpreter, entry) or _host_calls(interpreter, entry)


def _host_calls(interpreter: Interpreter, entry: Function) -> Optional[list[ExampleCall]]:
    return interpreter.host_calls.get(id(entry.node))


def _provided_calls(interpreter: Interpreter, entry: Function) -> Optional[list[ExampleCall]]:
    if id(entry.node) in interpreter.called:
        return None
    if entry.owner is not None and (entry.name != "forward" or id(entry.owner.node) in interpreter.contained):
        return None
    parameters = entry.node.params
    wanted = len([p for p in (*parameters.posonly_params, *parameters.params) if p.name.value != "self"])
    for provider in PROVIDERS:
        calls = interpreter.example_calls(provider)
        if calls is None:
            continue
        if provider == "get_inputs":  # the list of the arguments of one call
            calls = [ExampleCall(tuple(value for call in calls for value in call.positional[:1]))]
        fitting = [c for c in calls if c.positional and (len(c.positional) <= wanted or parameters.star_arg)]
        if fitting:
            return fitting
    return None


def _walk_candidates(interpreter: Interpreter, walk: Walk, compiled: frozenset[int], everything: bool) -> None:
    """Walk what no region reaches: ``forward`` of modules, or every function (``--scope all``)."""
    for cls in interpreter.classes:
        forward = cls.find("forward")  # an inherited one calls the methods of this class
        if cls.is_module and isinstance(forward, Function) and id(forward.node) not in compiled:
            interpreter.trace(cls, walk, _provided_calls(interpreter, forward) if interpreter.entry(cls) else None)
    if not everything:
        return
    for function in list(interpreter.functions):
        own = isinstance(function.node, cst.FunctionDef)
        if not own or id(function.node) in compiled or id(function.node) in interpreter.cut:
            continue
        if function.name not in PROVIDERS and _may_be_compiled(interpreter, function):
            interpreter.trace(function, walk, _provided_calls(interpreter, function))


def _may_be_compiled(interpreter: Interpreter, function: Function) -> bool:
    """Could somebody compile this function by itself? Not what takes nothing, builds modules, or Python calls."""
    name = function.name
    if name.startswith("__") and name.endswith("__") and name != "__call__":
        return False
    if function.owner is None and not any(_all_parameters(function)):
        return False
    results = options(interpreter.results.get(id(function.node), UNKNOWN))
    return not all(isinstance(value, Partial) or (isinstance(value, Instance) and value.is_module) for value in results)


def _all_parameters(function: Function) -> list[object]:
    parameters = function.node.params
    rest = [p for p in (parameters.star_arg, parameters.star_kwarg) if isinstance(p, cst.Param)]
    return [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params, *rest]
