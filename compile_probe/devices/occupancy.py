"""Which card of several to use: one that nobody else uses, locked for us, or a refusal that names who does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Callable, Optional

from ..ascend import cards
from ..errors import UnavailableError
from ..host import locks

_VISIBLE = {"npu": cards.VISIBLE, "cuda": "CUDA_VISIBLE_DEVICES"}


def choose_index(
    kind: str, index: str, indices: Sequence[str] = ("0",), occupied: Callable[[str], Optional[str]] = lambda _: None
) -> str:
    """The index that torch is to use: the given one, or the first of ``indices`` that is idle.

    ``occupied`` says what the device itself knows of other users; it is asked of those that seem idle, one by one,
    since asking may put something onto the card.

    :raises UnavailableError: it is busy, or all are
    """
    if kind not in _VISIBLE:
        return index or "0"
    holders = _holders() if kind == "npu" else {}
    candidates = [index] if index else [str(number) for number in sorted(holders)] or list(indices)
    refusals: list[str] = []
    for candidate in candidates:
        busy = ", ".join(map(str, holders.get(int(candidate), ()))) if candidate.isdigit() else ""
        busy = busy or occupied(candidate) or locks.take(f"{kind}-{_physical(kind, candidate)}") or ""
        if not busy:
            return candidate
        refusals.append(f"{kind}:{candidate} is used by {busy}")
    raise UnavailableError(f"{'; '.join(refusals)}.", remedy="Wait, or choose another card with --device.")


def _holders() -> dict[int, tuple[cards.Holder, ...]]:
    """Who uses the cards, by torch's index."""
    return {index: card.holders for index, card in enumerate(cards.find(os.environ).usable)}


def _physical(kind: str, index: str) -> str:
    """The card's number on the host: processes that are shown different cards must lock the same file."""
    shown: Optional[str] = os.environ.get(_VISIBLE[kind])
    numbers = [part.strip() for part in shown.split(",")] if shown else []
    name = numbers[int(index)] if index.isdigit() and int(index) < len(numbers) else index
    return "".join(letter for letter in name if letter.isalnum() or letter == "-")[:64]
