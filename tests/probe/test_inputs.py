"""Shapes of example inputs, their order, the comment, and what is said when there are none."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from compile_probe.errors import InputsError, NeedsInputsError
from compile_probe.host import memory
from compile_probe.inputs.sources import arguments_of, build, calls_of, comments, find_inputs

T = torch.ones(2)
PAIR = (T, T)


@pytest.mark.parametrize(
    ("returned", "calls"),
    [
        (T, [((T,), {})]),
        (3, [((3,), {})]),
        ((T, 2), [((T, 2), {})]),
        ([T, 2], [((T, 2), {})]),
        ({"x": T}, [((), {"x": T})]),
        (((T, 2), {"k": 1}), [((T, 2), {"k": 1})]),
        (([T, 2], {"k": 1}), [((T, 2), {"k": 1})]),
        (((), {}), [((), {})]),
        ([(T,), (T, 2)], [((T,), {}), ((T, 2), {})]),
        ([((T,), {"k": 1}), ((T,), {})], [((T,), {"k": 1}), ((T,), {})]),
        ([], [((), {})]),
        ([T, PAIR], [((T, PAIR), {})]),
        ((T, {"k": 1}), [((T, {"k": 1}), {})]),
        ({1: T}, [(({1: T},), {})]),
        ([{"x": T}], [(({"x": T},), {})]),
    ],
    ids=str,
)
def test_what_a_function_may_return(returned: Any, calls: list[Any]) -> None:
    assert list(calls_of(returned)) == calls


def test_get_inputs_is_always_the_arguments_of_one_call() -> None:
    assert list(arguments_of([PAIR])) == [((PAIR,), {})]
    assert list(calls_of([PAIR])) == [(PAIR, {})]


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.width


def module(**names: Any) -> ModuleType:
    made = ModuleType("target")
    vars(made).update(names)
    return made


def step(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return x * scale


COMMENT = "# probe: x=f32[3]\ndef step(x, scale=1.0): ...\n"


@pytest.mark.parametrize(
    ("names", "text", "explicit", "source"),
    [
        (
            {"probe_inputs": lambda: T, "get_example_inputs": lambda: T, "mine": lambda: T},
            COMMENT,
            None,
            "probe_inputs",
        ),
        ({"probe_inputs": lambda: T, "mine": lambda: T}, COMMENT, "mine", "function:mine"),
        ({"get_example_inputs": lambda: T}, COMMENT, None, "get_example_inputs"),
        ({}, COMMENT, None, "comment"),
    ],
)
def test_order_of_sources_for_a_function(names: Any, text: str, explicit: Any, source: str) -> None:
    assert find_inputs(module(**names), text, "step", step, None, explicit).source == source


def test_conventions_of_a_class() -> None:
    class Example(Net):
        def get_example_inputs(self) -> Any:
            return (torch.ones(self.width),)

    class Lightning(Net):
        example_input_array = T

    class Face(Net):
        @property
        def dummy_inputs(self) -> Any:
            return {"x": T}

    found = find_inputs(module(), "", "Example", Example(5), Example, None)
    assert (found.source, found.calls[0][0][0].shape) == ("get_example_inputs", (5,))
    assert find_inputs(module(), "", "Lightning", Lightning(1), Lightning, None).source == "example_input_array"
    assert find_inputs(module(), "", "Face", Face(1), Face, None).calls[0][1] == {"x": T}
    named = module(get_inputs=lambda: [T])
    assert find_inputs(named, "", "Face", Face(1), Face, None).source == "get_inputs"
    assert find_inputs(named, "", "Face.forward", Face(1).forward, Face, None).source == "get_inputs"


def test_no_inputs_says_what_to_write() -> None:
    with pytest.raises(NeedsInputsError) as caught:
        find_inputs(module(), "def step(x): ...", "step", step, None, None)
    assert "def probe_inputs()" in caught.value.remedy
    assert "# probe: x=f32" in caught.value.remedy


def test_inputs_that_do_not_fit_name_the_parameter() -> None:
    with pytest.raises(InputsError, match="scale"):
        find_inputs(module(probe_inputs=lambda: (T, 1.0, 2.0)), "", "step", step, None, None)
    with pytest.raises(InputsError, match=r"raised ValueError: no"):
        find_inputs(module(probe_inputs=_raises), "", "step", step, None, None)


def _raises() -> None:
    raise ValueError("no")


def test_constructor_arguments() -> None:
    assert build(Net, module(get_init_inputs=lambda: [7]), "", "Net").width == 7
    assert build(Net, module(get_init_inputs=lambda: {"width": 6}), "", "Net").width == 6
    assert build(Net, module(get_init_inputs=lambda: [[5], {}]), "", "Net").width == 5
    assert build(Net, module(), "# probe: x=f32[2]; init(width=4)\nclass Net: ...", "Net").width == 4
    with pytest.raises(NeedsInputsError, match="width"):
        build(Net, module(), "class Net: ...", "Net")


def test_comment_is_parsed() -> None:
    sweep = comments.parse('x=f32[B,24] ids=i64[B]<10 m=bool[B] z=f16[2]=zeros n="a b"; B=2|5; init(dim=8, act="x;y")')
    small, large = sweep.sizes()
    assert (small.label, large.label, sweep.swept) == ("B=2", "B=5", (2, 5))
    assert sweep.init == (("dim", 8), ("act", "x;y"))
    kwargs = large.call()[1]
    assert {name: (tuple(v.shape), v.dtype) for name, v in kwargs.items() if isinstance(v, torch.Tensor)} == {
        "x": ((5, 24), torch.float32),
        "ids": ((5,), torch.int64),
        "m": ((5,), torch.bool),
        "z": ((2,), torch.float16),
    }
    assert kwargs["n"] == "a b"
    assert not kwargs["z"].any()
    assert int(kwargs["ids"].min()) >= 0 and int(kwargs["ids"].max()) < 10


def test_two_symbols_are_combined() -> None:
    labels = [size.label for size in comments.parse("x=f32[B,S]; B=1|2; S=3|4").sizes()]
    assert labels == ["B=1, S=3", "B=1, S=4", "B=2, S=3", "B=2, S=4"]


@pytest.mark.parametrize(
    "text", ["x=f33[2]", "x=f32[B]", "x=f32[-1]", "x=__import__('os')", "f32[2]", "x=f32[2]; C", "x=f32[2]=blue"]
)
def test_bad_comment_is_named_and_never_run(text: str) -> None:
    with pytest.raises(InputsError, match="probe:"):
        comments.parse(text)


def test_inputs_larger_than_memory_are_refused_before_they_are_made() -> None:
    available = memory.available_bytes()
    assert available is not None
    side = int((available / 4) ** 0.5)
    (size,) = comments.parse(f"x=f32[N,N]; N={side}").sizes()
    with pytest.raises(InputsError, match="memory"):
        size.call()


def test_comment_of_a_class_may_stand_above_forward(tmp_path: Path) -> None:
    text = "class Net:\n    # probe: x=f32[4]\n    def forward(self, x): ...\n"
    found = find_inputs(module(), text, "Net", Net(1), Net, None)
    assert found.calls[0][1]["x"].shape == (4,)
