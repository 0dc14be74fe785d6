"""What torch_npu and the driver refuse in a capture, in their own words; nothing of ours takes part."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any, Callable

import pytest
import torch

from .standin import counted, refused


def capture(work: Callable[[], Any]) -> BaseException:
    """Capture ``work`` on a side stream; returns what was raised in the capture itself, not at its end."""
    graph, stream = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.stream(stream):
        graph.capture_begin()
        first = None
        try:
            work()
        except RuntimeError as error:
            first = error
        try:
            graph.capture_end()
        except RuntimeError:
            assert first is not None
    assert first is not None, "nothing was refused"
    return first


@pytest.fixture
def x() -> Any:
    return torch.ones(4, device="npu")


def test_reading_a_number_waits_for_a_captured_stream_107027(x: Any) -> None:
    with counted() as seen:
        error = capture(lambda: x.sum().item())
    assert "107027" in str(error) and "Not allow to synchronize captured-stream" in str(error)
    assert seen.captures_failed == 1 and seen.captures_ended == 0 and refused(107027) > 0


def test_an_operator_with_a_result_of_unknown_size_waits_107027(x: Any) -> None:
    assert "107027" in str(capture(lambda: torch.nonzero(x)))


def test_waiting_for_the_device_waits_for_a_captured_stream_107027(x: Any) -> None:
    assert "107027" in str(capture(torch.npu.synchronize))


def test_a_copy_from_pageable_memory_is_refused_107030(x: Any) -> None:
    error = capture(lambda: x.copy_(torch.zeros(4)))
    assert "107030" in str(error) and "aclrtMemcpy" in str(error)


def test_a_copy_from_pinned_memory_is_captured(x: Any) -> None:
    pinned = torch.full((4,), 7.0).pin_memory()
    graph = torch.npu.NPUGraph()
    with counted() as seen, torch.npu.graph(graph):
        x.copy_(pinned, non_blocking=True)
    graph.replay()
    assert seen.tasks_captured == 1 and x.cpu().tolist() == [7.0] * 4


def test_an_operator_that_is_aclop_only_is_refused_with_its_name() -> None:
    h, w = torch.ones(2, 4, device="npu"), torch.ones(16, 4, device="npu")
    error = capture(lambda: torch.lstm_cell(h, (h, h), w, w))
    assert "Cannot run aclop operators during NPU graph capture" in str(error)
    assert "Current working aclop is DynamicRNNV2" in str(error)


def test_the_default_stream_cannot_be_captured() -> None:
    with counted() as seen, pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        torch.npu.NPUGraph().capture_begin()
    assert seen.captures_begun == 0


def test_too_many_streams_are_207008_and_one_graph_less_makes_room(x: Any) -> None:
    libc = ctypes.CDLL(None)
    graphs = [torch.npu.NPUGraph() for _ in range(3)]
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        graphs[0].capture_begin()
        x.add_(1)
        graphs[0].capture_end()
        from .standin import total

        libc.setenv(b"STANDIN_STREAMS", str(total("streams_alive")).encode(), 1)
        try:
            with pytest.raises(RuntimeError, match=r"207008(?s:.*)Stream resources are insufficient"):
                graphs[1].capture_begin()
            graphs[0].reset()
            graphs[2].capture_begin()
            x.add_(1)
            graphs[2].capture_end()
        finally:
            libc.unsetenv(b"STANDIN_STREAMS")


def test_torch_npu_leaves_the_side_stream_current_when_a_capture_fails() -> None:
    """The reason why the probe saves and restores the stream itself."""
    before = torch.npu.current_stream()
    with pytest.raises(RuntimeError, match="507903"), torch.npu.graph(torch.npu.NPUGraph()):
        torch.ones(4, device="npu").sum().item()
    assert torch.npu.current_stream() != before


def test_the_end_of_a_failed_capture_hides_its_cause() -> None:
    """The reason why the probe keeps the first error."""
    with pytest.raises(RuntimeError) as caught, torch.npu.graph(torch.npu.NPUGraph()):
        torch.ones(4, device="npu").sum().item()
    assert "107027" not in str(caught.value)


def test_a_capture_after_a_failed_one_works(x: Any) -> None:
    capture(lambda: x.sum().item())
    graph, stream = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.stream(stream):
        graph.capture_begin()
        y = x + 1
        graph.capture_end()
    x.fill_(4)
    graph.replay()
    assert y.cpu().tolist() == [5.0] * 4


def test_task_queue_2_is_refused_in_a_capture() -> None:
    program = (
        "import torch, torch_npu\n"
        "x = torch.ones(4, device='npu')\n"
        "with torch.npu.graph(torch.npu.NPUGraph()):\n    x + 1\n"
    )
    environment = {**os.environ, "TASK_QUEUE_ENABLE": "2"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 1 and "Do not support TASK_QUEUE_ENABLE = 2 during NPU graph capture" in run.stderr
