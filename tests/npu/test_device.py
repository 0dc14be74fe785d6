"""The probe's adapter for an NPU, over torch_npu's own graphs: captures, replays, refusals, several cards."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest
import torch

from compile_probe.devices import Npu, npu_errors
from compile_probe.devices.graph import poison

from .standin import counted, refused, total


@pytest.fixture
def npu() -> Npu:
    device = Npu("0")
    assert device.reason_unusable() is None
    return device


@pytest.fixture
def x() -> Any:
    return torch.ones(8, device="npu")


@contextmanager
def streams_left(number: int) -> Iterator[None]:
    """Let the driver have only so many more streams."""
    libc = ctypes.CDLL(None)
    libc.setenv(b"STANDIN_STREAMS", str(total("streams_alive") + number).encode(), 1)
    try:
        yield
    finally:
        libc.unsetenv(b"STANDIN_STREAMS")


def refusal(device: Npu, work: Callable[[], Any]) -> BaseException:
    """What the adapter raises when this is captured; the stream has to be as it was."""
    before = torch.npu.current_stream()
    graph = device.graph(device.pool())
    with pytest.raises(RuntimeError) as caught:
        graph.capture(lambda: (work(),), (), ())
    assert torch.npu.current_stream() == before
    assert not torch.npu.is_current_stream_capturing()
    return caught.value


def test_the_device_says_everywhere_that_it_is_a_stand_in(npu: Npu) -> None:
    assert npu.stand_in is True
    assert npu.label == "NPU (stand-in)"
    assert npu.name() == "Ascend910B1 (stand-in driver)"


def test_a_capture_runs_nothing_and_leaves_the_stream(npu: Npu, x: Any) -> None:
    before = torch.npu.current_stream()
    graph = npu.graph(npu.pool())
    with counted() as seen:
        graph.capture(lambda: (x.add_(1),), (x,), (x,))
    assert torch.npu.current_stream() == before
    assert seen.captures_ended == 1 and seen.tasks_captured == 1 and seen.replays == 0
    assert x.cpu().tolist() == [1.0] * 8
    graph.replay()
    graph.replay()
    assert x.cpu().tolist() == [3.0] * 8 and seen.replays == 2


def test_a_replay_reads_changed_inputs_and_writes_poisoned_outputs(npu: Npu, x: Any) -> None:
    graph = npu.graph(npu.pool())
    (out,) = graph.capture(lambda: (x * 2 + 1,), (x,), ())
    for value in (3.0, -1.0):
        x.fill_(value)
        poison(out)
        graph.replay()
        assert out.cpu().tolist() == [2 * value + 1] * 8


def test_two_graphs_of_a_pool_are_replayed_in_any_order(npu: Npu, x: Any) -> None:
    pool = npu.pool()
    one, two = npu.graph(pool), npu.graph(pool)
    (a,) = one.capture(lambda: (x + 1,), (x,), ())
    (b,) = two.capture(lambda: (x * 10,), (x,), ())
    for first, second in ((one, two), (two, one)):
        x.fill_(2)
        first.replay()
        second.replay()
        assert a.cpu()[0].item() == 3.0 and b.cpu()[0].item() == 20.0


def test_a_graph_that_is_released_gives_its_stream_and_its_memory_back(npu: Npu, x: Any) -> None:
    free = npu.free_bytes()
    assert npu.stream
    with counted() as seen:
        graph = npu.graph(npu.pool())
        out = graph.capture(lambda: (torch.ones(1 << 22, device="npu") + 1,), (), ())
        assert seen.streams_alive == 1 and seen.graphs_alive == 1
        graph.release()
        del out
        assert seen.streams_alive == 0 and seen.graphs_alive == 0
    torch.npu.empty_cache()
    assert npu.free_bytes() >= free


def test_work_of_the_warm_up_is_on_the_stream_of_captures(npu: Npu, x: Any) -> None:
    before = torch.npu.current_stream()
    with npu.warm_up():
        assert torch.npu.current_stream() == npu.stream != before
    assert torch.npu.current_stream() == before


def test_random_numbers_of_the_device_are_saved_and_put_back(npu: Npu) -> None:
    state = npu.rng_state()
    first = torch.rand(16, device="npu").cpu()
    second = torch.rand(16, device="npu").cpu()
    npu.set_rng_state(state)
    assert torch.equal(torch.rand(16, device="npu").cpu(), first) and not torch.equal(first, second)


def test_events_tell_a_time_and_memory_that_is_allocated_is_counted(npu: Npu) -> None:
    before = npu.allocated_bytes()
    start, end = npu.event(), npu.event()
    start.record()
    kept = torch.ones(1 << 20, device="npu")
    end.record()
    assert start.milliseconds_until(end) >= 0
    assert npu.allocated_bytes() - before >= kept.nbytes


def test_the_first_error_is_kept_and_becomes_a_sentence_107027(npu: Npu, x: Any) -> None:
    error = refusal(npu, lambda: x.sum().item())
    assert "107027" in str(error)
    told = npu.explain(error)
    assert told is not None and ".item()" in told and "Split at that op" in told


def test_a_copy_from_the_host_becomes_a_sentence_107030(npu: Npu, x: Any) -> None:
    told = npu.explain(refusal(npu, lambda: x.copy_(torch.zeros(8))))
    assert told is not None and "pinned memory" in told and "(107030)" in told


def test_an_aclop_becomes_a_sentence_with_its_name_and_the_two_settings(npu: Npu) -> None:
    h, w = torch.ones(2, 4, device="npu"), torch.ones(16, 4, device="npu")
    told = npu.explain(refusal(npu, lambda: torch.lstm_cell(h, (h, h), w, w)))
    assert told is not None and "The op DynamicRNNV2 runs as aclop" in told
    assert "jit_compile=False" in told and "allow_internal_format = False" in told


def test_a_stream_that_is_not_joined_becomes_a_sentence_107025(npu: Npu, x: Any) -> None:
    side = torch.npu.Stream()

    def work() -> Any:
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            return x + 1

    told = npu.explain(refusal(npu, work))
    assert told is not None and "(107025)" in told and "wait_stream" in told


def test_no_streams_become_a_sentence_and_what_is_captured_goes_on_207008(npu: Npu, x: Any) -> None:
    pool = npu.pool()
    kept = npu.graph(pool)
    (out,) = kept.capture(lambda: (x + 1,), (x,), ())
    with streams_left(0):
        told = npu.explain(refusal(npu, lambda: x + 2))
        assert told is not None and "(207008)" in told and "Capture fewer sizes" in told
        x.fill_(5)
        kept.replay()
        assert out.cpu()[0].item() == 6.0
        kept.release()
        again = npu.graph(npu.pool())  # the stream that was given back is enough for one more
        again.capture(lambda: (x + 3,), (x,), ())
        again.release()
    assert refused(207008) > 0


def test_a_capture_after_each_refusal_works(npu: Npu, x: Any) -> None:
    for work in (lambda: x.sum().item(), lambda: x.copy_(torch.zeros(8)), lambda: torch.nonzero(x)):
        refusal(npu, work)
        graph = npu.graph(npu.pool())
        (out,) = graph.capture(lambda: (x + 1,), (x,), ())
        graph.replay()
        assert out.cpu().tolist() == (x.cpu() + 1).tolist()


def test_an_error_of_the_function_itself_is_kept_and_ends_the_capture(npu: Npu) -> None:
    def fails() -> Any:
        raise RuntimeError("the user's own")

    error = refusal(npu, fails)
    assert str(error) == "the user's own" and npu.explain(error) is None


@pytest.mark.parametrize("code", sorted(npu_errors.CODES))
def test_every_code_has_a_sentence_and_a_remedy_in_both_languages(code: int) -> None:
    text = f"capture_end:NPUGraph.cpp:371 NPU function error: endCaptureErr, error code is {code}\n[ERROR] more"
    english, chinese = npu_errors.explain(text), npu_errors.explain(text, "zh-cn")
    assert english is not None and chinese is not None
    assert str(code) in english and str(code) in chinese and english.count(".") >= 2
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    assert npu_errors.code_of(text) == code


def test_a_code_that_is_not_known_gets_no_sentence() -> None:
    assert npu_errors.explain("error code is 999999") is None and npu_errors.explain("something else") is None


def cards(program: str, **variables: str) -> str:
    """Run a program over eight cards; what it printed last."""
    environment = {**os.environ, "STANDIN_DEVICES": "8", **variables}
    root = os.pathsep.join((os.environ["PYTHONPATH"], str(Path.cwd())))
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": root},
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout.splitlines()[-1]


def test_of_eight_cards_the_first_that_nobody_uses_is_taken_and_a_busy_one_is_refused_by_name(tmp_path: Any) -> None:
    program = """
import json, torch, torch_npu
from compile_probe import devices
from compile_probe.errors import UnavailableError
chosen = devices.choose("npu")
x = torch.ones(4, device=chosen.torch_name)
torch.npu.set_device(x.device)
graph = chosen.graph(chosen.pool())
(out,) = graph.capture(lambda: (x + 1,), (x,), ())
graph.replay()
told = ""
try:
    devices.choose("npu:1")
except UnavailableError as error:
    told = error.sentence()
print(json.dumps([chosen.torch_name, chosen.indices(), out.cpu().tolist(), str(out.device), told]))
"""
    name, indices, values, where, told = json.loads(cards(program, STANDIN_BUSY="0:97,1:80", HOME=str(tmp_path)))
    assert name == "npu:2" and where == "npu:2" and values == [2.0] * 4
    assert indices == [str(i) for i in range(8)]
    assert "npu:1 is used by others: 80 % of its memory is taken" in told and "choose another card" in told


def test_a_card_that_is_not_there_is_refused_with_their_number() -> None:
    told = cards("from compile_probe.devices import Npu; print(Npu('8').reason_unusable())")
    assert told == "there are 8 visible cards, counted from 0."


def test_no_card_at_all_is_told() -> None:
    program = "from compile_probe.devices import Npu; print(Npu('0').reason_unusable())"
    assert "no card" in cards(program, STANDIN_DEVICES="0")
