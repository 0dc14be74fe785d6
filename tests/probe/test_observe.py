"""What Dynamo does with calls, seen in this process."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from compile_probe.observe import fresh_calls, observe_calls
from compile_probe.observe.registry import has_ids

HERE = __file__
X = torch.ones(4)


def line_of(function: Any, text: str) -> int:
    """The line of the first source line of a function that contains a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(index for index, line in enumerate(lines) if text in line)


def helper(x: torch.Tensor) -> torch.Tensor:
    print("seen")
    return x + 1


def outer(x: torch.Tensor) -> torch.Tensor:
    y = helper(x) * 2
    return y.cos()


def observe(function: Any, *args: Any, count: int = 5, **options: Any) -> Any:
    return observe_calls(function, fresh_calls([(args, {})], count), **options)


def test_break_in_a_helper_has_its_line_cause_and_stack() -> None:
    seen = observe(outer, X)
    (one,) = seen.breaks
    assert (one.file, one.line, one.end_line) == (HERE, line_of(helper, "print"), line_of(helper, "print"))
    assert one.gb_id == ("GB0059" if has_ids() else None)
    assert one.gb_type == "Failed to trace builtin operator"
    assert [frame.function for frame in one.stack] == ["helper", "outer"]
    assert one.stack[1].line == line_of(outer, "helper(x)")
    assert (one.effect, one.frame_skipped, one.count) == ("resume", False, 2)
    assert one.reason and one.hints


def test_graphs_and_traced_lines() -> None:
    seen = observe(outer, X)
    assert [graph.ops for graph in seen.graphs] == [1, 2]
    assert {line for graph in seen.graphs for _, line in graph.lines} == {
        line_of(helper, "x + 1"),
        line_of(outer, "* 2"),
        line_of(outer, "cos"),
    }
    assert set(seen.traced) == {HERE}
    assert {line_of(helper, "print"), line_of(outer, "cos")} <= set(seen.traced[HERE])
    assert seen.traced[HERE] == sorted(seen.traced[HERE])


def test_break_in_a_loop_skips_the_frame() -> None:
    def refine(x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = x.tanh()
            if x.sum() > 100:
                x = x / 2
        return x

    seen = observe(refine, X)
    (one,) = seen.breaks
    assert (one.line, one.effect, one.frame_skipped) == (line_of(refine, "if x.sum"), "skip-frame", True)
    assert one.gb_type == "Data-dependent branching"  # the cause, not the loop that made it worse
    assert seen.graphs == ()


def test_break_below_torch_is_on_the_users_line() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.rnn(x.relu())[0]

    seen = observe(Net(), torch.ones(2, 4))
    assert {(one.file, one.line) for one in seen.breaks} == {(HERE, line_of(Net.forward, "self.rnn"))}


def test_recompile_names_the_guard_and_the_call() -> None:
    def scaled(x: torch.Tensor, flag: str) -> torch.Tensor:
        return x * 2 if flag == "a" else x * 3

    seen = observe_calls(scaled, [((X, "a"), {}), ((X, "a"), {}), ((X, "b"), {})])
    (one,) = seen.recompiles
    assert (one.file, one.function, one.call) == (HERE, "scaled", 2)
    assert "flag == 'a'" in one.reason
    assert one.line in (line_of(scaled, "def scaled"), line_of(scaled, "flag =="))
    assert seen.compiles == 2


def test_counter_on_a_module_recompiles_every_call() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.steps += 1
            return x * self.steps

    seen = observe(Counted(), X)
    assert seen.breaks == ()
    assert [one.call for one in seen.recompiles] == [1, 2, 3, 4]


def test_outputs_and_errors_are_kept() -> None:
    def fails_later(x: torch.Tensor, n: int) -> torch.Tensor:
        if n == 2:
            raise ValueError("two")
        return x * n

    seen = observe_calls(fails_later, [((X, n), {}) for n in (1, 2, 3)])
    assert [output[0].item() for output in seen.outputs] == [1.0]
    assert isinstance(seen.error, ValueError)


def test_training_goes_backward_and_inference_does_not() -> None:
    layer = nn.Linear(4, 4)
    assert observe(layer, X).outputs[0].requires_grad is False
    assert layer.weight.grad is None
    observe(layer, X, train=True)
    assert layer.weight.grad is not None


def test_hooks_are_gone_afterwards() -> None:
    from torch._dynamo import convert_frame, exc, symbolic_convert

    before = (
        symbolic_convert.InstructionTranslatorBase.starts_line,
        convert_frame.ConvertFrameAssert.__call__,
        exc.Unsupported.__init__,
        convert_frame.get_and_maybe_log_recompilation_reasons,
    )
    observe(outer, X)
    after = (
        symbolic_convert.InstructionTranslatorBase.starts_line,
        convert_frame.ConvertFrameAssert.__call__,
        exc.Unsupported.__init__,
        convert_frame.get_and_maybe_log_recompilation_reasons,
    )
    assert before == after


def test_absent_private_api_is_noted_and_the_rest_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo import symbolic_convert

    monkeypatch.delattr(symbolic_convert.InstructionTranslatorBase, "starts_line", raising=True)
    monkeypatch.setattr(symbolic_convert.InstructionTranslatorBase, "__getattr__", _no_starts_line, raising=False)
    seen = observe_calls(lambda x: x + 1, [((X,), {})])
    assert any("starts_line" in note for note in seen.notes)


def _no_starts_line(self: Any, name: str) -> Any:
    if name == "starts_line":
        return lambda lineno: None
    raise AttributeError(name)


def test_listener_hears_each_break_once() -> None:
    heard: list[Any] = []
    observe(outer, X, listener=heard.append)
    assert [type(one).__name__ for one in heard].count("GraphBreak") == 1
    assert [type(one).__name__ for one in heard].count("Graph") == 2


def test_fresh_calls_cycle_and_copy() -> None:
    calls = [((torch.zeros(1), {"k": torch.ones(1)}), {}), ((torch.zeros(2), {}), {})]
    made = fresh_calls(calls, 5)
    assert [tuple(args[0].shape) for args, _ in made] == [(1,), (2,), (1,), (2,), (1,)]
    made[0][0][0].add_(1)
    assert float(calls[0][0][0]) == 0.0 and float(made[2][0][0]) == 0.0
    assert Path(HERE).exists()
