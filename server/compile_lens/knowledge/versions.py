"""Torch versions, and the intervals in which a fact about Dynamo holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

Version = tuple[int, int, int]

NEWEST: Version = (2, 13, 0)
"""The version that the rules are proven on in full."""


def parse_version(text: str) -> Version:
    """``2.7.1.post2+cpu`` as ``(2, 7, 1)``. Raises `ValueError` for anything that does not start so."""
    match = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no torch version; write it like 2.13.0")
    return int(match[1]), int(match[2]), int(match[3] or 0)


@dataclass(frozen=True)
class Interval:
    """Versions from ``since`` on (inclusive) up to ``until`` (exclusive); ``None`` leaves an end open."""

    since: Optional[Version] = None
    until: Optional[Version] = None

    def __contains__(self, version: Version) -> bool:
        return (self.since is None or version >= self.since) and (self.until is None or version < self.until)


ALWAYS = Interval()
