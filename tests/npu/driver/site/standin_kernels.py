"""Kernels for the device ``npu`` over the stand-in driver: the CPU's, on views of the same memory.

Every ATen operator that torch_npu registers for its device and that computes is launched on the driver's current
stream, which runs it or, in a capture, records it. In a capture nothing is computed or written: outputs have the
shapes that the meta kernels give, and memory holds what it held before (NaN, if nothing) until a replay. Views,
factories of empty memory, copies between host and device, and reading a number keep torch_npu's own kernels. So do the
operators that torch_npu has only as aclop, while a stream is captured: refusing them is its own affair.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
from pathlib import Path
from typing import Any, Callable, Optional

import standin_attention
import torch
import torch_npu
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

KEEP = frozenset(
    """empty empty_strided empty_like as_strided view _reshape_alias reshape resize_ set_ copy_ _copy_from
    _copy_from_and_resize clone contiguous record_stream is_pinned _pin_memory pin_memory _local_scalar_dense item
    _to_copy to t transpose unsqueeze squeeze select slice alias detach expand permute unfold new_empty
    new_empty_strided is_set_to is_same_size storage_offset _has_compatible_shallow_copy_type
    _cudnn_init_dropout_state _efficientzerotensor scaled_dot_product_attention _fused_sdp_choice""".split()
)
"""Operators that move no numbers, or move them by the driver's own calls."""

errors: list[BaseException] = []
"""What kernels raised in replays, where nobody can catch it."""

calls: dict[str, int] = {}
"""How often each operator was launched."""

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_driver: Any = ctypes.CDLL("libascendcl.so")
_recorded: list[Any] = []
"""Keeps callbacks of captured launches alive: a graph may replay them at any time."""
_prepared: set[int] = set()
_aclop: dict[Any, Any] = {}
_libraries: list[Any] = []
"""Keeps the kernels registered."""
_KEYS: Any = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)


def install() -> None:
    """Put the kernels under torch_npu."""
    if not hasattr(_driver, "standin_driver"):
        raise RuntimeError("These kernels are for the stand-in driver, and the CANN here is another one.")
    _driver.standin_launch.argtypes = [
        ctypes.c_void_p, _Callback, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t,
    ]  # fmt: skip
    _driver.standin_captured.argtypes = [ctypes.c_void_p]
    aclop_only = _aclop_only()
    library, of_npu = torch.library.Library("aten", "IMPL"), torch.library.Library("npu", "IMPL")
    _libraries.extend((library, of_npu))
    for full in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        if namespace != "aten" or name in KEEP:
            continue
        op = getattr(getattr(torch.ops.aten, name, None), overload or "default", None)
        if op is None or not _computes(op):
            continue
        if full in aclop_only:
            _aclop[op] = torch.library.get_kernel(op, "PrivateUse1")
        library.impl(op, functools.partial(_run, op), "PrivateUse1", allow_override=True)
    own_copy = torch.library.get_kernel("aten::copy_", "PrivateUse1")
    library.impl("copy_", functools.partial(_copy, own_copy), "PrivateUse1", allow_override=True)
    library.impl("clone", _clone, "PrivateUse1", allow_override=True)
    for name in standin_attention.NAMES:
        op = getattr(getattr(torch.ops.npu, name, None), "default", None)
        if op is not None:
            of_npu.impl(op, functools.partial(_run, op, kernel=_attention(op)), "PrivateUse1", allow_override=True)


def _attention(op: Any) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return standin_attention.returned(op._schema, standin_attention.attention(*args, **kwargs))

    return kernel


def _computes(op: Any) -> bool:
    try:
        if not torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "PrivateUse1"):
            return False
    except RuntimeError:  # no such operator in the dispatcher
        return False
    return not any(value.alias_info is not None and not value.alias_info.is_write for value in op._schema.returns)


def _aclop_only() -> set[str]:
    """Operators that the wheel's own table gives no aclnn implementation."""
    spec = importlib.util.find_spec("torch_npu")
    assert spec is not None and spec.origin is not None
    table = Path(spec.origin).parent / "csrc/aten/npu_native_functions_by_codegen.yaml"
    if not table.is_file():  # wheels before 2.8 have none
        return {"aten::lstm_cell", "aten::slow_conv3d_forward"}
    entries = table.read_text(encoding="utf-8").split("\n- ")
    found = ((re.search(r"func: ([\w.]+)\(", entry), re.search(r"impl_ns: (.+)", entry)) for entry in entries)
    kinds: dict[str, set[str]] = {}
    for name, listed in found:
        if name and listed:
            kinds.setdefault(f"aten::{name[1]}", set()).update(listed[1].strip().split(", "))
    return {name for name, several in kinds.items() if several == {"acl_op"}}


def _stream(device: Any) -> int:
    if device.index not in _prepared:
        with torch.npu.device(device.index):  # a card's streams are made when it is first the current one
            torch.npu.current_stream()
        _prepared.add(device.index)
    return int(torch_npu._C._npu_getCurrentRawStream(device.index))


def view(tensor: Any) -> Any:
    """The CPU tensor over the memory of a tensor on the device; others as they are."""
    if tensor.device.type != "npu":
        return tensor
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    if size == 0 or tensor.numel() == 0:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    memory = (ctypes.c_char * size).from_address(storage.data_ptr())
    whole = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(whole, tensor.storage_offset(), tensor.size(), tensor.stride())


def _launch(device: Any, tensors: list[Any], work: Callable[[], Any]) -> None:
    """Have the driver run or record ``work``, which reads and writes ``tensors``."""
    stream = _stream(device)
    recording = bool(_driver.standin_captured(stream))
    failure: list[BaseException] = []

    def callback(_: Any) -> None:
        try:
            with torch.no_grad(), torch._C._DisableTorchDispatch():
                work()
        except BaseException as error:  # C calls this
            (errors if recording else failure).append(error)

    kept = _Callback(callback)
    storages = [tensor.untyped_storage() for tensor in tensors if tensor.device.type == "npu"]
    addresses = [storage.data_ptr() for storage in storages if storage.nbytes()]
    if recording:
        _recorded.append(kept)
    _driver.standin_launch(stream, kept, None, (ctypes.c_void_p * (len(addresses) + 1))(*addresses), len(addresses))
    if failure:
        raise failure[0]


def _elsewhere(value: Any, device: str) -> Any:
    if isinstance(value, torch.device) and value.type in ("npu", "privateuseone"):
        return torch.device(device)
    if isinstance(value, torch.Generator):
        return None
    return value


def _run(op: Any, *args: Any, kernel: Optional[Callable[..., Any]] = None, **kwargs: Any) -> Any:
    kernel = kernel or op
    flat, spec = tree_flatten((args, kwargs))
    inputs = [value for value in flat if isinstance(value, torch.Tensor)]
    device = next((tensor.device for tensor in inputs if tensor.device.type == "npu"), None) or next(
        (value for value in flat if isinstance(value, torch.device) and value.type == "npu"), torch.device("npu")
    )
    if device.index is None:
        device = torch.device("npu", torch.npu.current_device())
    recording = bool(_driver.standin_captured(_stream(device)))
    if recording and op in _aclop:
        return _aclop[op].call_boxed(_KEYS, *args, **kwargs)
    if torch.Tag.dynamic_output_shape in op.tags or torch.Tag.data_dependent_output in op.tags:
        torch.npu.current_stream(device).synchronize()  # as the real kernel has to; a capture refuses it
    calls[op.name()] = calls.get(op.name(), 0) + 1
    views = [view(value) if isinstance(value, torch.Tensor) else _elsewhere(value, "cpu") for value in flat]

    def compute() -> Any:
        real_args, real_kwargs = tree_unflatten(views, spec)
        if torch.Tag.nondeterministic_seeded in op.tags:
            with _numbers(device):
                return kernel(*real_args, **real_kwargs)
        return kernel(*real_args, **real_kwargs)

    known = _aliases(op, args, kwargs)
    if len(known) == len(op._schema.returns) and None not in known:
        _launch(device, inputs, compute)
        return known[0] if len(known) == 1 else tuple(known) if known else None
    first: Optional[list[Any]] = None
    if recording:
        shaped = _shapes(kernel, flat, spec)
    else:
        done: list[Any] = []
        _launch(device, inputs, lambda: done.append(compute()))
        shaped = done[0]
        first = tree_leaves(shaped)
    leaves, out_spec = tree_flatten(shaped)
    outputs = [
        known[i] if i < len(known) and known[i] is not None
        else torch.empty_strided(leaf.size(), leaf.stride(), dtype=leaf.dtype, device=device)
        if isinstance(leaf, torch.Tensor) else leaf
        for i, leaf in enumerate(leaves)
    ]  # fmt: skip
    fresh = [
        i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and (i >= len(known) or known[i] is None)
    ]
    targets = [view(outputs[i]) for i in fresh]

    def store() -> None:
        results = first if first is not None else tree_leaves(compute())
        for target, i in zip(targets, fresh):
            target.copy_(results[i])

    if recording:
        _launch(device, [*inputs, *(outputs[i] for i in fresh)], store)
    else:
        with torch.no_grad(), torch._C._DisableTorchDispatch():
            store()
    return tree_unflatten(outputs, out_spec)


def _shapes(kernel: Callable[..., Any], flat: list[Any], spec: Any) -> Any:
    """What an operator would return, without numbers."""
    metas = [
        torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
        if isinstance(value, torch.Tensor) else _elsewhere(value, "meta")
        for value in flat
    ]  # fmt: skip
    args, kwargs = tree_unflatten(metas, spec)
    return kernel(*args, **kwargs)


def _aliases(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """For each return of an operator the argument that it is, or None for a new tensor."""
    schema = op._schema
    if not schema.is_mutable:
        return []
    given = {argument.name: value for argument, value in zip(schema.arguments, args)}
    given.update(kwargs)
    found: list[Any] = []
    for value in schema.returns:
        names = value.alias_info.before_set if value.alias_info is not None else None
        same = (a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.before_set == names)
        found.append(given.get(next(same, "")) if names else None)
    return found


class _numbers:
    """Has the CPU's kernels draw from the device's generator: its seed and offset, which then moves on."""

    def __init__(self, device: Any) -> None:
        self._generator = torch.npu.default_generators[device.index]

    def __enter__(self) -> None:
        state = self._generator.get_state()
        seed, offset = state.view(torch.int64).tolist()[:2]
        moved = state.clone()
        moved.view(torch.int64)[1] = offset + 4
        self._generator.set_state(moved)
        self._saved = torch.get_rng_state()
        torch.default_generator.manual_seed((seed * 0x9E3779B97F4A7C15 + offset) % 2**63)

    def __exit__(self, *_: object) -> None:
        torch.set_rng_state(self._saved)


def _copy(own: Any, self: Any, src: Any, non_blocking: bool = False) -> Any:
    if self.device.type == "npu" and src.device.type == "npu":
        source, target = view(src), view(self)
        _launch(self.device, [self, src], lambda: target.copy_(source))
        return self
    plain = self.is_contiguous() and src.is_contiguous() and self.dtype == src.dtype and self.shape == src.shape
    if plain:
        own.call_boxed(_KEYS, self, src, non_blocking)
    elif self.device.type == "npu":  # numbers are converted on the host, laid out on the device
        straight = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        straight.copy_(src.to(self.dtype).expand(self.shape).contiguous(), non_blocking)
        self.copy_(straight)
    else:
        straight = torch.empty(src.shape, dtype=src.dtype)
        straight.copy_(src.contiguous(), non_blocking)
        self.copy_(straight)
    return self


def _clone(self: Any, memory_format: Any = None) -> Any:
    made = torch.empty_like(self, memory_format=memory_format or torch.preserve_format)
    made.copy_(self)
    return made
