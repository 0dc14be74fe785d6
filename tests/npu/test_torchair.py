"""Torchair over the driver, in one process of its own: once npugraph_ex was used it cannot be imported any more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "torchair_program.py"


@pytest.fixture(scope="module")
def found() -> Any:
    """What the program saw."""
    root = str(PROGRAM.parent.parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((os.environ["PYTHONPATH"], root))}
    run = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.rpartition("\x1e")[2])


def test_importing_torchair_takes_over_the_signal_handlers_of_the_process(found: Any) -> None:
    """The reason why the probe imports it in workers only."""
    assert found["handler_changed"] is True


def test_reduce_overhead_gives_the_results_of_the_cpu(found: Any) -> None:
    assert found["reduce_overhead"]["worst"] < 1e-5 and found["errors"] == []


def test_reduce_overhead_captures_once_for_a_size_and_replays_at_every_call(found: Any) -> None:
    assert found["reduce_overhead"]["replays"] == 4
    assert found["reduce_overhead"]["captures"] == 4  # two sizes, each with an empty one that opens its pool


def test_a_whole_model_is_converted_to_ascend_ir(found: Any) -> None:
    (graph,) = found["mlp"]["graphs"]
    assert {"MatMulV2", "Gelu", "LayerNormV4", "NetOutput"} <= set(graph)
    assert graph.count("Data") == 7
    assert any("the graph engine is not part of the stand-in" in cause for cause in found["mlp"]["causes"])


def test_a_converter_that_is_registered_and_has_no_body_is_told_by_name(found: Any) -> None:
    assert found["isnan"]["graphs"] == []
    assert any(
        "torch.ops.aten.isnan.default ge_converter is not implemented" in one for one in found["isnan"]["causes"]
    )


def test_an_operator_without_a_converter_is_told_by_name(found: Any) -> None:
    assert found["pdist"]["graphs"] == []
    assert any("Failed to auto-generated converter for aten._pdist_forward" in one for one in found["pdist"]["causes"])
