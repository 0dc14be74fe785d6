"""The piecewise backend on the CPU: cut, capture and replay, with results equal to eager and counts counted again.

On the CPU the graphs are stand-ins with the aliasing contract of device graphs: a capture leaves its outputs poisoned,
a replay writes them where they were. What is proven here is the logic around graphs, not their speed.
"""

from __future__ import annotations

import copy
import importlib.util
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from compile_probe.devices import Cpu
from compile_probe.devices.graph import StandInGraph, poison
from compile_probe.errors import UsageError
from compile_probe.piecewise import keys, runner, splitting
from compile_probe.piecewise.backend import PiecewiseBackend, PiecewiseGraph
from compile_probe.piecewise.session import Policy

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield
    torch._dynamo.reset()


def backend(*split: str, **policy: Any) -> PiecewiseBackend:
    return PiecewiseBackend(Cpu(), splitting.parse(split), policy=Policy(**policy))


class Bookkeeping:
    """Counts by other means than the runners: from the shapes with which each graph of Dynamo's was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, frequent: int = 3) -> None:
        self.calls: dict[tuple[int, Any], int] = {}
        self.frequent = frequent
        real = PiecewiseGraph.__call__

        def call(graph: PiecewiseGraph, *args: Any) -> Any:
            key = id(graph), tuple(tuple(arg.shape) for arg in args if isinstance(arg, torch.Tensor))
            self.calls[key] = self.calls.get(key, 0) + 1
            return real(graph, *args)

        monkeypatch.setattr(PiecewiseGraph, "__call__", call)

    def expected(self, piecewise: PiecewiseBackend) -> tuple[int, int, int]:
        """Calls of pieces that should have gone the general way, been captured, and been replayed."""
        general = captured = replayed = 0
        for (graph, _), calls in self.calls.items():
            pieces = next(len(one.runners) for one in piecewise.graphs if id(one) == graph)
            general += pieces * min(calls, self.frequent)
            captured += pieces * (calls > self.frequent)
            replayed += pieces * max(0, calls - self.frequent - 1)
        return general, captured, replayed


def run_mixed(
    model: nn.Module, make: Any, sizes: list[Any], split: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> PiecewiseBackend:
    """Call eager and piecewise 200 times side by side with mixed sizes; outputs and counts have to be equal."""
    reference = copy.deepcopy(model)
    piecewise = backend(*split)
    bookkeeping = Bookkeeping(monkeypatch)
    compiled = torch.compile(model, backend=piecewise, dynamic=True)
    generator = random.Random(0)
    for _ in range(200):
        inputs = make(generator.choice(sizes))
        torch.testing.assert_close(compiled(*inputs), reference(*inputs), rtol=1e-4, atol=1e-5)
    counts = piecewise.counts()
    assert (counts.general, counts.captured, counts.replayed) == bookkeeping.expected(piecewise)
    assert (counts.refused, counts.recaptured) == (0, 0)
    assert counts.replayed > 10 * counts.general
    return piecewise


def load_example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_decoder_equals_eager_over_mixed_sizes_of_two_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = load_example("decoder").Decoder().eval()

    def make(size: tuple[int, int]) -> tuple[torch.Tensor, ...]:
        return (torch.randint(0, 256, size),)

    piecewise = run_mixed(
        decoder, make, [(2, 16), (4, 16), (2, 24), (3, 8)], ("attention", "decoder::update_cache"), monkeypatch
    )
    pieces = piecewise.report().pieces
    assert sum("attention" in piece.piece.why for piece in pieces) == 4
    # With dynamic=True a float of the module is a member too.
    assert {key.key[:2] for piece in pieces for key in piece.keys} == {(2, 16), (4, 16), (2, 24), (3, 8)}
    cut = next(piece.piece for piece in pieces if "attention" in piece.piece.why)
    assert "attention" in cut.why and "decoder::update_cache" in cut.why
    source = (ROOT / "examples" / "decoder.py").read_text().splitlines()
    text = " ".join(source[place.line - 1] for place in cut.places)
    assert "update_cache(" in text and "scaled_dot_product_attention(" in text


def test_a_perceiver_of_a_package_equals_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    from perceiver_pytorch import Perceiver

    model = Perceiver(
        input_channels=3, input_axis=1, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=8, latent_dim=16,
        cross_heads=1, latent_heads=2, cross_dim_head=8, latent_dim_head=8, num_classes=5, weight_tie_layers=False,
    ).eval()  # fmt: skip

    def make(size: tuple[int, int]) -> tuple[torch.Tensor, ...]:
        return (torch.randn(*size, 3),)

    piecewise = run_mixed(model, make, [(2, 6), (3, 6), (2, 9)], ("softmax",), monkeypatch)
    assert sum(piece.piece.kind == "eager" for piece in piecewise.report().pieces) >= 2


class Expert(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.up(x)))


class Mixture(nn.Module):
    """Mixtral's routing, dense: every expert sees every token, and the weight of those not chosen is 0."""

    def __init__(self, width: int = 16, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList([Expert(width) for _ in range(experts)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            out = out + expert(x) * (weights * (chosen == index)).sum(-1, keepdim=True)
        return x + out


def test_a_mixture_of_experts_equals_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(size: tuple[int, int]) -> tuple[torch.Tensor, ...]:
        return (torch.randn(*size, 16),)

    piecewise = run_mixed(
        nn.Sequential(Mixture(), Mixture()).eval(), make, [(2, 5), (3, 5), (2, 7)], ("aten::topk",), monkeypatch
    )
    assert [p.piece.kind for p in piecewise.report().pieces] == ["capture", "eager", "capture", "eager", "capture"]


# --- hazards ---------------------------------------------------------------------------------------------------------


def calls(function: Any, inputs: list[tuple[Any, ...]], piecewise: PiecewiseBackend, **options: Any) -> list[Any]:
    """Outputs of compiled calls, each kept over all later ones, against those of eager on copies of the inputs."""
    compiled = torch.compile(function, backend=piecewise, **options)
    kept, expected = [], []
    for one in inputs:
        twin = copy.deepcopy(one)
        kept.append(compiled(*one))
        expected.append(function(*twin))
        torch.testing.assert_close(one, twin)  # what is written in place is written
    torch.testing.assert_close(kept, expected)
    return kept


def varied(*shapes: tuple[int, ...], times: int = 6) -> list[tuple[Any, ...]]:
    return [(torch.randn(shape),) for _ in range(times) for shape in shapes]


def test_a_branch_on_a_size_is_guarded() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        return y + 1 if x.shape[0] > 6 else y - 1

    piecewise = backend()
    calls(function, varied((4, 3), (8, 3), (5, 3), (9, 3)), piecewise, dynamic=True)
    assert len(piecewise.graphs) == 2
    assert piecewise.counts().replayed > 0


def test_a_batch_of_one_has_its_own_graph() -> None:
    piecewise = backend()
    calls(lambda x: x.softmax(-1) * 2, varied((4, 3), (1, 3), (2, 3)), piecewise, dynamic=True)
    assert len(piecewise.graphs) == 2
    assert {key.key for piece in piecewise.report().pieces for key in piece.keys} == {(4, 3), (2, 3), (3,)}


def test_two_symbols_are_two_members_of_the_key() -> None:
    piecewise = backend()
    calls(lambda x: (x.sin() @ x.T).relu(), varied((4, 3), (3, 4), (4, 5)), piecewise, dynamic=True)
    assert {key.key for piece in piecewise.report().pieces for key in piece.keys} == {(4, 3), (3, 4), (4, 5)}


@pytest.mark.parametrize(
    "split",
    ["attention", "F.scaled_dot_product_attention", "torch.nn.functional.scaled_dot_product_attention", ":{line}",
     "test_piecewise.py:{line}", "aten::_scaled_dot_product_flash_attention_for_cpu"],
)  # fmt: skip
def test_attention_is_cut_out_by_any_of_its_names(split: str) -> None:
    def function(q: torch.Tensor) -> torch.Tensor:
        q = q.sin()
        y = F.scaled_dot_product_attention(q, q, q)
        return y.cos()

    line = function.__code__.co_firstlineno + 2
    piecewise = backend(split.format(line=line))
    calls(function, varied((1, 2, 4, 8)), piecewise)
    kinds = [(piece.piece.kind, [place.line for place in piece.piece.places]) for piece in piecewise.report().pieces]
    assert kinds == [("capture", [line - 1]), ("eager", [line]), ("capture", [line + 1])]


@pytest.mark.parametrize("split", ["softmax", "Tensor.softmax", "aten::_softmax", "torch.ops.aten._softmax.default"])
def test_a_method_is_cut_out_by_any_of_its_names(split: str) -> None:
    piecewise = backend(split)
    calls(lambda x: x.sin().softmax(-1).cos(), varied((4, 8)), piecewise)
    assert [piece.piece.kind for piece in piecewise.report().pieces] == ["capture", "eager", "capture"]


class Inner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2).tanh()


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Inner(), Inner()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x.sin())
        return x.cos()


@pytest.mark.parametrize(
    ("split", "kinds"),
    [("module:Inner", "cecec"), ("Inner", "cecec"), ("layers.1", "cec"), ("module:layers.0", "cec")],
)
def test_a_module_is_cut_out_by_class_or_path(split: str, kinds: str) -> None:
    piecewise = backend(split)
    calls(Outer(), varied((4, 8)), piecewise)
    assert "".join(piece.piece.kind[0] for piece in piecewise.report().pieces) == kinds


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_reading_a_value_cuts_the_graph() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        n = x.abs().sum().item()
        return x * 2 + n

    piecewise = backend()
    calls(function, varied((4, 3)), piecewise)
    pieces = piecewise.report().pieces
    assert [piece.piece.kind for piece in pieces] == ["capture", "eager", "capture"]
    assert "host has to read" in pieces[1].piece.why


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_a_shape_made_from_data_cuts_the_graph() -> None:
    piecewise = backend()
    calls(lambda x: x.sin().nonzero().float().sum(0) + 1, varied((4, 3)), piecewise)
    pieces = piecewise.report().pieces
    assert pieces[1].piece.kind == "eager" and "depends on data" in pieces[1].piece.why


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps.add_(x.sum(0))
        return x + self.steps


def test_a_buffer_is_changed_once_a_call() -> None:
    model, reference = Cache(), Cache()
    piecewise = backend()
    compiled = torch.compile(model, backend=piecewise)
    for _ in range(8):
        x = torch.randn(4, 3)
        torch.testing.assert_close(compiled(x), reference(x))
        torch.testing.assert_close(model.steps, reference.steps)
    assert piecewise.counts().replayed == 4


def test_running_statistics_are_updated_once_a_call() -> None:
    """``native_batch_norm`` writes them and its schema does not say so."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).train()
    reference = copy.deepcopy(model)
    piecewise = backend()
    compiled = torch.compile(model, backend=piecewise)
    for _ in range(8):
        x = torch.randn(2, 3, 8, 8)
        torch.testing.assert_close(compiled(x), reference(x))
        torch.testing.assert_close(dict(model.named_buffers()), dict(reference.named_buffers()))
    assert piecewise.counts().replayed == 4


def test_an_op_that_writes_in_secret_is_refused() -> None:
    with torch.library._scoped_library("piecewise_secret", "FRAGMENT") as library:
        library.define("bump(Tensor x) -> Tensor")

        def bump(x: torch.Tensor) -> torch.Tensor:
            x.add_(1)
            return x.clone()

        library.impl("bump", bump, "CompositeExplicitAutograd")
        torch.library.register_fake("piecewise_secret::bump", torch.empty_like, lib=library)
        piecewise = backend()
        compiled = torch.compile(lambda x: torch.ops.piecewise_secret.bump(x * 1) + x, backend=piecewise)
        for _ in range(3):
            compiled(torch.zeros(3))
        torch._dynamo.reset()
        piecewise = backend()
        compiled = torch.compile(torch.ops.piecewise_secret.bump.default, backend=piecewise)
        for turn in range(6):
            x = torch.full((3,), float(turn))
            assert compiled(x).eq(turn + 1).all() and x.eq(turn + 1).all()
        (piece,) = piecewise.report().pieces
        assert (piece.state, "without declaring" in piece.keys[0].reason) == ("refused", True)


def test_an_argument_is_changed_where_it_lies() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + 1

    piecewise = backend()
    calls(function, varied((4, 3), times=8), piecewise)
    assert piecewise.counts().replayed == 4


def test_an_output_that_is_a_view_of_an_input_stays_one() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x[1:], x.sin()

    piecewise = backend()
    compiled = torch.compile(function, backend=piecewise)
    for _ in range(6):
        x = torch.randn(4, 3)
        view, _ = compiled(x)
        view.zero_()
        assert x[1:].eq(0).all() and x[0].ne(0).any()
    assert piecewise.counts().replayed == 2


def test_two_views_of_one_new_tensor_share_their_memory() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.sin()
        return y[:2], y[1:]

    piecewise = backend()
    compiled = torch.compile(function, backend=piecewise)
    for _ in range(6):
        a, b = compiled(torch.randn(4, 3))
        a[1].fill_(7.0)
        assert b[0].eq(7.0).all()
    assert piecewise.counts().replayed == 2


def test_an_output_returned_twice_is_one_tensor() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.sin()
        return y, y

    for a, b in calls(function, varied((4, 3)), backend()):
        assert a is b


def test_an_expanded_output_keeps_its_strides() -> None:
    for out in calls(lambda x: x.sin().sum(0).expand(5, 3), varied((4, 3)), backend()):
        assert out.stride() == (0, 1)


def test_a_weight_that_moved_is_captured_again_and_then_given_up() -> None:
    model = nn.Linear(3, 3)
    piecewise = backend()
    compiled = torch.compile(model, backend=piecewise)
    x = torch.randn(2, 3)
    moved: list[torch.Tensor] = []
    for turn in range(24):
        if turn and turn % 5 == 0:
            moved.append(model.weight.data)  # the old memory stays in use, so the new one lies elsewhere
            model.weight.data = torch.randn(3, 3)
        torch.testing.assert_close(compiled(x), F.linear(x, model.weight, model.bias))
    (piece,) = piecewise.report().pieces
    assert piece.counts.recaptured == 3
    assert (piece.state, "address of a weight" in piece.keys[0].reason) == ("refused", True)


def test_inputs_that_share_written_memory_are_refused() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.sum() + y

    piecewise = backend()
    compiled = torch.compile(function, backend=piecewise)
    for _ in range(6):
        base = torch.randn(4, 3)
        twin = base.clone()
        torch.testing.assert_close(compiled(base, base[1:]), function(twin, twin[1:]))
        torch.testing.assert_close(base, twin)
    assert piecewise.counts().replayed == 0


def test_an_input_that_is_a_view_of_another_is_copied() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.sum() + y.sin()

    piecewise = backend()
    compiled = torch.compile(function, backend=piecewise)
    for _ in range(6):
        base = torch.randn(4, 3)
        torch.testing.assert_close(compiled(base, base.T), function(base, base.T))
    assert piecewise.counts().replayed == 2


def test_replay_is_proven_with_changed_inputs_and_poisoned_outputs() -> None:
    piecewise = backend("softmax")
    compiled = torch.compile(lambda x: (x * 3).softmax(-1).sin(), backend=piecewise)
    for _ in range(5):
        compiled(torch.randn(2, 3))
    before = piecewise.counts().replayed
    for one in piecewise.graphs[0].runners:
        for entry in one.entries.values():
            for output in entry.outputs:
                poison(output)
                assert output.isnan().all()
    x = torch.randn(2, 3)
    torch.testing.assert_close(compiled(x), (x * 3).softmax(-1).sin())
    assert piecewise.counts().replayed == before + 2


def test_results_outlive_later_calls() -> None:
    outputs = calls(lambda x: x * 2 + 1, varied((4, 3), (5, 3), times=8), backend(), dynamic=True)
    assert len({out.data_ptr() for out in outputs}) == len(outputs)


def test_without_clones_the_next_replay_overwrites_the_result() -> None:
    """The best case for speed, and the reason why it is not the default."""
    piecewise = backend(clone_outputs=False)
    compiled = torch.compile(lambda x: x * 2, backend=piecewise)
    results = [compiled(torch.full((3,), float(turn))) for turn in range(7)]
    assert results[-1].data_ptr() == results[-2].data_ptr()
    assert results[-2].eq(12.0).all()


def test_random_numbers_are_new_in_every_replay_and_those_of_eager() -> None:
    piecewise = backend()
    compiled = torch.compile(lambda x: F.dropout(x, 0.5, training=True) * 2, backend=piecewise)
    for turn in range(8):
        x = torch.ones(64)
        torch.manual_seed(turn)
        got = compiled(x)
        torch.manual_seed(turn)
        torch.testing.assert_close(got, F.dropout(x, 0.5, training=True) * 2)
    assert piecewise.counts().replayed == 4


def test_several_graphs_are_each_cut_and_captured() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()

    piecewise = backend()
    calls(function, varied((4, 3)), piecewise)
    assert len(piecewise.graphs) == 2
    assert piecewise.counts().replayed == 4


def test_the_limit_of_captures_is_kept() -> None:
    piecewise = backend(limit=1)
    calls(lambda x: x * 2, varied((4, 3), (5, 3)), piecewise, dynamic=True)
    (piece,) = piecewise.report().pieces
    assert {key.state: key.reason for key in piece.keys} == {
        "captured": "",
        "refused": "the limit of 1 captured graphs is reached",
    }


def test_a_declared_size_is_captured_at_its_second_call_and_others_never() -> None:
    piecewise = backend(declared=frozenset({4}), frequent=None)
    calls(lambda x: x * 2, varied((4, 3), (5, 3)), piecewise, dynamic=True)
    counts = {
        key.key: (key.counts.general, key.counts.captured, key.counts.replayed)
        for key in piecewise.report().pieces[0].keys
    }
    assert counts == {(4, 3): (1, 1, 4), (5, 3): (6, 0, 0)}


def test_autocast_is_not_cut() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
            y = y.softmax(-1)
            z = y @ w
        return z.float().sin()

    piecewise = backend("softmax")
    calls(function, [(torch.randn(4, 4), torch.randn(4, 4)) for _ in range(6)], piecewise)
    assert [piece.piece.kind for piece in piecewise.report().pieces] == ["eager", "capture"]


def test_training_is_refused_with_a_sentence() -> None:
    compiled = torch.compile(nn.Linear(3, 3), backend=backend())
    with torch.enable_grad(), pytest.raises(Exception, match="for inference"):
        compiled(torch.randn(2, 3))


def test_a_split_that_matches_nothing_is_told_with_what_there_is() -> None:
    piecewise = backend("aten::nonsense")
    calls(lambda x: x.softmax(-1), varied((4, 3)), piecewise)
    assert any("aten::nonsense matched nothing" in note and "softmax" in note for note in piecewise.report().notes)


@pytest.mark.parametrize("text", ["", "two words", "model.py:", "module:"])
def test_a_split_that_names_nothing_is_refused(text: str) -> None:
    if not text:
        assert splitting.parse([text]) == ()
        return
    with pytest.raises(UsageError, match="--split"):
        splitting.parse([text])


def test_splitting_ops_of_an_installed_engine_are_read_from_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "vllm" / "config"
    package.mkdir(parents=True)
    (tmp_path / "vllm" / "__init__.py").write_text("raise RuntimeError('must not be imported')\n")
    (package / "compilation.py").write_text(
        "class C:\n    _ops: list[str] = ['vllm::one_attention', 'vllm::cache_write']\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {"vllm::one_attention", "vllm::cache_write"} <= splitting.attention_names()


# --- planted faults: each is caught by what this file proves ---------------------------------------------------------


def _mixed_calls() -> None:
    calls(
        lambda x: (x * 3).softmax(-1).sin(),
        varied((4, 3), (4, 5), (3, 3), times=8),
        backend("softmax", prove=False),
        dynamic=True,
    )


def _no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandInGraph, "replay", lambda self: None)


def _stale_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.Buffer, "fill", lambda self, value: None)


def _key_without_a_symbol(monkeypatch: pytest.MonkeyPatch) -> None:
    real = keys.reader

    def forgetful(values: Any, known: frozenset[str] = frozenset()) -> Any:
        read, seen = real(values, known)
        return (None if read is None else lambda args: read(args)[:1]), seen

    monkeypatch.setattr(keys, "reader", forgetful)


def _outputs_not_cloned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compile_probe.piecewise.backend.PiecewiseGraph._freed", lambda self, outputs: outputs)


@pytest.mark.parametrize("plant", [_no_replay, _stale_input, _key_without_a_symbol, _outputs_not_cloned])
def test_a_planted_fault_is_caught(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _mixed_calls()
    torch._dynamo.reset()
    plant(monkeypatch)
    with pytest.raises((AssertionError, RuntimeError)):
        _mixed_calls()


def test_a_stale_weight_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.PiecewiseRunner, "_moved", lambda self, entry, args: entry.outputs)
    with pytest.raises(AssertionError):
        test_a_weight_that_moved_is_captured_again_and_then_given_up()


def test_a_replay_that_does_nothing_is_refused_at_its_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_replay(monkeypatch)
    piecewise = backend()
    calls(lambda x: x * 2, varied((4, 3)), piecewise)
    (piece,) = piecewise.report().pieces
    assert (piece.state, "replay" in piece.keys[0].reason) == ("refused", True)


def test_a_capture_that_fails_leaves_the_piece_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Any, function: Any, inputs: Any, changed: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(StandInGraph, "capture", failing)
    piecewise = backend()
    calls(lambda x: x * 2, varied((4, 3)), piecewise)
    (piece,) = piecewise.report().pieces
    assert (piece.state, piece.counts.general, piece.counts.refused) == ("refused", 4, 2)
    assert "stream is capturing" in piece.keys[0].reason
