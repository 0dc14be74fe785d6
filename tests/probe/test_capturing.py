"""`probe --backend piecewise` from end to end: pieces, captures, replays, the mix, padding; no number of a stand-in."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from compile_probe.report import pieces

from .conftest import run

MODEL = textwrap.dedent(
    """
    import torch
    from torch import nn
    import torch.nn.functional as F


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.o = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            q = self.q(x)[:, None]
            y = F.scaled_dot_product_attention(q, q, q)[:, 0]
            return x + self.o(y).relu()


    # probe: x=f32[B,4,8]; B=4|2
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Block(), Block()])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x


    # probe: x=f32[B,4,8]; B=4|2
    def centred(x):
        return x - x.mean(0, keepdim=True)
    """
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("piecewise") / "layers.py"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="module")
def ended(file: Path) -> Any:
    options = ("--backend", "piecewise", "--split", "attention", "--budget", "0.2", "--mix", "4:2,3:1", "--pad")
    return run(f"{file}::Model", *options)


def test_pieces_are_told_with_their_lines(ended: Any) -> None:
    told = [event for event in ended.events if event["type"] == "piece"]
    line = 1 + next(i for i, text in enumerate(MODEL.splitlines()) if "scaled_dot_product" in text)
    assert [piece["kind"] for piece in told] == ["capture", "eager", "capture", "eager", "capture"]
    assert [[place[1] for place in piece["lines"]] for piece in told if piece["kind"] == "eager"] == [[line], [line]]
    assert all(piece["why"] == "attention" for piece in told if piece["kind"] == "eager")


def test_every_size_of_every_piece_is_captured_once(ended: Any) -> None:
    told = [event for event in ended.events if event["type"] == "capture"]
    assert [(event["state"], event["reason"]) for event in told] == [("captured", "")] * 6
    assert sorted((event["piece"], event["key"]) for event in told) == [
        (piece, [size]) for piece in ("0.0", "0.2", "0.4") for size in (2, 4)
    ]


def test_the_check_compared_replays(ended: Any) -> None:
    assert ended.done["status"] == "ok"
    checks = ended.done["result"]["checks"]
    assert [check["status"] for check in checks] == ["pass", "pass"]
    notes = [e["note"] for e in ended.events if e["type"] == "stage" and e["name"] == "check" and e["state"] == "end"]
    assert all(int(note.split()[0]) >= 3 for note in notes)


def test_the_mix_is_counted_and_padded_to_what_is_captured(ended: Any) -> None:
    found = ended.done["result"]["piecewise"]
    mix = found["mix"]
    assert mix["calls"] == 200
    assert 30 < mix["padded"] < 110  # a third of the requests, of size 3, runs as size 4
    assert (mix["replayed"], mix["general"], mix["hit_rate"]) == (600, 0, 1.0)
    assert mix["padding_refused"] == {}


def test_no_number_of_a_stand_in_is_told(ended: Any) -> None:
    result = ended.done["result"]
    assert result["piecewise"]["stand_in"] is True
    assert {one["variant"] for one in result["measurements"]} == {"piecewise"}
    assert any("no device graphs" in note for note in result["piecewise"]["notes"])


def test_the_report_has_a_row_for_each_piece(ended: Any) -> None:
    shown = pieces.lines(ended.done["result"]["piecewise"])
    assert shown[0].startswith("5 pieces: 3 captured, 2 eager; captures: stand-in (no device graph)")
    assert sum("layers.py:" in line for line in shown) == 5


def test_rows_that_depend_on_each_other_are_not_padded(file: Path) -> None:
    options = ("--backend", "piecewise", "--budget", "0.2", "--mix", "3", "--pad", "--sizes", "4,8")
    ended = run(f"{file}::centred", *options)
    mix = ended.done["result"]["piecewise"]["mix"]
    assert mix["padded"] == 0
    assert "row 0 of 3 changes when the call is padded to 4" in mix["padding_refused"]["3"]


def test_training_is_refused(file: Path) -> None:
    ended = run(f"{file}::Model", "--backend", "piecewise", "--mode", "train")
    assert ended.done["status"] == "error" and "for inference" in ended.done["message"]


def test_a_split_that_names_nothing_is_a_usage_error(file: Path) -> None:
    ended = run(f"{file}::centred", "--backend", "piecewise", "--split", "two words")
    assert ended.done["status"] == "error" and "--split two words" in ended.done["message"]
