"""What compiling changes besides: keys, types, pickling, other tracers."""

from __future__ import annotations

import io
import pickle
from typing import Any

import torch
from harness import Net, X, backend, compile, form, frames, outcome
from torch import nn

BREAKS = "What else it changes"


@form(BREAKS, "first key of `fast.state_dict()`")
def wrapper_keys() -> str:
    return next(iter(compile(Net()).state_dict()))


@form(BREAKS, "first key of `net.state_dict()` after `net.compile()`")
def in_place_keys() -> str:
    net = Net()
    net.compile(backend=backend)
    return next(iter(net.state_dict()))


@form(BREAKS, "first key of `model.state_dict()` where a submodule is `torch.compile(block)`")
def submodule_keys() -> str:
    return next(iter(nn.Sequential(compile(Net())).state_dict()))


@form(BREAKS, "`fast.load_state_dict(plain)`")
def load_plain() -> str:
    return outcome(lambda: compile(Net()).load_state_dict(Net().state_dict()))


@form(BREAKS, "`fast.load_state_dict(plain, strict=False)`")
def load_plain_loosely() -> str:
    result = compile(Net()).load_state_dict(Net().state_dict(), strict=False)
    return f"loads nothing, {len(result.missing_keys)} of 2 keys missing" if result.missing_keys else "loads"


@form(BREAKS, "`net.load_state_dict(fast.state_dict())`")
def load_prefixed() -> str:
    return outcome(lambda: Net().load_state_dict(compile(Net()).state_dict()))


@form(BREAKS, "`fast.load_state_dict(other_fast.state_dict())`")
def load_both() -> str:
    return outcome(lambda: compile(Net()).load_state_dict(compile(Net()).state_dict()))


@form(BREAKS, "`isinstance(fast, Net)`")
def is_instance() -> str:
    return str(isinstance(compile(Net()), Net))


@form(BREAKS, "`isinstance(net, Net)` after `net.compile()`")
def is_instance_in_place() -> str:
    net = Net()
    net.compile(backend=backend)
    return str(isinstance(net, Net))


@form(BREAKS, "`isinstance(fast, nn.Module)`")
def is_module() -> str:
    return str(isinstance(compile(Net()), nn.Module))


@form(BREAKS, "first name of `fast.named_parameters()`")
def parameter_names() -> str:
    return next(name for name, _ in compile(Net()).named_parameters())


@form(BREAKS, "`torch.compile(torch.compile(net)).state_dict()`")
def compiled_twice() -> str:
    return outcome(lambda: next(iter(compile(compile(Net())).state_dict())))


@form(BREAKS, "`torch.compile(torch.compile(net))(x)`")
def compiled_twice_called() -> str:
    fast = compile(compile(Net()))
    return f"{frames(lambda: fast(X))}, {type(fast).__name__}"


@form(BREAKS, "`torch.compile(net)` after `net.compile()`; the wrapper is called")
def compiled_both_ways() -> str:
    net = Net()
    net.compile(backend=backend)
    fast = compile(net)
    return f"{frames(lambda: fast(X))}, {type(fast).__name__}"


@form(BREAKS, "`pickle.dumps(fast)`")
def pickled() -> str:
    return outcome(lambda: pickle.loads(pickle.dumps(torch.compile(Net(), backend="eager"))).__class__.__name__)


@form(BREAKS, "`pickle.dumps(fast)` after `fast(x)`")
def pickled_warm() -> str:
    fast = torch.compile(Net(), backend="eager")
    fast(X)
    return outcome(lambda: pickle.loads(pickle.dumps(fast)).__class__.__name__)


@form(BREAKS, "`torch.save(fast, f)`")
def saved() -> str:
    return outcome(lambda: torch.save(torch.compile(Net(), backend="eager"), io.BytesIO()) or "saves")


@form(BREAKS, "`torch.save(net, f)` after `net.compile()`")
def saved_in_place() -> str:
    net = Net()
    net.compile(backend="eager")
    return outcome(lambda: torch.save(net, io.BytesIO()) or "saves")


@form(BREAKS, "`pickle.dumps(torch.compile(f))` of a function")
def pickled_function() -> str:
    return outcome(lambda: pickle.dumps(torch.compile(form, backend="eager")) and "pickles")


@form(BREAKS, "`torch.jit.script(fast)`")
def scripted() -> str:
    return outcome(lambda: torch.jit.script(torch.compile(nn.Linear(4, 4), backend="eager")) and "scripts")


@form(BREAKS, "`torch.jit.trace(fast, x)`")
def traced() -> str:
    return outcome(lambda: torch.jit.trace(torch.compile(nn.Linear(4, 4), backend="eager"), X) and "traces")


@form(BREAKS, "`torch.export.export(fast, (x,))`")
def exported() -> str:
    return outcome(lambda: torch.export.export(torch.compile(nn.Linear(4, 4), backend="eager"), (X,)) and "exports")


@form(BREAKS, "`torch.export.export(net, (x,))` of a module whose `forward` is decorated")
def exported_decorated() -> str:
    class Own(nn.Module):
        @torch.compile(backend="eager")
        def forward(self, x: Any) -> Any:
            return torch.relu(x)

    return outcome(lambda: torch.export.export(Own(), (X,)) and "exports")


@form(BREAKS, "`torch.jit.script(net)` of a module whose `forward` is decorated")
def scripted_decorated() -> str:
    class Own(nn.Module):
        @torch.compile(backend="eager")
        def forward(self, x: Any) -> Any:
            return torch.relu(x)

    return outcome(lambda: torch.jit.script(Own()) and "scripts")


@form(BREAKS, "`torch.jit.script(net)` after `net.compile()`")
def scripted_in_place() -> str:
    net = nn.Linear(4, 4)
    net.compile(backend="eager")
    return outcome(lambda: torch.jit.script(net) and "scripts")


@form(BREAKS, "`torch.export.export(net, (x,))` after `net.compile()`")
def exported_in_place() -> str:
    net = nn.Linear(4, 4)
    net.compile(backend="eager")
    return outcome(lambda: torch.export.export(net, (X,)) and "exports")


@form(BREAKS, "`torch.fx.symbolic_trace(fast)`")
def fx_traced() -> str:
    return outcome(lambda: torch.fx.symbolic_trace(torch.compile(Net(), backend="eager")) and "traces")


@form(BREAKS, "`len(fast)` of a compiled `nn.Sequential`")
def length() -> str:
    return outcome(lambda: len(torch.compile(nn.Sequential(Net()), backend="eager")))


@form(BREAKS, "`fast[0]` of a compiled `nn.Sequential`")
def element() -> str:
    return outcome(lambda: type(torch.compile(nn.Sequential(Net()), backend="eager")[0]).__name__)


@form(BREAKS, "`fast.attribute = value`; read from the original")
def attribute_set() -> str:
    net = Net()
    fast = compile(net)
    fast.scale = 3
    return str(getattr(net, "scale", "not there"))


@form(BREAKS, "`net.training` after `fast.eval()`")
def eval_reaches() -> str:
    net = Net()
    compile(net).eval()
    return str(net.training)


@form(BREAKS, "`fast.training` after `net.eval()`")
def eval_does_not_reach_wrapper() -> str:
    net = Net()
    fast = compile(net)
    net.eval()
    return str(fast.training)


@form(BREAKS, "`fast.__class__.__name__`")
def class_name() -> str:
    return compile(Net()).__class__.__name__


@form(BREAKS, "`nn.DataParallel(fast)`; first key of its `state_dict()`")
def data_parallel_keys() -> str:
    return outcome(lambda: next(iter(nn.DataParallel(compile(Net())).state_dict())))


@form(BREAKS, "hook registered on `net` after `fast = torch.compile(net)`; `fast(x)`")
def hook_on_original() -> str:
    net, seen = Net(), []
    fast = compile(net)
    net.register_forward_hook(lambda module, args, output: seen.append(1))
    fast(X)
    return "runs" if seen else "does not run"


@form(BREAKS, "hook registered on `fast`; `fast(x)`")
def hook_on_wrapper() -> str:
    seen: list[int] = []
    fast = compile(Net())
    fast.register_forward_hook(lambda module, args, output: seen.append(1))
    fast(X)
    return "runs" if seen else "does not run"
