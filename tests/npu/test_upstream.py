"""The compilers that come with the wheel, over the driver: results, and how often they capture and replay."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .standin import counted


def model() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
    ).eval()  # fmt: skip


def run(backend: Any, sizes: tuple[int, ...], **options: Any) -> None:
    """Call the model with new inputs of these sizes; every result has to be the CPU's."""
    ours, reference = model().npu(), model()
    with torch.no_grad():
        compiled = torch.compile(ours, backend=backend, **options)
        for size in sizes:
            x = torch.randn(size, 3)
            torch.testing.assert_close(compiled(x.npu()).cpu(), reference(x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_the_lower_layers_give_the_results_of_the_cpu_and_capture_nothing(backend: str) -> None:
    with counted() as seen:
        run(backend, (2, 2, 4))
    assert seen.captures_begun == 0 and seen.replays == 0 and seen.launches > 0


def test_npugraphs_runs_plainly_first_then_captures_and_replays() -> None:
    with counted() as seen:
        run("npugraphs", (2, 2, 2, 2), dynamic=False)
    assert seen.tasks_captured == 4
    assert seen.replays == 3  # the capturing call and two more; each works on new inputs


def test_npugraph_ex_captures_once_for_a_size_and_replays_from_the_first_call() -> None:
    torch._dynamo.utils.counters.clear()
    with counted() as seen:
        run("npugraph_ex", (2, 2, 2, 2), dynamic=False)
    told = torch._dynamo.utils.counters["npugraph_ex"]
    assert [number for name, number in told.items() if name.startswith("captured")] == [1]
    assert seen.captures_ended == 2  # one is empty: it only opens the memory pool
    assert seen.replays == 4


def test_npugraph_ex_with_a_dynamic_size_captures_once_for_each_value() -> None:
    torch._dynamo.utils.counters.clear()
    with counted() as seen:
        run("npugraph_ex", (2, 3, 4, 2, 3), dynamic=True)
    told = torch._dynamo.utils.counters["npugraph_ex"]
    assert [number for name, number in told.items() if name.startswith("captured")] == [3]
    assert seen.replays == 5


def test_an_output_of_npugraph_ex_that_is_kept_is_overwritten_by_the_next_call() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="npugraph_ex", dynamic=False)
    with torch.no_grad():
        first = compiled(torch.zeros(4, device="npu"))
        compiled(torch.full((4,), 9.0, device="npu"))
    assert first.cpu().tolist() == [10.0] * 4


def test_a_graph_break_splits_npugraph_ex_into_two_graphs() -> None:
    def function(x: Any) -> Any:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    compiled = torch.compile(function, backend="npugraph_ex", dynamic=False)
    with torch.no_grad(), counted() as seen:
        assert compiled(torch.ones(4, device="npu")).cpu().tolist() == [4.0] * 4
        assert compiled(torch.full((4,), 2.0, device="npu")).cpu().tolist() == [6.0] * 4
    assert seen.replays == 4 and seen.captures_ended == 4


def test_inductor_has_no_code_for_the_npu_and_says_so() -> None:
    with pytest.raises(Exception, match=r"(?i)npu"):
        torch.compile(lambda x: (x + 1).relu(), backend="inductor")(torch.ones(4, device="npu"))
