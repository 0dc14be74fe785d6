"""From a file to a target that can be called: factories, methods, compiled targets, and the target's own failures."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import torch

from compile_probe.errors import NeedsInputsError, TargetError, TargetMemoryError, UnavailableError, UsageError
from compile_probe.observe import observe_calls
from compile_probe.protocol.job import Job
from compile_probe.work import preparation
from compile_probe.work.preparation import Prepared

Prepare = Callable[..., Prepared]


@pytest.fixture
def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prepare]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))

    def prepare(text: str, target: str, **options: Any) -> Prepared:
        path = tmp_path / "target.py"
        path.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(text))
        job = Job(file=str(path), target=target, device="cpu", **options)
        return preparation.resolve(job, preparation.load(job))

    yield prepare
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


FACTORY = """
    def make():
        scale = 3
        return lambda x: x * scale
    def inputs():
        return [(torch.ones(2),), (torch.ones(3),)]
"""


@pytest.mark.parametrize("target", ["make", "make()"])
def test_factory_is_called_and_what_it_returns_is_the_target(prepare: Prepare, target: str) -> None:
    found = prepare(FACTORY, target, inputs="inputs")
    assert [tuple(args[0].shape) for args, _ in found.calls] == [(2,), (3,)]
    assert float(found.subject.target(torch.ones(1))) == 3.0


def test_function_without_parameters_is_itself_if_its_inputs_have_no_arguments(prepare: Prepare) -> None:
    found = prepare("def f():\n    return torch.ones(2)\ndef probe_inputs():\n    return ((), {})\n", "f")
    assert found.calls == (((), {}),)
    assert found.subject.target().shape == (2,)


NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout()
        def forward(self, x):
            return self.drop(x)
        # probe: y=f32[3]
        def encode(self, y):
            return y + 1
    def get_inputs():
        return [torch.ones(2)]
    net = Net()
    fast = torch.compile(net)
    @torch.compile
    def step(x):
        return x - 1
    def steps():
        return torch.ones(4)
"""


def test_methods_instances_and_compiled_targets(prepare: Prepare) -> None:
    assert prepare(NET, "Net.forward").inputs.source == "get_inputs"
    method = prepare(NET, "Net.encode")
    assert (method.inputs.source, method.subject.target.__name__) == ("comment", "encode")
    assert prepare(NET, "net").inputs.source == "get_inputs"
    for target, options in (("fast", {}), ("step", {"inputs": "steps"})):
        found = prepare(NET, target, **options)
        assert "passed over" in found.notes[0]
        assert not hasattr(found.subject.target, "_torchdynamo_orig_callable")


def test_eager_is_eager_where_the_file_compiles(prepare: Prepare) -> None:
    """A decorated ``forward``, a submodule compiled in place: both sides of the comparison would be compiled."""
    text = """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(2, 2)
                self.lin.compile()
            @torch.compile(fullgraph=True)
            def forward(self, x):
                return torch.nn.functional.relu(self.lin(x)), torch.compiler.is_compiling()
        def probe_inputs():
            return torch.ones(2)
    """
    found = prepare(text, "Inner")
    (call,) = found.calls
    assert found.subject.call(found.subject.target, call)[1] is False
    assert len(found.notes) == 1 and "line 8, 9" in found.notes[0]


def test_mode_sets_modules_and_gradients(prepare: Prepare) -> None:
    evaluated, trained = prepare(NET, "Net"), prepare(NET, "Net", mode="train")
    assert evaluated.subject.module is not None and not evaluated.subject.module.training
    assert trained.subject.module is not None and trained.subject.module.training


def test_inputs_are_the_same_in_every_worker(prepare: Prepare) -> None:
    text = "def f(x):\n    return x\ndef probe_inputs():\n    return torch.randn(5)\n"
    assert torch.equal(prepare(text, "f").calls[0][0][0], prepare(text, "f").calls[0][0][0])


def test_target_that_calls_backward_gets_gradients(prepare: Prepare) -> None:
    text = """
        weight = torch.ones(2, requires_grad=True)
        def step(x):
            loss = (weight * x).sum()
            loss.backward()
            return loss.detach()
        def probe_inputs():
            return torch.ones(2)
    """
    found = prepare(text, "step")
    assert found.subject.grad is False
    preparation.call_eagerly(found)
    assert found.subject.grad is True


def test_failures_of_the_target_have_stage_and_line(prepare: Prepare) -> None:
    text = """
        def wrong(x):
            return x @ torch.ones(3)
        def greedy(x):
            raise MemoryError
        def probe_inputs():
            return torch.ones(2)
    """
    with pytest.raises(TargetError) as caught:
        preparation.call_eagerly(prepare(text, "wrong"))
    assert (caught.value.stage, caught.value.line) == ("eager", 5)
    with pytest.raises(TargetMemoryError):
        preparation.call_eagerly(prepare(text, "greedy"))


def test_missing_names_and_inputs_say_so(prepare: Prepare) -> None:
    with pytest.raises(UsageError, match="nothing"):
        prepare("def f(x): ...\n", "nothing")
    with pytest.raises(UsageError, match="cannot be called"):
        prepare("value = 3\n", "value")
    with pytest.raises(NeedsInputsError):
        prepare("def f(x): ...\n", "f")
    with pytest.raises(UsageError, match="--inputs absent"):
        prepare("def f(x): ...\n", "f", inputs="absent")


ALONE = """
    class Net(nn.Module):
        def forward(self, scale=2.0):
            return torch.ones(2) * scale
    def main():
        step = torch.compile(nn.Linear(2, 2))
        return step(torch.ones(1, 2))
    def run(*, steps=3):
        return torch.ones(steps)
    def other(image, mask):
        return image * mask
    def free(*tensors):
        return tensors
"""


@pytest.mark.parametrize("target", ["Net", "main", "run", "Net.forward"])
def test_target_without_required_parameters_is_simply_called(prepare: Prepare, target: str) -> None:
    found = prepare(ALONE, target)
    assert (found.inputs.source, found.calls) == ("no parameters", (((), {}),))
    preparation.call_eagerly(found)


def test_inputs_of_the_file_that_are_for_others_do_not_make_a_factory(prepare: Prepare) -> None:
    found = prepare(ALONE + "    def probe_inputs():\n        return torch.ones(2), torch.ones(2)\n", "main")
    assert found.calls == (((), {}),)
    assert "probe_inputs" in found.notes[0]


@pytest.mark.parametrize(("target", "names"), [("other", "image, mask"), ("free", "*tensors")])
def test_missing_inputs_name_the_parameters_of_the_target(prepare: Prepare, target: str, names: str) -> None:
    with pytest.raises(NeedsInputsError) as caught:
        prepare(ALONE, target)
    assert f"(the arguments {names})" in caught.value.sentence()


def test_compiling_inside_the_target_is_passed_over(prepare: Prepare) -> None:
    found = prepare(ALONE, "main")
    compile_before = torch.compile
    eager = preparation.call_eagerly(found)
    assert found.subject.compiles_inside and "line 8" in eager.notes[0]
    assert torch.compile is compile_before
    seen = observe_calls(found.subject.target, found.calls, compiles_inside=True)
    assert len(seen.graphs) == 1 and seen.error is None
    found.subject.call(found.subject.target, ((), {}))
    assert torch.compile is compile_before


SITES = """
    def main():
        step = torch.compile(nn.Linear(2, 2))
        def deeper():
            @torch.compile
            def inner(x):
                return x
            return inner
    class Trainer:
        def __init__(self):
            self.step = torch.compile(self.run)
            self.pattern = re.compile("x")
        def run(self, x):
            return x
"""


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("step", "inside main (target.py:5)"),
        ("main.step", "Probe target.py::main"),
        ("inner", "target.py::main"),
        ("Trainer.step", "Probe target.py::Trainer,"),
    ],
)
def test_site_inside_a_function_says_what_to_probe_instead(prepare: Prepare, target: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        prepare(SITES, target)
    assert named in caught.value.sentence()


META = """
    def build():
        with torch.device("meta"):
            return nn.Linear(2, 2)
    net = build()
    def fake(x):
        return torch.empty(3, device="meta")
    def double(x):
        return x * 2
    def inputs():
        return torch.ones(2, 2)
    def fakes():
        return torch.ones(2, 2, device="meta")
"""


def test_meta_tensors_are_not_the_fault_of_the_target(prepare: Prepare) -> None:
    for target, inputs, named in (
        ("net", "inputs", "weights"),
        ("double", "fakes", "inputs"),
        ("fake", "inputs", "returns"),
    ):
        with pytest.raises(UnavailableError, match=named) as caught:
            preparation.call_eagerly(prepare(META, target, inputs=inputs))
        assert "meta device" in caught.value.message and caught.value.remedy


def test_settings_of_the_file_are_in_force(prepare: Prepare) -> None:
    text = "CONFIG = {}\ndef f(x):\n    return x\ndef probe_inputs():\n    return 1\n"
    before = torch._dynamo.config.allow_unspec_int_on_nn_module
    try:
        named = "allow_unspec_int_on_nn_module"
        assert prepare(text.format({named: not before}), "f").notes
        assert torch._dynamo.config.allow_unspec_int_on_nn_module is not before
    finally:
        torch._dynamo.config.allow_unspec_int_on_nn_module = before
    assert prepare(text.format({named: True, "width": 8}), "f").notes == ()


def test_sibling_imports_work_and_hide_no_standard_module(prepare: Prepare, tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "sibling.py").write_text("VALUE = 7\n")
    (tmp_path / "statistics.py").write_text("raise RuntimeError('hides the standard module')\n")
    text = """
        import statistics
        import sibling
        from .sibling import VALUE
        def f(x):
            return statistics.mean([x, VALUE])
        def probe_inputs():
            return 1
    """
    assert prepare(text, "f").subject.target(7) == 7


def test_inputs_are_described_by_name(prepare: Prepare) -> None:
    text = """
        def f(x, sizes, *, name="a"): ...
        def probe_inputs():
            return (torch.ones(2, 3, dtype=torch.int64), [torch.ones(1), 2]), {"name": "b"}
    """
    found = prepare(text, "f")
    assert preparation.describe_call(found.subject, found.calls[0]) == "x=i64[2,3] sizes=[f32[1], 2] name='b'"
