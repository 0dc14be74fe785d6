"""Cuts a Dynamo graph into pieces and puts it together again: one module a piece, called in the order of the graph.

Rules, those of vLLM's ``split_graph`` with what user code needs beyond them:

- a node that matches a split point, or that cannot be captured, starts an eager piece; eager neighbours share one;
- ``getitem`` stays with the node whose tuple it reads: no tuple crosses a border;
- ``x.shape`` and ``x.size()`` become one size a dimension: no ``torch.Size`` crosses a border;
- a piece that only makes views or allocates is joined to the eager piece before it: there is nothing to capture;
- what stands between entering and leaving ``autocast`` is in one piece, since the state would not cross a border;
- order is kept, so what is written in place is read as before.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ..untyped import torch
from . import names
from .hazards import NodeFacts
from .pieces import Piece
from .splitting import SplitPoint

ENTERING = ("_enter_autocast", "_enter_inference_mode", "_vmap_increment_nesting", "_saved_tensors_hooks_disable")
LEAVING = ("_exit_autocast", "_exit_inference_mode", "_vmap_decrement_nesting", "_saved_tensors_hooks_enable")
LEAST_BLOCK = 4
"""Nodes with work below which a block is not worth a call of its own."""

_GRAD = ("_set_grad_enabled", "set_grad_enabled")


@dataclass
class Part:
    """A piece in the making."""

    kind: str
    why: list[str] = field(default_factory=list[str])
    nodes: list[Any] = field(default_factory=list[Any])


@dataclass(frozen=True)
class Split:
    """A graph cut into pieces: ``root`` calls ``piece_0``, ``piece_1``, ... and holds them as submodules."""

    root: Any
    pieces: tuple[Piece, ...]


def decompose_sizes(graph_module: Any) -> None:
    """Replace ``x.shape`` and ``x.size()`` by one node a dimension, in place."""
    graph = graph_module.graph
    for node in list(graph.nodes):
        whole = node.op == "call_method" and node.target == "size" and len(node.args) == 1 and not node.kwargs
        shape = node.op == "call_function" and node.target is getattr and tuple(node.args[1:]) == ("shape",)
        if not (whole or shape):
            continue
        value = node.meta.get("example_value")
        if value is None:
            continue
        tensor: Any = node.args[0]
        sizes: list[Any] = []
        with graph.inserting_before(node):
            for index, size in enumerate(value):
                if isinstance(size, int):
                    sizes.append(size)
                    continue
                one = graph.call_function(torch.ops.aten.sym_size.int, (tensor, index))
                one.meta["example_value"] = size
                one.stack_trace = node.stack_trace
                sizes.append(one)
        for user in list(node.users):
            if user.op == "call_function" and user.target is operator.getitem and isinstance(user.args[1], int):
                replacement = sizes[user.args[1]]
                if isinstance(replacement, int):
                    _put_constant(user, replacement)
                else:
                    user.replace_all_uses_with(replacement)
                graph.erase_node(user)
            else:
                _replace_input(user, node, tuple(sizes))
        graph.erase_node(node)
    graph_module.recompile()


def _put_constant(node: Any, value: int) -> None:
    for user in list(node.users):
        _replace_input(user, node, value)


def _replace_input(user: Any, old: Any, new: Any) -> None:
    """Replace an argument that is a node by a constant or a tuple, wherever it stands in the arguments."""

    def swap(value: Any) -> Any:
        return new if value is old else value

    user.args = torch.fx.node.map_aggregate(user.args, swap)
    user.kwargs = torch.fx.node.map_aggregate(user.kwargs, swap)


def assign(graph_module: Any, facts: dict[Any, NodeFacts], points: Sequence[SplitPoint]) -> list[Part]:
    """Give every node that does something its piece."""
    parts: list[Part] = []
    where: dict[Any, Part] = {}
    for group in _regions(graph_module.graph):
        reasons = [reason for node in group for reason in _why(node, facts[node], points)]
        kind = "eager" if reasons else "capture"
        producer = _producer(group, where)
        if producer is not None:
            part = producer
        elif parts and parts[-1].kind == kind:
            part = parts[-1]
        else:
            part = Part(kind)
            parts.append(part)
        part.nodes.extend(group)
        part.why.extend(reason for reason in reasons if reason not in part.why)
        for node in group:
            where[node] = part
    return _joined(parts, facts)


def _regions(graph: Any) -> list[list[Any]]:
    """Nodes that stay together: each alone, but all of an autocast region in one group. Switches of gradients go:
    what is captured runs without gradients."""
    groups: list[list[Any]] = []
    depth = 0
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        name = getattr(node.target, "__name__", "")
        if name in _GRAD and not node.users:
            continue
        if depth:
            groups[-1].append(node)
        else:
            groups.append([node])
        depth += (name in ENTERING) - (name in LEAVING)
    return groups


def _why(node: Any, fact: NodeFacts, points: Sequence[SplitPoint]) -> list[str]:
    matched = [point.text for point in points if point.matches(node, fact.ops)]
    return matched[:1] if matched else [fact.unsafe] if fact.unsafe else []


def _producer(group: list[Any], where: dict[Any, Part]) -> Any:
    """The piece of the node whose tuple a ``getitem`` reads; None for all else."""
    node = group[0]
    if len(group) == 1 and node.op == "call_function" and node.target is operator.getitem:
        source = node.args[0]
        value = source.meta.get("example_value") if hasattr(source, "meta") else None
        if isinstance(value, (tuple, list)):
            return where.get(source)
    return None


def _joined(parts: list[Part], facts: dict[Any, NodeFacts]) -> list[Part]:
    """Join pieces with nothing to capture to an eager neighbour, and then eager neighbours to each other."""
    if len(parts) > 1:
        for part in parts:
            if part.kind == "capture" and not any(facts[node].works for node in part.nodes):
                part.kind = "eager"
    joined: list[Part] = []
    for part in parts:
        if joined and joined[-1].kind == part.kind:
            joined[-1].nodes.extend(part.nodes)
            joined[-1].why.extend(why for why in part.why if why not in joined[-1].why)
        else:
            joined.append(part)
    return joined


def segments(graph_module: Any, facts: dict[Any, NodeFacts]) -> list[Part]:
    """Cut a graph where one repeated block of the model ends: equal blocks become equal graphs, compiled once.

    A block is a module of the user's in a list (``layers.3``), the innermost one with enough nodes to be worth a call.
    """
    sizes = Counter(path for node in graph_module.graph.nodes for path in _blocks(node))
    parts: list[Part] = []
    where: dict[Any, Part] = {}
    current: Optional[str] = None
    for group in _regions(graph_module.graph):
        block = next((path for path in reversed(_blocks(group[0])) if sizes[path] >= LEAST_BLOCK), "")
        part = _producer(group, where)
        if part is None:
            if not parts or block != current:
                parts.append(Part("capture"))
                current = block
            part = parts[-1]
        part.nodes.extend(group)
        for node in group:
            where[node] = part
    return _without_crumbs(parts, facts)


def _blocks(node: Any) -> list[str]:
    """Paths of the repeated blocks around a node, outermost first."""
    return [
        path
        for path, cls in names.module_path(node)
        if path.rpartition(".")[2].isdigit() and not cls.__module__.startswith("torch.nn.")
    ]


def _without_crumbs(parts: list[Part], facts: dict[Any, NodeFacts]) -> list[Part]:
    """Join what stands between blocks to the block before it, or at the start to the one behind it."""
    joined: list[Part] = []
    for part in parts:
        small = sum(facts[node].works for node in part.nodes) < LEAST_BLOCK
        if joined and (small or sum(facts[node].works for node in joined[-1].nodes) < LEAST_BLOCK):
            joined[-1].nodes.extend(part.nodes)
        else:
            joined.append(part)
    return joined


def hoist_numbers(graph_module: Any) -> None:
    """Move the reading of numbers that are arguments of the graph to its start, in place.

    Dynamo hands a float that varies over as a tensor without dimensions and reads it where it is used; each reading
    would cut the graph.
    """
    graph = graph_module.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for placeholder in placeholders:
        value = placeholder.meta.get("example_value")
        if not isinstance(value, torch.Tensor) or value.dim() or value.device.type != "cpu":
            continue
        users = list(placeholder.users)
        if not all(user.op == "call_method" and user.target == "item" for user in users):
            continue
        for user in users:
            placeholders[-1].append(user)
            user.stack_trace = None
    graph_module.recompile()


def split(graph_module: Any, facts: dict[Any, NodeFacts], parts: list[Part], graph_index: int = 0) -> Split:
    """Build the graph of the pieces; sizes have to be decomposed before the nodes are examined and assigned."""
    root_graph: Any = torch.fx.Graph()
    values: dict[Any, Any] = {}
    modules: dict[str, Any] = {}
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            values[node] = root_graph.node_copy(node)
    symbols = _symbols({node: facts[node].value for node in values})
    owner = {node: index for index, part in enumerate(parts) for node in part.nodes}
    for index, part in enumerate(parts):
        inputs, outputs = _border(part.nodes, owner, index, symbols, facts)
        module = _module(graph_module, part.nodes, inputs, outputs, facts)
        modules[f"piece_{index}"] = module
        call = root_graph.call_module(f"piece_{index}", tuple(values[node] for node in inputs))
        for position, node in enumerate(outputs):
            values[node] = root_graph.call_function(operator.getitem, (call, position))
            symbols.update(_symbols({node: facts[node].value}, symbols))
    output = next(node for node in graph_module.graph.nodes if node.op == "output")
    root_graph.output(torch.fx.node.map_arg(output.args[0], values.__getitem__))
    root = torch.fx.GraphModule(modules, root_graph)
    pieces = tuple(_piece(graph_index, index, part, facts) for index, part in enumerate(parts))
    return Split(root, pieces)


def _symbols(values: dict[Any, Any], known: Any = ()) -> dict[Any, Any]:
    """Nodes that hold a size by its symbol: a piece that gets a tensor of that size gets the size too."""
    found: dict[Any, Any] = {}
    for node, value in values.items():
        if isinstance(value, torch.SymInt):
            expression = value.node.expr
            if expression.is_Symbol and expression not in known and expression not in found:
                found[expression] = node
    return found


def _border(
    nodes: list[Any], owner: dict[Any, int], index: int, symbols: dict[Any, Any], facts: dict[Any, NodeFacts]
) -> tuple[list[Any], list[Any]]:
    """Values that go into a piece, sizes first, and values of it that are needed behind it."""
    inside = set(nodes)
    read: dict[Any, None] = {}
    for node in nodes:
        for value in node.all_input_nodes:
            if value not in inside:
                read[value] = None
    sizes: dict[Any, None] = {}
    for node in read:
        for symbol in sorted(_free_symbols(facts[node].value), key=str):
            if symbol in symbols and symbols[symbol] not in inside:
                sizes[symbols[symbol]] = None
    inputs = [*sizes, *(node for node in read if node not in sizes)]
    outputs = [node for node in nodes if any(owner.get(user, -1) != index for user in node.users)]
    return inputs, outputs


def _free_symbols(value: Any) -> set[Any]:
    """Symbols in the sizes and strides of a value."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return set(value.node.expr.free_symbols)
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        found: set[Any] = set()
        for size in (*value.shape, *value.stride(), value.storage_offset()):
            found |= _free_symbols(size)
        return found
    return set()


def _module(graph_module: Any, nodes: list[Any], inputs: list[Any], outputs: list[Any], facts: Any) -> Any:
    """A graph module that takes ``inputs``, does what the nodes do, and returns a tuple."""
    graph: Any = torch.fx.Graph()
    inner: dict[Any, Any] = {}
    for node in inputs:
        placeholder = graph.placeholder(node.name)
        placeholder.meta = {
            "example_value": facts[node].value,
            "tensor_dict": node.meta.get("tensor_dict"),
            "stays": node.op == "placeholder" and stays(node),
        }
        inner[node] = placeholder
    for node in nodes:
        inner[node] = graph.node_copy(node, inner.__getitem__)
        inner[node].meta = dict(node.meta)
        inner[node].meta.setdefault("example_value", facts[node].value)
    graph.output(tuple(inner[node] for node in outputs))
    return torch.fx.GraphModule(graph_module, graph)


def stays(placeholder: Any) -> bool:
    """Whether an input of the graph is a parameter or buffer, whose address stays from call to call.

    Seen on 2.6 to 2.13: ``meta["tensor_dict"]["_dynamo_static_input_type"]``; before, parameters by their type.
    """
    if "_dynamo_static_input_type" in (placeholder.meta.get("tensor_dict") or {}):
        return True
    return isinstance(placeholder.meta.get("example_value"), torch.nn.Parameter)


def _piece(graph: int, index: int, part: Part, facts: dict[Any, NodeFacts]) -> Piece:
    ops = Counter(op for node in part.nodes for op in facts[node].ops)
    places = dict.fromkeys(where for where in map(names.place, part.nodes) if where is not None)
    modules = dict.fromkeys(path for node in part.nodes for path, _ in names.module_path(node)[-1:])
    return Piece(
        graph=graph,
        index=index,
        kind=part.kind,
        why="; ".join(part.why),
        ops=tuple(ops.most_common()),
        places=tuple(places),
        modules=tuple(modules),
        nodes=len(part.nodes),
    )
