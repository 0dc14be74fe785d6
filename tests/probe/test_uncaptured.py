"""Where nothing is compiled there is no number but a cause; what changes compilation is part of the result."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

from compile_probe.environment import uncaptured
from compile_probe.environment.settings import Assignments, variables
from compile_probe.observe import observe_calls

from .conftest import Ended, run

X = torch.ones(4)


def probed(folder: Path, text: str, *arguments: str) -> Ended:
    path = folder / "target.py"
    path.write_text("import torch\n" + textwrap.dedent(text) + "def probe_inputs():\n    return torch.ones(4)\n")
    return run(f"{path}::f", "--budget", "0.3", "--backend", "aot_eager", *arguments)


SWITCHED_OFF = """\
torch._dynamo.config.disable = True
def f(x):
    return x + 1
"""

SUPPRESSED = """\
torch._dynamo.config.suppress_errors = True
@torch.library.custom_op("never_wrong::opaque", mutates_args=())
def opaque(x: torch.Tensor) -> torch.Tensor:
    return x * 2
def f(x):
    return opaque(x)
"""


def is_not_compiled(ended: Ended) -> dict[str, Any]:
    """No ratio, the verdict in the row, and the cause, which is returned."""
    assert ended.done["status"] == "ok"
    (row,) = ended.result["measurements"]
    cause = ended.result["not_compiled"]
    assert (row["verdict"], row["note"]) == ("not-compiled", cause["message"])
    assert "ratio" not in row and ended.result["check"] is None
    assert [one["verdict"] for one in ended.of("measurement")] == ["not-compiled"]
    return cause


def test_option_in_the_file_is_named_with_its_line(tmp_path: Path) -> None:
    ended = probed(tmp_path, SWITCHED_OFF)
    cause = is_not_compiled(ended)
    assert (cause["line"], Path(cause["file"]).name) == (2, "target.py")
    environment = ended.result["environment"]
    assert environment["options"] == {"dynamo.disable": "True"}
    assert environment["places"]["dynamo.disable"].endswith("target.py:2")


@pytest.mark.parametrize("variable", ["TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"])
def test_variable_of_the_environment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    ended = probed(tmp_path, "def f(x):\n    return x + 1\n")
    assert f"{variable}=1" in is_not_compiled(ended)["message"]
    assert ended.result["environment"]["variables"][variable] == "1"


def test_suppressed_error_is_named(tmp_path: Path) -> None:
    ended = probed(tmp_path, SUPPRESSED)
    cause = is_not_compiled(ended)
    assert cause["line"] == 7 and "suppress_errors" in cause["message"] and "never_wrong::opaque" in cause["message"]


def why(target: Any, *args: Any) -> str:
    return uncaptured.cause(target, observe_calls(target, [(args, {})]), Assignments()).message


class Disabled(torch.nn.Module):
    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_decorator_break_and_emptiness_are_causes() -> None:
    assert "torch.compiler.disable" in why(Disabled(), X)
    assert "no tensor operation" in why(len, [1]) or "skipped" in why(len, [1])
    torch.compiler.set_stance("force_eager")
    try:
        assert "force_eager" in why(torch.sin, X)
    finally:
        torch.compiler.set_stance("default")


def test_share_of_time_in_graphs_is_measured_where_python_has_a_part() -> None:
    def half(x: torch.Tensor) -> torch.Tensor:
        y = x @ x
        torch._dynamo.graph_break()
        return sum((torch.mm(x, x) for _ in range(2)), y)

    def whole(x: torch.Tensor) -> torch.Tensor:
        return x @ x

    big = torch.ones(200, 200)
    seen = observe_calls(half, [((big,), {})], cover=True)
    assert seen.covered is not None and 0 < seen.covered <= 1
    assert len(seen.breaks) == 1
    assert observe_calls(whole, [((big,), {})], cover=True).covered is None


def test_variables_that_change_nothing_are_not_told() -> None:
    given = {"TORCH_LOGS": "+dynamo", "HOME": "/", "CXX": "g++", "TORCHINDUCTOR_CACHE_DIR": "/x", "PATH": "/bin"}
    assert variables(given) == {"TORCH_LOGS": "+dynamo", "CXX": "g++"}
