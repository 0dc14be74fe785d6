"""The NPU cards of this host: device files, who may use them, who does. Without npu-smi, which containers often lack.

Unverified on hardware. A process that computes on card N has ``/dev/davinciN`` open; whose ``/proc`` entries we may not
read stays unseen, and then a card that is busy looks idle: `Card.blind` says so.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
SHARED = ("davinci_manager", "hisi_hdc", "devmm_svm")
"""Device files that every card needs."""


@dataclass(frozen=True)
class Holder:
    """A process that has a card open."""

    pid: int
    user: str
    command: str

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid}, {self.user})"


@dataclass(frozen=True)
class Card:
    """One card by its physical number, that of ``/dev/davinciN``."""

    number: int
    permitted: bool
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True)
class Cards:
    """All cards of the host, and what of them this process is shown."""

    present: tuple[Card, ...]
    forbidden: tuple[str, ...]
    """Device files, of cards or shared, that we may not open."""
    visible: Optional[tuple[int, ...]]
    """Physical numbers in the order of torch's indices, from ``ASCEND_RT_VISIBLE_DEVICES``; ``None``: all."""
    blind: bool
    """There are processes whose open files we may not see."""

    @property
    def usable(self) -> tuple[Card, ...]:
        """Cards in the order of torch's indices: ``npu:0`` is the first."""
        if self.visible is None:
            return self.present
        by_number = {card.number: card for card in self.present}
        return tuple(by_number[number] for number in self.visible if number in by_number)


def find(environ: Mapping[str, str], root: Path = Path("/")) -> Cards:
    """Look at ``/dev`` and ``/proc``."""
    device_files = _device_files(root / "dev")
    holders, blind = _holders(root / "proc") if device_files else ({}, False)
    present = tuple(
        Card(number, _permitted(path), tuple(holders.get(number, ()))) for number, path in sorted(device_files.items())
    )
    shared = [root / "dev" / name for name in SHARED]
    forbidden = [path for path in (*device_files.values(), *shared) if path.exists() and not _permitted(path)]
    return Cards(present, tuple(f"/dev/{path.name}" for path in forbidden), visible(environ), blind)


def visible(environ: Mapping[str, str]) -> Optional[tuple[int, ...]]:
    """Physical numbers that the variable lets through; as the runtime does, the list ends at the first bad entry."""
    text = environ.get(VISIBLE)
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        if not part.strip().isdigit():
            break
        found.append(int(part))
    return tuple(found)


def _device_files(folder: Path) -> dict[int, Path]:
    found: dict[int, Path] = {}
    with suppress(OSError):
        for path in folder.iterdir():
            match = re.fullmatch(r"davinci(\d+)", path.name)
            if match:
                found[int(match[1])] = path
    return found


def _permitted(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.R_OK | os.W_OK, effective_ids=effective)


def _holders(proc: Path) -> tuple[dict[int, list[Holder]], bool]:
    """Processes that have cards open, ourselves left out; and whether there are some that we cannot look into."""
    found: dict[int, list[Holder]] = {}
    blind = False
    with suppress(OSError):
        for entry in proc.iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                for number in _open_cards(entry / "fd"):
                    found.setdefault(number, []).append(_holder(entry))
            except PermissionError:
                blind = True
            except OSError:  # it ended meanwhile
                continue
    return found, blind


def _open_cards(folder: Path) -> set[int]:
    found: set[int] = set()
    for name in os.listdir(folder):  # noqa: PTH208  (many, often: no Path objects)
        with suppress(FileNotFoundError):
            match = re.fullmatch(r"(?:.*/)?dev/davinci(\d+)", os.readlink(folder / name))  # noqa: PTH115
            if match:
                found.add(int(match[1]))
    return found


def _holder(entry: Path) -> Holder:
    command, user = "a process", "unknown user"
    with suppress(OSError):
        words = (entry / "cmdline").read_bytes().split(b"\0")
        names = [os.path.basename(word.decode("utf-8", "replace")) for word in words[:3]]  # noqa: PTH119
        command = " ".join(name for name in names if name and not name.startswith("-")) or command
    with suppress(OSError, KeyError):
        user = pwd.getpwuid(entry.stat().st_uid).pw_name
    return Holder(int(entry.name), user, command)
