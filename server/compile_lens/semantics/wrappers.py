"""The compile sites of a file with what becomes of what they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import libcst as cst

from .code import dotted_name
from .flow import Flow, Read, flow_of
from .modules import CompileSite, SourceModule
from .uses import Use, runs_before, uses, uses_of_definition
from .values import Class, External, Function, Instance, Partial, Sequence, Value, options

BOOKKEEPING = frozenset(
    """to eval train cuda cpu xpu npu half float double bfloat16 type requires_grad_ share_memory apply to_empty
    parameters named_parameters buffers named_buffers modules named_modules children named_children state_dict
    load_state_dict zero_grad register_buffer register_parameter register_module add_module extra_repr
    get_submodule get_parameter
    get_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook compile""".split()
)
"""Methods of ``nn.Module`` that run no ``forward``."""


@dataclass(frozen=True)
class Wrapper:
    """What ``torch.compile(target)`` returned, or the module that ``target.compile()`` compiled in place."""

    site: CompileSite
    call: cst.Call
    target: Optional[cst.BaseExpression]
    """What is compiled, as it is written."""
    uses: tuple[Use, ...]
    """Of what the call returned; in place: of the module, behind the call."""
    in_place: bool = False

    @property
    def original(self) -> list[Value]:
        """What is known of the compiled value, every alternative of it."""
        return list(options(self.site.target)) if self.site.target is not None else []

    @property
    def is_function(self) -> bool:
        """Is it a function or method, for certain?"""
        return bool(self.original) and all(
            isinstance(value, Function) or (isinstance(value, Partial) and isinstance(value.function, Function))
            for value in self.original
        )

    @property
    def is_module(self) -> bool:
        """Is it an ``nn.Module``, for certain?"""
        return bool(self.original) and all(isinstance(v, Instance) and v.is_module for v in self.original)

    @property
    def classes(self) -> list[Class]:
        """The analysed classes of it; empty as soon as one alternative is something else."""
        found = [value.cls for value in self.original if isinstance(value, Instance) and isinstance(value.cls, Class)]
        return found if len(found) == len(self.original) else []


def runs_code_of_torch(value: Value) -> bool:
    """Does calling a module run a ``forward`` that torch defines, so that nothing of it is compiled in place?

    Dynamo skips frames of torch's own files; the wrapper of ``torch.compile(model)`` gets around that (2.5.1 to 2.13),
    ``model.compile()`` does not.
    """
    if not isinstance(value, Instance):
        return False
    if isinstance(value.cls, External):
        return value.is_module and value.external_class.startswith("torch.nn.")
    if not isinstance(value.cls, Class) or value.cls.find("forward") is not None or "forward" in value.attributes:
        return False
    bases = value.cls.external_bases
    return bool(bases) and all(name.startswith("torch.nn.") and name != "torch.nn.Module" for name in bases)


def holds_only_layers(value: Value) -> bool:
    """Is it one of torch's layers or a container of nothing else, as far as that is known?"""
    if not runs_code_of_torch(value) or not isinstance(value, Instance):
        return False
    items = value.attributes.get("_items")
    if items is None:
        return not value.external_class.endswith(("Sequential", "DataParallel")) and isinstance(value.cls, External)
    return isinstance(items, Sequence) and items.items is not None and all(map(holds_only_layers, items.items))


def wrappers_of(module: SourceModule) -> list[Wrapper]:
    """All sites of a file that call ``torch.compile`` or ``.compile()``; decorators are none."""
    count, found = module.derived.get("wrappers", (-1, []))
    if count != len(module.sites):
        flow = flow_of(module)
        found = [wrapper for site in module.sites if (wrapper := _wrapper(flow, site)) is not None]
        module.derived["wrappers"] = len(module.sites), found
    return found


def _wrapper(flow: Flow, site: CompileSite) -> Optional[Wrapper]:
    node = site.node
    if not isinstance(node, cst.Call) or site.target is None or id(node) not in flow.parents:
        return None
    if site.form == "method":
        if not isinstance(node.func, cst.Attribute):
            return None
        receiver = node.func.value
        return Wrapper(site, node, receiver, tuple(_behind(flow, node, receiver)), in_place=True)
    return Wrapper(site, node, compiled_argument(node), tuple(uses(flow, node)))


def compiled_argument(call: cst.Call) -> Optional[cst.BaseExpression]:
    """The expression that a call of ``torch.compile`` compiles."""
    for argument in call.args:
        if not argument.star and (argument.keyword is None or argument.keyword.value == "model"):
            return argument.value
    return None


def _behind(flow: Flow, call: cst.Call, receiver: cst.BaseExpression) -> list[Use]:
    """Uses, after a call, of the variable that it is made on."""
    read = flow.reads.get(id(receiver))
    found: list[Use] = []
    for definition in read.definitions if read is not None else ():
        for use in uses_of_definition(flow, definition):
            later = flow.place(use.node) is not flow.place(call) or _order(flow, use) > flow.order.get(id(call), 0)
            if later and use.call is not call:
                sure = use.sure and runs_before(flow, call, use.node) and len(read.definitions if read else ()) == 1
                found.append(Use(use.kind, use.node, use.name, use.call, sure, use.definition))
    return found


def _order(flow: Flow, use: Use) -> int:
    return flow.order.get(id(use.node), 0)


def uses_of_original(flow: Flow, wrapper: Wrapper) -> list[Use]:
    """Uses of the variable that was compiled, behind the site and of the original only."""
    target = wrapper.target
    read: Optional[Read] = flow.reads.get(id(target)) if target is not None else None
    found: list[Use] = []
    for definition in read.definitions if read is not None else ():
        for use in uses_of_definition(flow, definition):
            same = flow.place(use.node) is flow.place(wrapper.call)
            if use.node is not target and (not same or _order(flow, use) > flow.order.get(id(wrapper.call), 0)):
                found.append(use)
    return found


def in_raises(flow: Flow, node: cst.CSTNode) -> bool:
    """Does it stand in a block that waits for an exception, as tests do?"""
    for outer in flow.ancestors(node):
        if isinstance(outer, cst.With):
            for item in outer.items:
                if isinstance(item.item, cst.Call) and "raises" in dotted_name(item.item.func).lower():
                    return True
    return False
