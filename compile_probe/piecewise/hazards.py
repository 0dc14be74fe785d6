"""What each node of a graph does to memory and to the host: the ops below it, and why it could not be captured.

The graph is run once on its own fake tensors under a dispatch mode, which sees the ATen ops with their tags. A
capture records device work only: what asks the host for a value, makes a shape from data or moves data between devices
cannot be in it. Seen on 2.5 to 2.13: ``torch.Tag``, ``TorchDispatchMode``, ``FakeTensor.fake_mode``,
``ShapeEnv.ignore_fresh_unbacked_symbols``, ``meta["example_value"]``.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Optional

from ..untyped import torch

UNSAFE_TAGS = {
    "data_dependent_output": "its result depends on data that the host has to read",
    "dynamic_output_shape": "the shape of its result depends on data",
    "cudagraph_unsafe": "it is marked as unsafe to capture",
}

_CONTROL_FLOW = ("cond", "while_loop", "map", "scan", "associative_scan")

_FREE_NAMESPACES = ("prim",)
_VIEWS = {
    *("view", "reshape", "transpose", "t", "permute", "unsqueeze", "squeeze", "expand", "slice", "select", "detach"),
    *("alias", "as_strided", "unbind", "split", "chunk", "_unsafe_view", "flatten", "unflatten", "lift_fresh"),
}
_HIDDEN_WRITES = {
    **dict.fromkeys(("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"), ("running_mean", "running_var")),
}
"""Arguments that an op writes though its schema does not say so (the running statistics, in training)."""

_ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


@dataclass
class NodeFacts:
    """What is known of one node. ``value`` is what it yields on fake tensors; storages are identities of memory."""

    value: Any = None
    ops: tuple[str, ...] = ()
    unsafe: str = ""
    mutates: frozenset[int] = frozenset()
    works: bool = False
    random: bool = False
    devices: frozenset[str] = frozenset()


@dataclass
class _Seen:
    ops: list[str] = field(default_factory=list[str])
    unsafe: str = ""
    mutates: set[int] = field(default_factory=set[int])
    works: bool = False
    random: bool = False
    devices: set[str] = field(default_factory=set[str])


def storage_of(tensor: Any) -> int:
    """The identity of a tensor's memory, of a fake tensor's too; -1 where it has none."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # sparse and other layouts
        return -1


def fake_mode_of(values: list[Any]) -> Optional[Any]:
    """The fake mode of the placeholders: its own, which need not be that of the tracing context."""
    return next((value.fake_mode for value in values if hasattr(value, "fake_mode")), None)


def examine(graph_module: Any) -> dict[Any, NodeFacts]:
    """Run a Dynamo graph on its fake values and tell what each of its nodes does."""
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    mode = fake_mode_of([node.meta.get("example_value") for node in placeholders])
    facts: dict[Any, NodeFacts] = {}
    interpreter = _Examiner(graph_module, facts)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if mode is not None:
            stack.enter_context(mode)
            if mode.shape_env is not None:
                stack.enter_context(mode.shape_env.ignore_fresh_unbacked_symbols())
        interpreter.run()
    main = main_device(placeholders)
    for fact in facts.values():
        if main != "cpu" and "cpu" in fact.devices and not fact.unsafe:
            fact.unsafe = "it runs on the CPU"
    return facts


def main_device(placeholders: list[Any]) -> str:
    """Where a graph does its work: the device of its inputs that is not the CPU, if there is one."""
    values = [node.meta.get("example_value") for node in placeholders]
    kinds = {value.device.type for value in values if isinstance(value, torch.Tensor)}
    return next(iter(sorted(kinds - {"cpu"})), "cpu")


class _Examiner:
    """Runs a graph node by node; an ``fx.Interpreter`` frees values, and these are kept."""

    def __init__(self, module: Any, facts: dict[Any, NodeFacts]) -> None:
        self._runner: Any = torch.fx.Interpreter(module, garbage_collect_values=False)
        self._module = module
        self._facts = facts

    def run(self) -> None:
        for node in self._module.graph.nodes:
            self._facts[node] = self._examine(node)
            self._runner.env[node] = self._facts[node].value

    def _examine(self, node: Any) -> NodeFacts:
        recorded = node.meta.get("example_value")
        if node.op == "placeholder":
            return NodeFacts(recorded)
        if node.op == "output":
            return NodeFacts()
        if node.op == "get_attr":
            return NodeFacts(recorded if recorded is not None else self._attribute(str(node.target)))
        opaque = _opaque(node)
        if opaque:
            return NodeFacts(recorded, (str(getattr(node.target, "_name", node.target)),), opaque, works=True)
        watch = _Watch()
        try:
            with watch.mode():
                value = self._runner.run_node(node)
        except Exception as error:  # what fakes cannot do, a capture cannot either
            return NodeFacts(
                recorded, tuple(watch.seen.ops), f"it cannot be run on fake tensors ({_first_line(error)})", works=True
            )
        seen = watch.seen
        if recorded is not None and _has_fresh_symbols(value, recorded):
            value = recorded  # later nodes speak of the symbols of the first run
        mutates, devices = frozenset(seen.mutates), frozenset(seen.devices)
        return NodeFacts(value, tuple(seen.ops), seen.unsafe, mutates, seen.works, seen.random, devices)

    def _attribute(self, target: str) -> Any:
        value = self._module
        for part in target.split("."):
            value = getattr(value, part)
        return value


def _opaque(node: Any) -> str:
    """Why a higher-order operator is left out of captures: its body is a graph of its own."""
    name = getattr(node.target, "_name", None)
    if name is None or not type(node.target).__module__.startswith(("torch._ops", "torch._higher_order_ops")):
        return ""
    if isinstance(node.target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return ""
    if name in _CONTROL_FLOW:
        return "which branch it takes depends on data that the host has to read"
    return "it holds a graph of its own, which is not looked into"


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _has_fresh_symbols(value: Any, recorded: Any) -> bool:
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return str(value) != str(recorded)
    if isinstance(value, torch.Tensor) and isinstance(recorded, torch.Tensor):
        return str(tuple(value.shape)) != str(tuple(recorded.shape))
    return False


class _Watch:
    """A dispatch mode that notes the ops of one node."""

    def __init__(self) -> None:
        self.seen = _Seen()

    def mode(self) -> Any:
        """The mode, made on demand: its base class is torch's."""
        seen = self.seen
        base: Any = torch.utils._python_dispatch.TorchDispatchMode

        class Mode(base):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                result = func(*args, **(kwargs or {}))
                note(seen, func, args, kwargs or {}, result)
                return result

        return Mode()


def note(seen: _Seen, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
    """Enter one dispatched op into what was seen."""
    op = str(func.name()) if "." in func.name() else f"{func.name()}.default"
    namespace, _, rest = op.partition("::")
    if namespace in _FREE_NAMESPACES:  # asks a tensor for its device and the like
        return
    seen.ops.append(op)
    packet = rest.partition(".")[0]
    tags = {str(tag).rpartition(".")[2] for tag in func.tags}
    for tag, why in UNSAFE_TAGS.items():
        if tag in tags and not seen.unsafe:
            seen.unsafe = why
    made = _tensors(result)
    read = [tensor for tensor in _tensors((args, kwargs)) if tensor.dim()]  # a number on the CPU may join device work
    devices = {tensor.device.type for tensor in (*read, *made)}
    if not seen.unsafe and len(devices) > 1:
        seen.unsafe = f"it moves data between devices ({', '.join(sorted(devices))})"
    seen.devices |= devices
    if "nondeterministic_seeded" in tags:
        seen.random = True
    if packet not in _VIEWS | _ALLOCATIONS:
        seen.works = True
    hidden = _HIDDEN_WRITES.get(packet, ())
    for index, argument in enumerate(func._schema.arguments):
        declared = argument.alias_info is not None and argument.alias_info.is_write
        if declared or argument.name in hidden:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            seen.mutates |= {storage_of(tensor) for tensor in _tensors(value)}


def _tensors(tree: Any) -> list[Any]:
    leaves: list[Any] = torch.utils._pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
