"""The pieces of a piecewise probe as lines for a terminal: where the graph was cut, and what became of each piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_OPS = 3


def lines(found: dict[str, Any]) -> list[str]:
    """The table of pieces, the totals, the mix, and what the reader should know."""
    pieces: list[dict[str, Any]] = found["pieces"]
    name = found["graph_name"] + (" (no device graph)" if found["graph_name"] == "stand-in" else "")
    rows = [("piece", "state", "calls", "lines", "what")]
    rows += [_row(piece) for piece in pieces]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    out = [f"{summary(found)}; captures: {name}, pieces by {found['compiler']}"]
    out += [
        "  " + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip() for row in rows
    ]
    mix = found.get("mix")
    if mix:
        rate = "-" if mix["hit_rate"] is None else f"{100 * mix['hit_rate']:.0f} %"
        out.append(f"mix: {mix['calls']} requests, {rate} of piece calls replayed, {mix['padded']} requests padded")
        out += [f"  not padded: size {size}: {why}" for size, why in mix["padding_refused"].items()]
    out += [f"note: {note}" for note in found["notes"]]
    return out


def summary(found: dict[str, Any]) -> str:
    """``9 pieces: 5 captured, 4 eager`` and how many calls each way took."""
    pieces: list[dict[str, Any]] = found["pieces"]
    states: dict[str, int] = {}
    for piece in pieces:
        states[piece["state"]] = states.get(piece["state"], 0) + 1
    several = "" if len(pieces) == 1 else "s"
    return f"{len(pieces)} piece{several}: " + ", ".join(f"{count} {state}" for state, count in states.items())


def _row(piece: dict[str, Any]) -> tuple[str, str, str, str, str]:
    counts: dict[str, int] = piece["counts"]
    calls = " ".join(f"{counts[way]} {way}" for way in ("general", "captured", "replayed", "refused") if counts[way])
    ops = ", ".join(op.partition("::")[2].removesuffix(".default") for op in list(piece["ops"])[:_OPS])
    more = len(piece["ops"]) - _OPS
    what = piece["why"] or ops + (f" and {more} more" if more > 0 else "")
    if piece["same_as"] is not None:
        what += f" (code of piece {piece['name'].partition('.')[0]}.{piece['same_as']})"
    reasons = {key["reason"] for key in piece["keys"] if key["reason"]}
    return piece["name"], piece["state"], calls or "-", places(piece["lines"]), "; ".join([what, *sorted(reasons)])


def places(found: list[list[Any]]) -> str:
    """Lines by file: ``model.py:12-14,20``."""
    files: dict[str, set[int]] = {}
    for file, line in found:
        files.setdefault(Path(file).name, set()).add(line)
    return " ".join(f"{file}:{_ranges(sorted(numbers))}" for file, numbers in files.items())


def _ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
