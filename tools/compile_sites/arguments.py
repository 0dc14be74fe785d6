"""Arguments that are accepted, and those that raise."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from harness import Net, X, form, outcome
from torch import nn

ARGUMENTS = "Arguments of `torch.compile`"


def with_arguments(**arguments: Any) -> str:
    def make() -> str:
        fast = torch.compile(nn.Linear(4, 4), **arguments)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fast(X)
        except Exception as error:
            cause = error.__cause__ or error
            return f"raises {type(cause).__name__} at the call"
        return "accepted"

    return outcome(make)


@form(ARGUMENTS, '`mode="reduce-overhead", options={"max_autotune": True}`')
def mode_and_options() -> str:
    return with_arguments(mode="reduce-overhead", options={"max_autotune": True})


@form(ARGUMENTS, '`mode="default", options={"max_autotune": False}`')
def default_mode_and_options() -> str:
    return with_arguments(mode="default", options={"max_autotune": False})


@form(ARGUMENTS, '`mode="reduce_overhead"`')
def unknown_mode() -> str:
    return with_arguments(mode="reduce_overhead")


@form(ARGUMENTS, '`mode="reduce_overhead", backend="eager"`')
def unknown_mode_of_eager() -> str:
    return with_arguments(mode="reduce_overhead", backend="eager")


@form(ARGUMENTS, '`options={"max_autotuned": True}`')
def unknown_option() -> str:
    return with_arguments(options={"max_autotuned": True})


@form(ARGUMENTS, '`options={"max_autotune": "yes"}`')
def wrong_option_type() -> str:
    return with_arguments(options={"max_autotune": "yes"})


@form(ARGUMENTS, '`options={"triton.cudagraphs": True}`')
def dotted_option() -> str:
    return with_arguments(options={"triton.cudagraphs": False})


@form(ARGUMENTS, '`options={"max-autotune": False}`, with a dash')
def dashed_option() -> str:
    return with_arguments(options={"max-autotune": False})


@form(ARGUMENTS, '`backend="inductr"`')
def unknown_backend() -> str:
    return with_arguments(backend="inductr")


@form(ARGUMENTS, '`mode="default", backend="eager"`')
def default_mode_of_eager() -> str:
    return with_arguments(mode="default", backend="eager")


@form(ARGUMENTS, '`mode="max-autotune", backend="eager"`')
def known_mode_of_eager() -> str:
    return with_arguments(mode="max-autotune", backend="eager")


@form(ARGUMENTS, '`mode="max-autotune", backend="aot_eager"`')
def known_mode_of_aot_eager() -> str:
    return with_arguments(mode="max-autotune", backend="aot_eager")


@form(ARGUMENTS, '`options={"a": 1}, backend="aot_eager"`')
def options_of_aot_eager() -> str:
    return with_arguments(options={"a": 1}, backend="aot_eager")


@form(ARGUMENTS, "`torch.compile(net, True)`, a second positional argument")
def second_positional() -> str:
    return outcome(lambda: torch.compile(Net(), True) and "accepted")  # type: ignore[call-overload]


@form(ARGUMENTS, "`torch.compile(net, full_graph=True)`, an unknown keyword")
def unknown_keyword() -> str:
    return outcome(lambda: torch.compile(Net(), full_graph=True) and "accepted")  # type: ignore[call-overload]


@form(ARGUMENTS, "`torch.compile(net(x))`, a tensor instead of something to call")
def not_callable() -> str:
    return outcome(lambda: torch.compile(Net()(X)) and "accepted")
