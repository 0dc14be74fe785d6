"""Asked for, and what runs: compiled frames are counted."""

from __future__ import annotations

import copy
import functools
import subprocess
import sys
from typing import Any

import torch
from harness import Blocks, Net, X, backend, compile, form, frames
from torch import nn

NOTHING = "Asked for, and what runs"


@form(NOTHING, "`torch.compile(net)` as a statement; `net(x)`")
def dropped() -> str:
    net = Net()
    compile(net)
    return frames(lambda: net(X))


@form(NOTHING, "`fast = torch.compile(net)`; `net(x)`")
def original_called() -> str:
    net = Net()
    fast = compile(net)  # noqa: F841
    return frames(lambda: net(X))


@form(NOTHING, "`fast = torch.compile(net)`; `fast(x)`")
def wrapper_called() -> str:
    fast = compile(Net())
    return frames(lambda: fast(X))


@form(NOTHING, "`fast = torch.compile(net)`; `fast.forward(x)`")
def wrapper_forward() -> str:
    fast = compile(Net())
    return frames(lambda: fast.forward(X))


@form(NOTHING, "`net.compile()`; `net(x)`")
def in_place() -> str:
    net = Net()
    net.compile(backend=backend)
    return frames(lambda: net(X))


@form(NOTHING, "`net.compile()`; `net.forward(x)`")
def in_place_forward() -> str:
    net = Net()
    net.compile(backend=backend)
    return frames(lambda: net.forward(X))


@form(NOTHING, "`for block in blocks: block = torch.compile(block)`")
def loop_rebound() -> str:
    model = Blocks()
    for block in model.blocks:
        block = compile(block)  # noqa: PLW2901
    return frames(lambda: model(X))


@form(NOTHING, "`for name, child in model.named_children(): child = torch.compile(child)`")
def children_rebound() -> str:
    model = nn.Sequential(Net(), Net())
    for _, child in model.named_children():
        child = compile(child)  # noqa: PLW2901
    return frames(lambda: model(X))


@form(NOTHING, "`for i, block in enumerate(blocks): blocks[i] = torch.compile(block)`")
def loop_stored() -> str:
    model = Blocks()
    for i, block in enumerate(model.blocks):
        model.blocks[i] = compile(block)
    return frames(lambda: model(X))


@form(NOTHING, "`for name, child in model.named_children(): setattr(model, name, torch.compile(child))`")
def children_set() -> str:
    model = nn.Sequential(Net(), Net())
    for name, child in list(model.named_children()):
        setattr(model, name, compile(child))
    return frames(lambda: model(X))


@form(NOTHING, "`for block in blocks: block.compile()`")
def loop_in_place() -> str:
    model = Blocks()
    for block in model.blocks:
        block.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`for block in blocks: block.forward = torch.compile(block.forward)`")
def loop_forward() -> str:
    model = Blocks()
    for block in model.blocks:
        block.forward = compile(block.forward)
    return frames(lambda: model(X))


@form(NOTHING, "`self = torch.compile(self)` in a method")
def self_rebound() -> str:
    class Own(Net):
        def speed_up(self) -> None:
            self = compile(self)  # noqa: PLW0642

    net = Own()
    net.speed_up()
    return frames(lambda: net(X))


@form(NOTHING, "`self.compile()` in a method")
def self_in_place() -> str:
    class Own(Net):
        def speed_up(self) -> None:
            self.compile(backend=backend)

    net = Own()
    net.speed_up()
    return frames(lambda: net(X))


@form(NOTHING, "`fast.twice(x)`, a method that calls `self(...)`, on the wrapper")
def other_method_call() -> str:
    fast = compile(Net())
    return frames(lambda: fast.twice(X))


@form(NOTHING, "a method that calls `self.forward(...)`, on the wrapper")
def other_method_forward() -> str:
    fast = compile(Net())
    return frames(lambda: fast.through_forward(X))


@form(NOTHING, "a method that calls submodules only, on the wrapper")
def other_method_plain() -> str:
    fast = compile(Net())
    return frames(lambda: fast.other(X))


@form(NOTHING, "`net.compile()`; a method that calls `self(...)`")
def in_place_method_call() -> str:
    net = Net()
    net.compile(backend=backend)
    return frames(lambda: net.twice(X))


@form(NOTHING, "`net.compile()`; a method that calls `self.forward(...)`")
def in_place_method_forward() -> str:
    net = Net()
    net.compile(backend=backend)
    return frames(lambda: net.through_forward(X))


@form(NOTHING, "`net.twice = torch.compile(net.twice)`; `net.twice(x)`")
def method_compiled() -> str:
    net = Net()
    net.twice = compile(net.twice)
    return frames(lambda: net.twice(X))


@form(NOTHING, "`copy.deepcopy(fast)` of the wrapper; the copy is called")
def copy_of_wrapper() -> str:
    clone = copy.deepcopy(compile(Net()))
    return frames(lambda: clone(X))


@form(NOTHING, "`copy.deepcopy(fast)` after `fast(x)`; the copy is called")
def copy_of_warm_wrapper() -> str:
    fast = compile(Net())
    fast(X)
    clone = copy.deepcopy(fast)
    return frames(lambda: clone(X)) + f", {type(clone).__name__}"


@form(NOTHING, "`copy.deepcopy(net)` after `net.compile()`; the copy is called")
def copy_of_in_place() -> str:
    net = Net()
    net.compile(backend=backend)
    clone = copy.deepcopy(net)
    return frames(lambda: clone(X))


@form(NOTHING, "`copy.copy(net)` after `net.compile()`; the copy is called")
def shallow_copy_of_in_place() -> str:
    net = Net()
    net.compile(backend=backend)
    clone = copy.copy(net)
    return frames(lambda: clone(X))


@form(NOTHING, "`copy.deepcopy` of a module that holds a compiled submodule")
def copy_of_holder() -> str:
    model = nn.Sequential(compile(Net()), Net())
    clone = copy.deepcopy(model)
    return frames(lambda: clone(X))


@form(NOTHING, "`torch.compile(torch.compiler.disable(f))`")
def compile_of_disabled() -> str:
    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    g = compile(torch.compiler.disable(f))
    return frames(lambda: g(X))


@form(NOTHING, "`torch.compiler.disable(torch.compile(f))`")
def disabled_of_compile() -> str:
    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    g = torch.compiler.disable(compile(f))
    return frames(lambda: g(X))


@form(NOTHING, "a compiled function called in a function under `torch.compiler.disable`")
def called_in_disabled() -> str:
    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    fast = compile(f)

    @torch.compiler.disable
    def g(x: Any) -> Any:
        return fast(x)

    return frames(lambda: g(X))


@form(NOTHING, "a compiled function called in one under `torch.compiler.disable(recursive=False)`")
def called_in_disabled_flat() -> str:
    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    fast = compile(f)

    @torch.compiler.disable(recursive=False)
    def g(x: Any) -> Any:
        return fast(x)

    return frames(lambda: g(X))


@form(NOTHING, "`torch._dynamo.config.disable = True`")
def config_disable() -> str:
    fast = compile(Net())
    torch._dynamo.config.disable = True
    try:
        return frames(lambda: fast(X))
    finally:
        torch._dynamo.config.disable = False


CHILD = """
import os, sys
{before}
import torch
{after}
n = 0
def backend(gm, i):
    global n; n += 1
    return gm.forward
net = torch.nn.Linear(4, 4)
net = torch.compile(net, backend=backend)
net(torch.ones(2, 4))
print(f"{{n}} compiled" if n else "eager")
"""


def child(before: str = "", after: str = "") -> str:
    ended = subprocess.run(
        [sys.executable, "-c", CHILD.format(before=before, after=after)], capture_output=True, text=True, check=False
    )
    return ended.stdout.strip() or "raises " + ended.stderr.strip().splitlines()[-1].split(":")[0]


@form(NOTHING, '`os.environ["TORCHDYNAMO_DISABLE"] = "1"` before `import torch`')
def environment_disable() -> str:
    return child('os.environ["TORCHDYNAMO_DISABLE"] = "1"')


@form(NOTHING, '`os.environ["TORCHDYNAMO_DISABLE"] = "1"` after `import torch`, before the first compile')
def environment_disable_late() -> str:
    return child(after='os.environ["TORCHDYNAMO_DISABLE"] = "1"')


@form(NOTHING, '`os.environ["TORCH_COMPILE_DISABLE"] = "1"` before `import torch`')
def environment_compile_disable() -> str:
    return child('os.environ["TORCH_COMPILE_DISABLE"] = "1"')


@form(NOTHING, '`torch.compiler.set_stance("force_eager")`')
def stance() -> str:
    fast = compile(Net())
    torch.compiler.set_stance("force_eager")
    try:
        return frames(lambda: fast(X))
    finally:
        torch.compiler.set_stance("default")


@form(NOTHING, "`torch.compile(net, disable=True)`")
def disable_argument() -> str:
    fast = compile(Net(), disable=True)
    return frames(lambda: fast(X))


@form(NOTHING, "`torch.compile` on a class: `@torch.compile class Net(nn.Module)`")
def decorated_class() -> str:
    cls = compile(Net)
    net = cls()
    return frames(lambda: net(X))


@form(NOTHING, "`fast = torch.compile(net)`; `fast.eval()(x)`")
def eval_of_wrapper() -> str:
    fast = compile(Net())
    return frames(lambda: fast.eval()(X))


@form(NOTHING, "`fast = torch.compile(net).to('cpu')`; `fast(x)`")
def moved_wrapper() -> str:
    fast = compile(Net()).to("cpu")
    return frames(lambda: fast(X))


@form(NOTHING, "`fast = torch.compile(net)`; `fast._orig_mod(x)`")
def original_inside() -> str:
    fast = compile(Net())
    return frames(lambda: fast._orig_mod(X))


@form(NOTHING, "`fast = torch.compile(net)`; `fast.lin(x)`")
def submodule_of_wrapper() -> str:
    fast = compile(Net())
    return frames(lambda: fast.lin(X))


@form(NOTHING, "`partial(torch.compile, ...)(net)` as a statement; `net(x)`")
def partial_dropped() -> str:
    net = Net()
    functools.partial(torch.compile, backend=backend)(net)
    return frames(lambda: net(X))


@form(NOTHING, "`model.block = torch.compile(block)` where the loop walks a list made before")
def list_made_before() -> str:
    class Held(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = Net(), Net()
            self.order = [self.a, self.b]

        def forward(self, x: Any) -> Any:
            for layer in self.order:
                x = layer(x)
            return x

    model = Held()
    model.a, model.b = compile(model.a), compile(model.b)
    return frames(lambda: model(X))


@form(NOTHING, "`model = torch.compile(model)` in a function that does not return it")
def parameter_rebound() -> str:
    def speed_up(model: Any) -> None:
        model = compile(model)

    net = Net()
    speed_up(net)
    return frames(lambda: net(X))


def layers() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())


@form(NOTHING, "`model = nn.Sequential(nn.Linear(...), nn.ReLU())`; `torch.compile(model)(x)`")
def layers_wrapped() -> str:
    fast = compile(layers())
    return frames(lambda: fast(X))


@form(NOTHING, "`model = nn.Sequential(nn.Linear(...), nn.ReLU())`; `model.compile()`; `model(x)`")
def layers_in_place() -> str:
    model = layers()
    model.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`nn.Linear(...).compile()`")
def layer_in_place() -> str:
    model = nn.Linear(4, 4)
    model.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`nn.TransformerEncoderLayer(...).compile()`")
def encoder_in_place() -> str:
    model = nn.TransformerEncoderLayer(4, 1)
    model.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`nn.Sequential(Net(), Net()).compile()`, of modules with a `forward` of their own")
def own_modules_in_place() -> str:
    model = nn.Sequential(Net(), nn.ReLU(), Net())
    model.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`class Own(nn.Sequential)` without a `forward`; `.compile()`")
def inherited_forward_in_place() -> str:
    class Own(nn.Sequential):
        pass

    model = Own(nn.Linear(4, 4), nn.ReLU())
    model.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`class Own(nn.Linear)` with a `forward` of its own; `.compile()`")
def overridden_forward_in_place() -> str:
    class Own(nn.Linear):
        def forward(self, x: Any) -> Any:
            return super().forward(x) * 2

    model = Own(4, 4)
    model.compile(backend=backend)
    return frames(lambda: model(X))


@form(NOTHING, "`model.forward = torch.compile(model.forward)` of an `nn.Sequential` of layers")
def layers_forward() -> str:
    model = layers()
    model.forward = compile(model.forward)
    return frames(lambda: model(X))


@form(NOTHING, "`torch.compile(layer.forward)` of an `nn.Linear`")
def layer_forward() -> str:
    fast = compile(nn.Linear(4, 4).forward)
    return frames(lambda: fast(X))


@form(NOTHING, "`torch.compile(torch.nn.functional.gelu)`, a function of torch")
def function_of_torch() -> str:
    fast = compile(torch.nn.functional.gelu)
    return frames(lambda: fast(X))


@form(NOTHING, "`torch.compile(torch.nn.functional.softmax)`, a function of torch in Python")
def python_function_of_torch() -> str:
    fast = compile(torch.nn.functional.softmax)
    return frames(lambda: fast(X, -1))
