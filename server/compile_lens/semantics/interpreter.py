"""The interpreter: walks a module, and the functions that Dynamo would trace from its compiled regions.

Two passes. The first runs the top-level code and, once, every function, as host code: it gives names their values and
finds the `torch.compile` sites. The second walks each *root* (what a site compiles, or what the caller asks for) as
Dynamo would, following calls, and announces the operations on values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import libcst as cst

from ..text.source import Source
from .attributes import method_of, read_attribute
from .binding import bind_parameters
from .calls import call_instance, call_value, instantiate
from .code import dotted_name
from .contracts import is_contract_decorator
from .examples import ExampleCall, calls_of, merge
from .expressions import evaluate, test
from .frames import Frame
from .loading import Loader, external
from .modules import CompileSite, Construction, SourceModule
from .operations import ArgumentVaries, Operation
from .parameters import from_annotation
from .scopes import Scope
from .statements import assign, body_of, execute
from .values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Instance,
    Iterator,
    Partial,
    Tensor,
    Union,
    Unknown,
    Value,
    join,
    options,
)
from .workspace import Workspace

MAX_DEPTH = 14
MAX_HOST_DEPTH = 8
MAX_TARGETS = 8
"""Different things that one place may give to ``torch.compile``."""
MAX_HOST_CALLS = 4
MAX_CALLS = 6000
"""Calls followed for one root; beyond it the rest of the root is not walked, and the region says so."""


Listener = Callable[[Operation], None]


class Interpreter:
    """Interprets one file. ``listener`` hears every operation in code that Dynamo would trace."""

    def __init__(
        self,
        source: Source,
        tree: cst.Module,
        python_version: tuple[int, int] = (3, 11),
        workspace: Optional[Workspace] = None,
    ) -> None:
        self.module = SourceModule(source, tree, Scope())
        """The entry: the file whose sites are walked."""
        self.loader = Loader(self.module, workspace, self._run_imported)
        self.sites: list[CompileSite] = []
        self.python_version = python_version
        self.listener: Optional[Listener] = None
        self.contained: set[int] = set()
        """``id`` of the nodes of classes of which another module builds objects."""
        self.called: set[int] = set()
        """``id`` of the nodes of functions that other functions of the file call."""
        self.results: dict[int, Value] = {}
        """What functions return as host code, by ``id`` of their node."""
        self.cut: dict[int, str] = {}
        """Functions that Dynamo does not enter, by ``id`` of their node, and why."""
        self.current_class: Optional[Class] = None
        self.exhausted = False
        self._calls = 0
        self._active: list[int] = []
        self._summaries: dict[Any, Value] = {}
        self._decorators: dict[int, tuple[str, ...]] = {}
        self.host_calls: dict[int, list[ExampleCall]] = {}
        """Arguments that host code gives to functions, by ``id`` of their node."""
        self._site_targets: dict[int, list[Optional[Value]]] = {}
        self.stored_outside_init: dict[int, set[str]] = {}
        """Attributes that methods other than the constructor assign, by ``id`` of the node of the class."""
        self._instances: dict[int, Instance] = {}

    # --- what is known of the file ---------------------------------------------------------------------------------

    @property
    def functions(self) -> list[Function]:
        return self.module.functions

    @property
    def classes(self) -> list[Class]:
        return self.module.classes

    @property
    def constructions(self) -> list[Construction]:
        return self.module.constructions

    @property
    def settings(self) -> dict[str, object]:
        return self.module.settings

    def module_functions(self) -> list[Function]:
        return self.module.module_functions()

    # --- the first pass --------------------------------------------------------------------------------------------

    def run_module(self) -> None:
        """Execute the top-level code, then every function once, as host code: names get values, sites are found."""
        self._budget()
        scope = self.module.scope
        scope.names["__name__"] = Const("__main__")
        execute(Frame(self, self.module, scope), list(self.module.tree.body))
        for function in list(self.functions):
            if isinstance(function.node, cst.FunctionDef):
                self._budget()
                self.call_function(None, self._bound_to_example(function), (), {"**": UNKNOWN}, None)

    def _run_imported(self, module: SourceModule) -> None:
        """Execute the top-level code of an imported module, in the middle of whatever is being walked."""
        saved = self.listener, self.current_class, self._calls, self.exhausted, self._active
        self.listener, self.current_class, self._calls, self.exhausted, self._active = None, None, 0, False, []
        try:
            execute(Frame(self, module, module.scope), list(module.tree.body))
        finally:
            self.listener, self.current_class, self._calls, self.exhausted, self._active = saved

    def _budget(self) -> None:
        self._calls = 0
        self.exhausted = False

    def defined(self, value: Value) -> None:
        """A function or class definition was executed."""
        if isinstance(value, (Function, Class)) and isinstance(value.module, SourceModule):
            value.module.defined(value)

    def configured(self, frame: Frame, name: str, value: object) -> None:
        """``torch._dynamo.config.name`` is set."""
        if isinstance(frame.module, SourceModule):
            frame.module.settings[name] = value

    def constructed(self, frame: Frame, target: cst.CSTNode, statement: cst.Assign, value: Value) -> None:
        """An assignment was executed: note it if it binds a new module to a name."""
        if not isinstance(value, Instance) or not value.is_module or not isinstance(statement.value, cst.Call):
            return
        if isinstance(target, cst.Name) and not frame.traced and frame.statements:
            body, index = frame.statements[-1]
            line = body[index]
            simple = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
            if simple and all(line is not built.statement for built in self.constructions):
                self.constructions.append(Construction(target.value, line, statement.value, value))

    def decorators(self, function: Function) -> tuple[str, ...]:
        """Dotted names of the decorators of a function, resolved through the imports."""
        if not isinstance(function.node, cst.FunctionDef):
            return ()
        found = self._decorators.get(id(function.node))
        if found is None:
            found = tuple(self.decorator_name(function.scope, d) for d in function.node.decorators)
            self._decorators[id(function.node)] = found
        return found

    def decorator_name(self, scope: Scope, decorator: cst.Decorator) -> str:
        node = decorator.decorator
        return self.name_in(scope, node.func if isinstance(node, cst.Call) else node)

    def name_in(self, scope: Scope, node: cst.BaseExpression) -> str:
        """Dotted name that an expression denotes, through the imports; the text itself where they say nothing."""
        text = dotted_name(node)
        if not text:
            return ""
        first, _, rest = text.partition(".")
        value = scope.get(first)
        if isinstance(value, External):
            resolved = external(f"{value.name}.{rest}" if rest else value.name)
            return resolved.name if isinstance(resolved, External) else text
        return text

    def decorate(self, frame: Frame, value: Value, decorator: cst.Decorator) -> Value:
        """What a decorator makes of a function or class."""
        name = self.decorator_name(frame.scope, decorator)
        node = decorator.decorator
        keywords: dict[str, Value] = {}
        if isinstance(node, cst.Call):
            keywords = {a.keyword.value: evaluate(frame, a.value) for a in node.args if a.keyword is not None}
        applied = evaluate(frame, node) if isinstance(node, cst.Name) else UNKNOWN
        if name in ("torch.compile", "torch._dynamo.optimize") or _is_compile(applied):
            self.compile_site(frame, decorator, value, keywords, "decorator")
            return value
        if isinstance(value, Class) and is_contract_decorator(name):
            self.compile_site(frame, decorator, value, {**keywords, "fullgraph": Const(True)}, "vllm")
            return value
        if name in _CUTS and isinstance(value, Function):
            self.cut[id(value.node)] = name
            return value
        if name in _TRANSPARENT or name.rsplit(".", 1)[-1] in ("no_grad", "inference_mode", "autocast", "enable_grad"):
            return value
        if name.endswith((".setter", ".getter", ".deleter")):
            return value
        return self._decorated(frame, value, decorator)

    def _decorated(self, frame: Frame, value: Value, decorator: cst.Decorator) -> Value:
        """What a decorator of analysed code returns: it may register, compile or wrap what it is given.

        An unknown one most often wraps the function: its body still is what gets traced.
        """
        listener, self.listener = self.listener, None
        try:
            callee = evaluate(frame, decorator.decorator)
            if not isinstance(callee, (Function, Partial, Union)):
                return value
            call = cst.Call(cst.Name("decorator"))
            result = call_value(frame, call, callee, (value,), {})
        finally:
            self.listener = listener
        known = options(result)
        return result if all(isinstance(v, (Function, Class, Partial)) for v in known) else value

    def compile_site(
        self, frame: Frame, node: cst.CSTNode, target: Optional[Value], keywords: dict[str, Value], form: str = ""
    ) -> None:
        """Something is given to ``torch.compile`` here."""
        if frame.function is None and frame.module is not self.module:
            return  # that file's own region
        known = self._site_targets.setdefault(id(node), [])
        if any(target is other or target == other for other in known) or len(known) >= MAX_TARGETS:
            return
        if known and (target is None or isinstance(target, Unknown)):
            return  # the same place, reached by a way that says less
        known.append(target)
        self.sites = [s for s in self.sites if s.node is not node or not isinstance(s.target, (Unknown, type(None)))]
        method = (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and isinstance(target, Instance)
            and dotted_name(node.func) != "torch.compile"
        )
        kind = form or ("method" if method else "call")
        site = CompileSite(node, target, frame.module, keywords, kind, frame.name if frame.function else "")
        self.sites.append(site)
        if isinstance(frame.module, SourceModule):
            frame.module.compiled(site)

    # --- the second pass -------------------------------------------------------------------------------------------

    def trace(self, root: Value, listener: Listener, calls: Optional[list[ExampleCall]] = None) -> bool:
        """Walk a function, method or module as Dynamo would when it is compiled.

        ``calls``: example calls to walk it with; without any the parameters say what they are. False: the budget ended
        before the walk did.
        """
        self._budget()
        self._summaries.clear()
        self.listener = listener
        try:
            target = self.entry(root)
            if target is not None:
                for call in merge(calls) if calls else [ExampleCall((), {"**": UNKNOWN})]:
                    self._announce_variations(target, call)
                    self.call_function(None, target, call.positional, dict(call.keywords), None, root=True)
        finally:
            self.listener = None
        return not self.exhausted

    def trace_layer(self, layer: Instance, listener: Listener) -> bool:
        """Walk one of torch's own modules that is compiled itself: the analysed modules that it contains."""
        self._budget()
        self.listener = listener
        try:
            node = cst.Call(cst.Name("layer"))
            call_instance(Frame(self, self.module, Scope(), traced=True), node, layer, (Tensor(),), {}, True)
        finally:
            self.listener = None
        return not self.exhausted

    def _announce_variations(self, target: Function, call: ExampleCall) -> None:
        frame = Frame(self, target.module, Scope(target.scope), target, traced=True)
        parameters = [*target.node.params.posonly_params, *target.node.params.params]
        if target.bound is not None:
            parameters = parameters[1:]
        for index, variation in call.variations.items():
            if index < len(parameters):
                parameter = parameters[index]
                self.announce(ArgumentVaries(parameter.name, frame, True, parameter.name.value, variation))

    def entry(self, root: Value) -> Optional[Function]:
        """The function that runs when a root is called: ``forward`` of a module, ``__call__`` of an object."""
        if isinstance(root, Partial):
            return self.entry(root.function)
        if isinstance(root, Class):
            root = self.example(root)
        if isinstance(root, Instance) and isinstance(root.cls, Class):
            method = method_of(root.cls, "forward" if root.is_module else "__call__")
            if method is None:
                return None
            return Function(method.node, method.module, method.scope, method.owner, root)
        if isinstance(root, Function):
            return self._bound_to_example(root)
        return None

    def example(self, cls: Class) -> Instance:
        """An object of a class as its constructor makes it when nothing is known of the arguments."""
        instance = self._instances.get(id(cls.node))
        if instance is None:
            instance = Instance(cls)
            self._instances[id(cls.node)] = instance
            listener, self.listener = self.listener, None
            made = instantiate(Frame(self, self.module, self.module.scope), cls, (), {"**": UNKNOWN}, None)
            self.listener = listener
            if isinstance(made, Instance):
                instance.attributes, instance.changing = made.attributes, made.changing
        return instance

    def _bound_to_example(self, function: Function) -> Function:
        if function.owner is None or function.bound is not None or "staticmethod" in self.decorators(function):
            return function
        bound: Value = function.owner
        if "classmethod" not in self.decorators(function):
            bound = self.example(function.owner)
        return Function(function.node, function.module, function.scope, function.owner, bound)

    def announce(self, operation: Operation) -> None:
        """Tell the listener of an operation, if Dynamo would see it."""
        if self.listener is not None and operation.frame.traced:
            self.listener(operation)

    # --- calls -----------------------------------------------------------------------------------------------------

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
        """Walk the body of a function with abstract arguments; what it returns."""
        if id(function.node) in self.cut:
            return from_annotation(_returns(function.node))
        if caller is not None and caller.function is not None:
            self.called.add(id(function.node))
        traced = root or (caller is not None and caller.traced and not quiet)
        depth = caller.depth + 1 if caller is not None else 0
        if depth > MAX_DEPTH or self._active.count(id(function.node)) > 1 or (not traced and depth > MAX_HOST_DEPTH):
            return from_annotation(_returns(function.node))
        self._calls += 1
        if self._calls > MAX_CALLS:
            self.exhausted = True
            return UNKNOWN
        scope = Scope(function.scope)
        if caller is not None and not caller.traced:
            self._note_host_call(function, arguments, keywords)
        bind_parameters(self, function, scope, arguments, keywords)
        key = self._summary_key(function, scope, traced, caller)
        if key is not None and key in self._summaries:
            return self._summaries[key]
        frame = Frame(self, function.module, scope, function, caller, traced, depth=depth, call=node)
        if caller is not None and caller.conditional:
            frame.conditional = 1
        self._active.append(id(function.node))
        try:
            result = self._run(frame, function)
        finally:
            self._active.pop()
        if key is not None:
            self._summaries[key] = result
        if not traced:
            self.results[id(function.node)] = result
        return result

    def _note_host_call(self, function: Function, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        """Remember what host code gives to a function: the arguments with which it runs when it is compiled."""
        given = [*arguments, *keywords.values()]
        if not given or all(isinstance(value, Unknown) for value in given):
            return
        calls = self.host_calls.setdefault(id(function.node), [])
        if len(calls) < MAX_HOST_CALLS:
            calls.append(ExampleCall(arguments, dict(keywords)))

    def _run(self, frame: Frame, function: Function) -> Value:
        node = function.node
        if isinstance(node, cst.Lambda):
            return evaluate(frame, node.body)
        execute(frame, body_of(node))
        if frame.yielded is not None:
            return Iterator(frame.yielded, "generator")
        result = frame.returned if frame.returned is not None else NONE
        if not frame.dead and frame.returned is not None:
            result = join(result, NONE)
        declared = from_annotation(_returns(node))
        if isinstance(result, Unknown) and not isinstance(declared, Unknown):
            return declared
        return result

    def _summary_key(self, function: Function, scope: Scope, traced: bool, caller: Optional[Frame]) -> Any:
        """Same body, same kinds of arguments, same surroundings: walked once."""
        try:
            skips = caller.breaking_skips() if caller is not None and traced else False
            names = tuple(sorted((name, hash(value)) for name, value in scope.names.items()))
            return (id(function.node), id(function.bound), traced, skips, names)
        except TypeError:
            return None

    # --- services for the evaluators -------------------------------------------------------------------------------

    def evaluate(self, frame: Frame, node: cst.CSTNode) -> Value:
        return evaluate(frame, node)

    def test(self, frame: Frame, node: cst.BaseExpression, kind: str, statement: cst.CSTNode) -> Optional[bool]:
        return test(frame, node, kind, statement)

    def read_attribute(self, frame: Frame, node: cst.CSTNode, receiver: Value, name: str) -> Value:
        return read_attribute(frame, node, receiver, name)

    def call(
        self, frame: Frame, node: cst.Call, callee: Value, arguments: tuple[Value, ...], keywords: dict[str, Value]
    ) -> Value:
        return call_value(frame, node, callee, arguments, keywords)

    def assign(self, frame: Frame, target: cst.CSTNode, value: Value) -> None:
        assign(frame, target, value)

    def resolve(self, frame: Frame, node: cst.BaseExpression) -> Value:
        """Value of a chain of names, without announcing anything."""
        name = self.name_in(frame.scope, node)
        return External(name) if name else UNKNOWN

    def example_calls(self, provider: str) -> Optional[list[ExampleCall]]:
        """Calls that a file's own ``inputs()`` or ``probe_inputs()`` describes, evaluated abstractly."""
        function = self.module.scope.names.get(provider)
        if not isinstance(function, Function):
            return None
        listener, self.listener = self.listener, None
        result = self.call_function(None, function, (), {}, None)
        self.listener = listener
        return calls_of(result) or None


def _is_compile(value: Value) -> bool:
    """``functools.partial(torch.compile, ...)``, as a decorator."""
    return isinstance(value, Partial) and value.function == External("torch.compile") and not value.arguments


def _returns(node: cst.CSTNode) -> Optional[cst.BaseExpression]:
    returns = getattr(node, "returns", None)
    return returns.annotation if returns is not None else None


_CUTS = frozenset(
    {
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "torch.compiler.allow_in_graph",
        "torch._dynamo.allow_in_graph",
        "torch._dynamo.nonstrict_trace",
        "torch.compiler.nonstrict_trace",
        "torch.library.custom_op",
        "torch.library.triton_op",
    }
)
"""Decorators behind which Dynamo does not look."""
_TRANSPARENT = frozenset({"property", "staticmethod", "classmethod", "functools.wraps", "abc.abstractmethod"})
