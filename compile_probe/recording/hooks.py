"""Hooks in a run's own process: constructors and calls of the user's modules, and calls of compiled functions.

Only public names are touched: ``torch.nn.Module.__init__`` and ``__call__``, and ``torch.compile``. The run goes on
eagerly (``TORCHDYNAMO_DISABLE``), since Dynamo would trace the hooks. What is new goes to a file of this process.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Callable, Optional

from ..untyped import torch
from .values import Data, Encoder, brief

FOLDER = "COMPILE_LENS_RECORD"
"""Environment variable with the folder for the records."""
FORMS = 4
"""Distinct calls that are kept of a target."""
LOOKED = 200
"""Calls of a target that are looked at."""
TARGETS = 500

_Key = tuple[str, str]


class Recorder:
    """What was recorded in this process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"inputs-{os.getpid()}.jsonl"
        self._pid = os.getpid()
        self._folder = folder
        self._forms: dict[_Key, dict[str, int]] = {}
        self._looked: dict[_Key, int] = {}
        self._inits: weakref.WeakKeyDictionary[Any, Data] = weakref.WeakKeyDictionary()
        self._places: dict[Any, Optional[_Key]] = {}
        self._busy = threading.local()

    def constructed(self, module: Any, frame: Any) -> None:
        """A module's base constructor is called from ``frame``: keep the arguments of its own."""
        if self._place(type(module)) is None or module in self._inits:
            return
        outer = None
        while frame is not None and frame.f_code.co_name == "__init__":
            names = frame.f_code.co_varnames
            if not names or frame.f_locals.get(names[0]) is not module:
                break
            outer, frame = frame, frame.f_back
        if outer is not None:
            self._inits[module] = self._arguments(outer)

    def called(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module or function is about to be called."""
        is_module = isinstance(target, torch.nn.Module)
        key = self._place(type(target) if is_module else target)
        if key is None or self._looked.get(key, 0) >= LOOKED or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            self._looked[key] = self._looked.get(key, 0) + 1
            self._keep(key, target, is_module, args, kwargs)
        finally:
            self._busy.now = False

    def _keep(self, key: _Key, target: Any, is_module: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        encoder = Encoder(self._inits.get)
        given = [encoder.encode(value) for value in args]
        named = {name: encoder.encode(value) for name, value in kwargs.items()}
        init = self._inits.get(target) if is_module else None
        mode = _mode(target if is_module else None)
        said = [brief(value) for value in given] + [f"{name}={brief(value)}" for name, value in named.items()]
        form = json.dumps([said, mode, init], sort_keys=True, default=str)
        forms = self._forms.setdefault(key, {})
        if form in forms or len(forms) >= FORMS or len(self._forms) > TARGETS:
            return
        forms[form] = 1
        self._write({
            "file": key[0],
            "target": key[1],
            "kind": "module" if is_module else "function",
            "call": {"args": given, "kwargs": named},
            "init": init,
            "mode": mode,
            "described": " ".join(said),
            "time": time.time(),
        })  # fmt: skip

    def _write(self, told: Data) -> None:
        if self._pid != os.getpid():  # forked
            self._pid = os.getpid()
            self._path = self._folder / f"inputs-{self._pid}.jsonl"
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(told) + "\n")

    def _arguments(self, frame: Any) -> Data:
        """The arguments of a function that has just begun, without its first one."""
        code, local = frame.f_code, frame.f_locals
        names: list[str] = list(code.co_varnames)
        encoder = Encoder(self._inits.get)
        count = code.co_argcount + code.co_kwonlyargcount
        starred = bool(code.co_flags & 0x04)
        by_position = names[1 : code.co_argcount if starred else max(1, code.co_posonlyargcount)]
        args = [encoder.encode(local[name]) for name in by_position if name in local]
        kwargs = {n: encoder.encode(local[n]) for n in names[1:count] if n in local and n not in by_position}
        if starred:
            args += [encoder.encode(value) for value in local.get(names[count], ())]
            count += 1
        if code.co_flags & 0x08:
            kwargs.update((name, encoder.encode(value)) for name, value in local.get(names[count], {}).items())
        return {"args": args, "kwargs": kwargs}

    def _place(self, named: Any) -> Optional[_Key]:
        """File and name of a class or function of the user's, None for torch's own."""
        try:
            return self._places[named]
        except KeyError:
            pass
        module = sys.modules.get(getattr(named, "__module__", ""))
        file = getattr(module, "__file__", None)
        name = str(getattr(named, "__qualname__", "<"))
        ours = file is None or "<" in name or _is_torch(str(named.__module__))
        place = None if ours else (str(Path(str(file)).resolve()), name)
        self._places[named] = place
        return place


def install(folder: Path) -> None:
    """Hook into torch, which has just been imported."""
    recorder = Recorder(folder)
    module = torch.nn.Module
    init, call, compiler = module.__init__, module.__call__, torch.compile

    @functools.wraps(init)
    def constructed(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        _quietly(recorder.constructed, self, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    @functools.wraps(call)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        _quietly(recorder.called, self, args, kwargs)
        return call(self, *args, **kwargs)

    @functools.wraps(compiler)
    def compiled(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if model is None:

            def decorate(function: Any) -> Any:
                return compiled(function, *args, **kwargs)

            return decorate
        result = compiler(model, *args, **kwargs)
        if isinstance(model, torch.nn.Module) or not hasattr(model, "__qualname__"):
            return result  # the call of a module is seen anyway
        function = getattr(model, "__func__", model)

        @functools.wraps(model)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if function is model:
                _quietly(recorder.called, model, args, kwargs)
            return result(*args, **kwargs)

        return recorded

    module.__init__, module.__call__, torch.compile = constructed, called, compiled


def _quietly(act: Callable[..., None], *args: Any) -> None:
    """A fault of ours must not become the run's."""
    try:
        act(*args)
    except Exception as error:
        if os.environ.get("COMPILE_LENS_DEBUG"):
            print(f"compile_probe: {type(error).__name__}: {error}", file=sys.stderr)


def _mode(module: Any) -> Data:
    autocast: Optional[str] = None
    for device in ("cuda", "cpu"):
        enabled = torch.is_autocast_enabled(device) if _takes_device() else torch.is_autocast_enabled()
        if enabled:
            autocast = device
            break
    return {
        "training": bool(module.training) if module is not None else None,
        "grad": bool(torch.is_grad_enabled()),
        "autocast": autocast,
    }


@functools.cache
def _takes_device() -> bool:
    """``torch.is_autocast_enabled(device_type)``: 2.4 and later."""
    try:
        torch.is_autocast_enabled("cpu")
    except TypeError:
        return False
    return True


def _is_torch(module: str) -> bool:
    return module.partition(".")[0] in ("torch", "torch_npu", "compile_probe")
