"""What the real torch_npu does over the driver: its graphs, pools, streams and numbers."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from .standin import counted


def model() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
    ).eval()  # fmt: skip


def test_a_module_forward_and_backward_equal_the_cpu() -> None:
    ours, reference = model(), model()
    ours.npu()
    x = torch.randn(4, 3)
    ours(x.npu()).sum().backward()
    reference(x).sum().backward()
    for a, b in zip(ours.parameters(), reference.parameters()):
        torch.testing.assert_close(a.grad.cpu(), b.grad)


def test_a_capture_computes_nothing_and_a_replay_computes_on_changed_inputs() -> None:
    ours, reference = model(), model()
    ours.npu()
    x = torch.randn(4, 3, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.no_grad(), counted() as seen:
        ours(x)
        before = seen.launches
        with torch.npu.graph(graph):
            out = ours(x)
        captured = seen.tasks_captured
        assert seen.captures_ended == 1 and captured == before > 0
        assert not torch.equal(out.cpu(), reference(x.cpu()))
        for _ in range(3):
            new = torch.randn(4, 3)
            x.copy_(new)
            out.fill_(float("nan"))
            graph.replay()
            torch.testing.assert_close(out.cpu(), reference(new))
        assert seen.replays == 3 and seen.tasks_replayed == 3 * captured


def test_an_output_kept_from_one_replay_is_overwritten_by_the_next() -> None:
    x = torch.zeros(4, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = x + 1
    graph.replay()
    kept, copied = out, out.clone()
    x.fill_(9)
    graph.replay()
    assert kept.cpu().tolist() == [10.0] * 4 and copied.cpu().tolist() == [1.0] * 4


def test_graphs_of_one_pool_share_memory_and_pool_memory_is_not_given_out_again() -> None:
    pool = torch.npu.graph_pool_handle()
    x = torch.ones(1024, device="npu")
    one, two = torch.npu.NPUGraph(), torch.npu.NPUGraph()
    with torch.npu.graph(one, pool=pool):
        a = x + 1
    with torch.npu.graph(two, pool=pool):
        b = a * 2
    assert one.pool() == two.pool()
    others = [torch.empty(1024, device="npu") for _ in range(8)]
    assert a.data_ptr() not in {other.data_ptr() for other in others}
    one.replay()
    two.replay()
    assert b.cpu()[0].item() == 4.0


def test_a_parameter_that_moved_is_read_at_its_old_address() -> None:
    linear = torch.nn.Linear(4, 4, bias=False).npu()
    old = linear.weight.detach().clone()
    x = torch.eye(4, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.no_grad(), torch.npu.graph(graph):
        out = linear(x)
    keep = linear.weight.data
    linear.weight.data = torch.full((4, 4), 3.0, device="npu")
    graph.replay()
    torch.testing.assert_close(out.cpu(), old.cpu().T)
    assert keep.data_ptr() != linear.weight.data_ptr()


def test_a_replay_over_freed_memory_is_507011_at_the_next_wait() -> None:
    x = torch.ones(1 << 20, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = x + 1
    del x
    torch.npu.empty_cache()
    graph.replay()
    with pytest.raises(RuntimeError, match="507011"):
        torch.npu.synchronize()
    assert out.shape == (1 << 20,)


def test_dropout_in_a_graph_draws_anew_at_each_replay_and_a_seed_repeats_it() -> None:
    x = torch.ones(256, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        out = torch.nn.functional.dropout(x, 0.5)
    torch.npu.manual_seed(3)
    graph.replay()
    first = out.cpu()
    graph.replay()
    second = out.cpu()
    torch.npu.manual_seed(3)
    graph.replay()
    assert not torch.equal(first, second) and torch.equal(first, out.cpu())


def test_events_order_streams_and_measure_a_time() -> None:
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    side = torch.npu.Stream()
    start.record()
    side.wait_event(start)
    with torch.npu.stream(side):
        x = torch.ones(8, device="npu") + 1
        end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0.0 and x.cpu()[0].item() == 2.0


def test_attention_reaches_the_fused_operator_of_torch_npu_and_equals_the_cpu() -> None:
    import standin_kernels

    q = torch.randn(2, 4, 6, 8)
    expected = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    before = {name: number for name, number in standin_kernels.calls.items() if "fusion_attention" in name}
    found = torch.nn.functional.scaled_dot_product_attention(q.npu(), q.npu(), q.npu(), is_causal=True)
    after = {name: number for name, number in standin_kernels.calls.items() if "fusion_attention" in name}
    torch.testing.assert_close(found.cpu(), expected)
    assert sum(after.values()) == sum(before.values()) + 1


def test_make_graphed_callables_of_torch_npu_gives_what_the_module_gives() -> None:
    ours = torch.nn.Linear(4, 4).npu()
    reference = copy.deepcopy(ours).cpu()
    with counted() as seen:
        graphed = torch.npu.make_graphed_callables(ours, (torch.randn(2, 4, device="npu"),))
        x = torch.randn(2, 4)
        torch.testing.assert_close(graphed(x.npu()).cpu(), reference(x))
    assert seen.captures_ended == 2 and seen.replays == 1


def test_numbers_of_all_types_and_layouts_survive_the_way_to_the_device_and_back() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool):
        x = torch.arange(12).reshape(3, 4).to(dtype)
        assert torch.equal(x.npu().cpu(), x)
        assert torch.equal(x.T.npu().cpu(), x.T)
        assert torch.equal(x.npu().T.cpu(), x.T)
        assert torch.equal(x.npu()[:, 1:3].cpu(), x[:, 1:3])
