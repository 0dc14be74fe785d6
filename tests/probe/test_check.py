"""The comparison of results, and the check of a compiled target, here played by plain functions."""

from __future__ import annotations

import random
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import pytest
import torch
from torch import nn

from compile_probe.check.checker import Check, Checker
from compile_probe.check.comparison import closer_to, differences
from compile_probe.targets.subject import Subject

Pair = namedtuple("Pair", "a b")


@dataclass
class Output:
    logits: torch.Tensor


X = torch.linspace(-1, 1, 12).reshape(3, 4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (X, X * (1 + 1e-6)),
        (X.half(), (X * 1.001).half()),
        ({"a": [X, 1, "s"]}, {"a": [X.clone(), 1, "s"]}),
        (Pair(X, None), Pair(X.clone(), None)),
        (Output(X), Output(X.clone())),
        (torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")])),
        (X[:0], X[:0]),
        (X.to_sparse(), X.to_sparse()),
        (np.ones(3), np.ones(3)),
        (1.0, 1.0 + 1e-7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_same_up_to_rounding(one: Any, other: Any) -> None:
    assert all(difference.acceptable for difference in differences(one, other))


class Boxed:
    """An object whose ``__eq__`` answers with a tensor."""

    __slots__ = ("inner", "name")

    def __init__(self, inner: torch.Tensor, name: str = "a") -> None:
        self.inner = inner
        self.name = name

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Boxed) and self.inner == other.inner

    __hash__ = None  # type: ignore[assignment]


def local(x: torch.Tensor) -> Any:
    """An object of a class that is another one in every call, and that holds itself."""

    class Local:
        pass

    made: Any = Local()
    made.x, made.kind, made.me = x, Local, [made]
    return made


@pytest.mark.parametrize("make", [Boxed, local, lambda x: deque([x]), lambda x: OrderedDict(a=[x])])
def test_objects_are_compared_by_what_is_in_them(make: Callable[[torch.Tensor], Any]) -> None:
    assert verify(make, lambda x: make(x.clone()), X).status == "pass"
    check = verify(make, lambda x: make(x + 1), X)
    assert check.status == "fail" and "values differ" in check.message


def test_object_of_another_class_or_with_other_attributes_fails() -> None:
    assert "Boxed became Output" in verify(Boxed, Output, X).message
    assert ".name" in verify(Boxed, lambda x: Boxed(x, "b"), X).message
    assert "OrderedDict became dict" in verify(lambda x: OrderedDict(a=x), lambda x: {"a": x}, X).message


def test_result_that_later_calls_change_is_kept_as_it_was() -> None:
    kept: list[Any] = [0]

    def target(x: torch.Tensor, step: int = 1) -> Any:
        kept[0] = (kept[0] + step) % 3
        return kept

    kept[0] = 0
    assert verify(target, lambda x: target(x, 2), X).status != "pass"


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (X, X + 1e-2, "values"),
        (X, X.double(), "dtype"),
        (X, X.T, "shape"),
        (X, None, "NoneType"),
        ([X], [X, X], "items"),
        ({"a": X}, OrderedDict(b=X), "keys"),
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]), "NaN"),
        (torch.tensor([1.0, float("inf")]), torch.tensor([1.0, -float("inf")]), "infinities"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "1 of 2"),
        (Output(X), Output(X + 1), "values"),
        ("a", "b", "became"),
        (X.double(), X.double() + 1e-6, "values"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_differences_are_seen(one: Any, other: Any, what: str) -> None:
    found = [difference for difference in differences(one, other) if not difference.acceptable]
    assert found and what in found[0].what


def test_reference_tells_rounding_from_error() -> None:
    exact = torch.randn(1000, dtype=torch.float64)
    eager = (exact * (1 + 1e-4)).float()
    assert closer_to([exact], [eager], [(exact * (1 - 1e-4)).float()])
    assert not closer_to([exact], [eager], [(exact * 1.01).float()])


def verify(target: Callable[..., Any], compiled: Callable[..., Any], *args: Any, train: bool = False) -> Check:
    subject = Subject(target, train=train, device="cpu")
    checker = Checker(subject, [(args, {})], subject.save(None))
    return checker.check("variant", compiled)


def test_equal_functions_pass() -> None:
    assert verify(torch.sin, lambda x: x.sin(), X).status == "pass"


def test_value_baked_in_at_the_first_call_fails() -> None:
    baked: list[Any] = []

    def compiled(x: torch.Tensor) -> torch.Tensor:
        baked.append(x.sum())
        return x * baked[0]

    check = verify(lambda x: x * x.sum(), compiled, X + 2)
    assert (check.status, check.hides_number) == ("fail", True)


def test_missing_mutation_of_an_argument_fails() -> None:
    check = verify(lambda x: x.add_(1).sum(), lambda x: (x + 1).sum(), X)
    assert check.status == "fail"
    assert "argument" in check.message


def test_generators_are_seeded_alike() -> None:
    def target(x: torch.Tensor) -> Any:
        return x + torch.rand(3, 4), random.random(), float(np.random.rand())

    assert verify(target, target, X).status == "pass"


def test_nondeterministic_eager_is_said_and_shapes_still_count() -> None:
    state = [0.0]

    def target(x: torch.Tensor) -> torch.Tensor:
        state[0] += 1
        return x + state[0]

    check = verify(target, target, X)
    assert (check.status, check.hides_number) == ("nondeterministic", False)
    assert verify(target, lambda x: target(x).sum(), X).status == "fail"


def test_compiled_that_raises_is_an_error() -> None:
    def compiled(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no kernel")

    check = verify(torch.sin, compiled, X)
    assert check.status == "error"
    assert "no kernel" in check.message


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.seen: list[int] = []
        self.lin = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        self.seen.append(self.steps)
        return self.norm(self.lin(x)) * self.steps


def test_state_is_put_back_between_runs() -> None:
    model = Counted()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert verify(model, model, X, train=True).status == "pass"
    assert (model.steps, model.seen) == (0, [])
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_wrong_gradients_and_buffers_fail_in_training() -> None:
    model = Counted()

    def no_gradient(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return model(x)

    check = verify(model, no_gradient, X, train=True)
    assert (check.status, "gradient" in check.message) == ("fail", True)
