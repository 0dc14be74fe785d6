"""These tests run only over the stand-in driver, in an environment of their own: ``make test-npu``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if "driver/site" not in os.environ.get("PYTHONPATH", ""):
    raise pytest.UsageError("tests/npu runs over a driver and an environment of its own: make test-npu")

import torch
import torch_npu  # noqa: F401  (before anything else of it)

CASES = Path(__file__).parent / "cases"


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Every test begins on the default stream with nothing captured, and no kernel may have failed in a replay."""
    import standin_kernels

    torch.npu.set_device(0)
    standin_kernels.errors.clear()
    yield
    if torch.npu.is_current_stream_capturing():
        pytest.fail("the test left a capture open")
    torch.npu.set_stream(torch.npu.default_stream())
    torch._dynamo.reset()
    assert standin_kernels.errors == []


@pytest.fixture
def seed() -> int:
    """The same random numbers in every run."""
    torch.manual_seed(7)
    return 7
