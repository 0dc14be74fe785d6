"""The first stages of every worker: import torch and the file, build the target, make its inputs, call it once."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, cast

from .. import devices
from ..check.checker import seed_generators
from ..errors import TargetError, TargetMemoryError, UnavailableError
from ..inputs.sources import NOTHING_NEEDED, Case, ExampleInputs, build, find_inputs
from ..nested import leaves, map_leaves
from ..protocol.job import Job
from ..targets import uncompiled
from ..targets.calls import Call, copy_call
from ..targets.discovery import read_source
from ..targets.loading import describe, find_target, import_file, line_in, prepare_path
from ..targets.subject import Subject
from ..untyped import torch

_OUT_OF_MEMORY = ("not enough memory", "out of memory", "Unable to allocate")
_NEEDS_GRAD = "does not require grad"
_DTYPES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c", "bool": "bool"}


@dataclass(frozen=True)
class Prepared:
    """A target that can be called, with its inputs on the device."""

    file: Path
    subject: Subject
    inputs: ExampleInputs
    cases: tuple[Case, ...]
    device: devices.Device
    notes: tuple[str, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of all sizes."""
        return tuple(call for case in self.cases for call in case.calls)


@dataclass(frozen=True)
class Loaded:
    """The user's file, imported; ``compiled`` are the places where it compiles something itself."""

    module: Any
    file: Path
    compiled: list[uncompiled.Place]


def load(job: Job) -> Loaded:
    """Import the user's file; torch is there already."""
    file = Path(job.file)
    prepare_path(file)
    seed_generators(0)
    places: list[uncompiled.Place] = []
    with uncompiled.passing_over(places):
        return Loaded(import_file(file), file, places)


def resolve(job: Job, loaded: Loaded) -> Prepared:
    """Build the target and its inputs, with the file's own compilations passed over."""
    with uncompiled.passing_over(loaded.compiled):
        return _resolve(job, loaded)


def _resolve(job: Job, loaded: Loaded) -> Prepared:
    """Build the target and its inputs; random numbers are the same in every worker.

    A name that ends with ``()``, or a function without parameters whose inputs have arguments, is a factory: what it
    returns is the target.
    """
    module, file = loaded.module, loaded.file
    text = read_source(file)
    device = devices.choose(job.device)
    notes: list[str] = _settings_in_force(module)
    name = job.target[:-2] if job.target.endswith("()") else job.target
    found, owner = find_target(module, name, file)
    seed_generators(0)
    if job.target.endswith("()"):
        found, owner = _made(found, name, strict=True), None
    found = _plain(found, notes)
    target, owner = _instance(found, owner, module, text, name)
    explicit = job.inputs
    if _takes_nothing(target):
        inputs = find_inputs(module, text, name, target, owner, explicit, factory=True)
        if any(args or kwargs for args, kwargs in inputs.calls):
            made = _made(target, name, strict=explicit is not None)
            if callable(made):
                target = _plain(made, notes)
                notes.append(f"{name} takes no arguments, so it was called and what it returned is the target.")
            else:
                notes.append(f"{name} takes no arguments; those of {inputs.source} are not for it.")
                inputs = NOTHING_NEEDED
    else:
        inputs = find_inputs(module, text, name, target, owner, explicit)
    _refuse_meta(getattr(target, "__self__", target), f"{name} has weights")
    for args, kwargs in inputs.calls:
        _refuse_meta([args, kwargs], f"The inputs from {inputs.source} have tensors")
    subject = Subject(target, train=job.train, device=device.torch_name)
    cases = tuple(Case(case.size, tuple(subject.place(call) for call in case.calls)) for case in inputs.cases)
    notes.extend(inputs.notes)
    notes.extend(uncompiled.note(loaded.compiled))
    return Prepared(file, subject, inputs, cases, device, tuple(notes))


@dataclass(frozen=True)
class EagerRun:
    """How the first plain calls went: the seconds of the last one, and sentences for the reader."""

    seconds: float
    notes: tuple[str, ...]


def call_eagerly(prepared: Prepared) -> EagerRun:
    """Make every call once without compiling anything.

    Without gradients, as inference is; a target that itself calls ``backward`` gets them.

    :raises TargetError: the target's own failure, with its line
    """
    subject = prepared.subject
    state = subject.save(prepared.device.free_bytes())
    places: list[uncompiled.Place] = []
    notes: list[str] = []
    try:
        with uncompiled.passing_over(places):
            try:
                seconds = _call_all(prepared)
            except RuntimeError as error:
                if subject.grad or _NEEDS_GRAD not in str(error):
                    raise
                subject.grad = True
                notes.append("The target calls backward itself, so gradients are recorded, other than in inference.")
                subject.restore(state)
                seconds = _call_all(prepared)
        subject.compiles_inside = bool(places)
        return EagerRun(seconds, (*notes, *uncompiled.note(places)))
    except (TargetError, UnavailableError):
        raise
    except BaseException as error:
        raise _target_error(error, prepared.file) from error
    finally:
        subject.restore(state)


def describe_call(subject: Subject, call: Call) -> str:
    """The arguments of a call by name: ``x=f32[8,64] scale=2.0``."""
    args, kwargs = call
    try:
        names = list(inspect.signature(getattr(subject.target, "forward", subject.target)).parameters)
    except (TypeError, ValueError):
        names = []
    named = [(names[i] if i < len(names) else f"args[{i}]", value) for i, value in enumerate(args)]
    return " ".join(f"{name}={_short(map_leaves(value, _brief))}" for name, value in [*named, *kwargs.items()])


def versions(device: devices.Device) -> dict[str, Any]:
    """Versions of what the result depends on; torch_npu's with its post release, which decides."""
    import platform  # noqa: PLC0415  (only here)
    from importlib import metadata  # noqa: PLC0415

    try:
        npu: Optional[str] = metadata.version("torch_npu")
    except metadata.PackageNotFoundError:
        npu = None
    return {
        "torch": str(torch.__version__),
        "torch_npu": npu,
        "python": platform.python_version(),
        "device": device.kind,
        "device_name": device.name(),
        "stand_in": device.stand_in,
    }


def _call_all(prepared: Prepared) -> float:
    subject = prepared.subject
    seconds = 0.0
    with torch.set_grad_enabled(subject.grad):
        for call in prepared.calls:
            copied = copy_call(call)
            begin = time.perf_counter()
            output = subject.call(subject.target, copied)
            prepared.device.synchronize()
            seconds = time.perf_counter() - begin
            _refuse_unrun(output)
            _refuse_meta(output, "The target returns tensors")
    return seconds


def _refuse_unrun(output: Any) -> None:
    """Raise `TargetError` for a call that has only made something that would do the work later."""
    kind = next((words for test, words in _UNRUN if test(output)), None)
    if kind is not None:
        if inspect.iscoroutine(output):
            output.close()
        raise TargetError(
            f"The target returns a {kind}: a call only makes it, and there would be nothing to measure.",
            stage="eager",
            remedy="Probe a function that runs it to its end and returns the result.",
        )


def _refuse_meta(held: Any, what: str) -> None:
    """Raise `UnavailableError` for tensors on the meta device: they have shapes and nothing to compute with."""
    tensors = [*held.parameters(), *held.buffers()] if isinstance(held, torch.nn.Module) else leaves(held)
    if any(isinstance(tensor, torch.Tensor) and tensor.is_meta for tensor in tensors):
        cause = " (torch.set_default_device('meta') is in force)" if _default_device() == "meta" else ""
        raise UnavailableError(
            f"{what} on the meta device{cause}: "
            "they have shapes and no values, so there is nothing to compare or to time.",
            stage="inputs",
            remedy="Build it on a real device, for instance behind `with torch.device('cpu'):`.",
        )


def _default_device() -> Optional[str]:
    """The device of new tensors (``torch.get_default_device``: 2.3 and later)."""
    get: Any = getattr(torch, "get_default_device", None)
    return str(get().type) if get is not None else None


_UNRUN = (
    (inspect.isgenerator, "generator"),
    (inspect.iscoroutine, "coroutine"),
    (inspect.isasyncgen, "asynchronous generator"),
)


def _settings_in_force(module: Any) -> list[str]:
    """Put a module's ``CONFIG`` into force if it is one of Dynamo's: a dict with nothing but names of its settings."""
    settings: Any = getattr(module, "CONFIG", None)
    config: Any = torch._dynamo.config
    if not isinstance(settings, dict) or not settings:
        return []
    named = cast("dict[Any, Any]", settings)
    if not all(isinstance(name, str) and hasattr(config, name) for name in named):
        return []
    for name, value in named.items():
        setattr(config, name, value)
    return [f"CONFIG of the file is in force: torch._dynamo.config has {named}."]


def _target_error(error: BaseException, file: Path) -> TargetError:
    where: dict[str, Any] = {"stage": "eager", "file": str(file), "line": line_in(error, file)}
    if isinstance(error, MemoryError) or any(sign in str(error) for sign in _OUT_OF_MEMORY):
        return TargetMemoryError(
            f"The plain call ran out of memory: {describe(error)}.", remedy="Give smaller example inputs.", **where
        )
    if isinstance(error, SystemExit):
        return TargetError(f"The target ended the program with sys.exit({error.code!r}).", **where)
    at = f" at {file.name}:{where['line']}" if where["line"] else ""
    return TargetError(f"The plain call, without torch.compile, raised {describe(error)}{at}.", **where)


def _instance(
    found: Any, owner: Optional[type], module: Any, text: str, name: str
) -> tuple[Callable[..., Any], Optional[type]]:
    """Build what a class or method target needs; returns the callable and the class whose conventions apply."""
    if isinstance(found, type):
        made = build(found, module, text, name)
        if not callable(made) and callable(getattr(made, "forward", None)):
            made = made.forward
        return made, found
    if owner is not None:
        class_name, _, method = name.rpartition(".")
        return getattr(build(owner, module, text, class_name), method), owner
    return found, found.__class__ if isinstance(found, torch.nn.Module) else None


def _plain(found: Any, notes: list[str]) -> Any:
    """The target itself if what was found is already its compiled form."""
    inner = None
    if isinstance(found, torch.nn.Module):
        parts = cast("dict[str, Any]", getattr(found, "_modules", {}))
        inner = parts.get("_orig_mod")
    elif not getattr(found, "_torchdynamo_disable", False):
        inner = getattr(found, "_torchdynamo_orig_callable", None)
    if inner is None:
        return found
    notes.append("The target is already compiled in the file; what it was made from is probed.")
    return inner


def _made(factory: Callable[..., Any], name: str, strict: bool) -> Any:
    """What a factory returns; ``strict``: it has to be a callable."""
    try:
        made = factory()
    except Exception as error:
        raise TargetError(f"The factory {name}() raised {describe(error)}.", stage="inputs") from error
    if strict and not callable(made):
        raise TargetError(f"The factory {name}() returned a {type(made).__name__}, not a callable.", stage="inputs")
    return made


def _takes_nothing(target: Any) -> bool:
    if not inspect.isfunction(target):
        return False
    return not inspect.signature(target).parameters


def _brief(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        tensor: Any = value
        return _Brief(f"{_dtype(tensor.dtype)}[{','.join(map(str, tensor.shape))}]")
    return _Brief(type(value).__qualname__ if isinstance(value, torch.nn.Module) else _short(value))


class _Brief(str):
    """Text that shows itself without quotes inside containers."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _dtype(dtype: Any) -> str:
    name = str(dtype).rpartition(".")[2]
    stem = name.rstrip("0123456789")
    return _DTYPES.get(stem, stem) + name[len(stem) :]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
