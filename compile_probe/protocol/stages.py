"""How a worker tells the supervisor where it is and what it found."""

from __future__ import annotations

from typing import Any, Optional

from .channel import Channel


class Stages:
    """The stage in progress, told when it starts, advances and ends; and parts of the result, told when known."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.name = "load"

    def start(self, name: str, note: str = "", least: float = 0.0) -> None:
        """Enter a stage; its first step may take ``least`` seconds, whatever the user's limit is."""
        self.name = name
        self.channel.send("stage", name=name, state="start", seconds=None, note=note, _least=least)

    def end(self, seconds: float, note: str = "") -> None:
        """Leave the stage."""
        self.channel.send("stage", name=self.name, state="end", seconds=round(seconds, 4), note=note)

    def skip(self, name: str, note: str) -> None:
        """Tell that a stage is not needed, and why."""
        self.channel.send("stage", name=name, state="skip", seconds=None, note=note)

    def progress(self, note: str = "", done: Optional[int] = None, total: Optional[int] = None) -> None:
        """Evidence that the stage advances: send it only for something that was really done."""
        self.channel.send("progress", stage=self.name, done=done, total=total, note=note)

    def part(self, **keys: Any) -> None:
        """Add to the result; it stays even if the worker dies in the next moment."""
        self.channel.send("_part", **keys)
