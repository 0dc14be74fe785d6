"""The parts of Dynamo's messages about breaks: type, explanation, hints.

Seen on 2.7.1 to 2.13: a first line with the type, then ``Explanation:``, ``Hint:`` and ``Developer debug context:``,
indented. Older messages, and some on 2.7.1, are one free line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from .registry import gb_id_of

_END = r"(?=^ +Hint: |^ *Developer debug context|\Z)"
_EXPLANATION = re.compile(r"^ +Explanation: (.*?)" + _END, re.S | re.M)
_HINT = re.compile(r"^ +Hint: (.*?)" + _END, re.S | re.M)


@dataclass(frozen=True)
class Told:
    """What a message tells; ``gb_type`` is None where it has no such form."""

    gb_type: Optional[str]
    reason: str
    hints: tuple[str, ...]


def read(text: str, gb_type: Optional[str] = None) -> Told:
    """Take a message apart; ``gb_type`` is the type if the exception carries it (2.9 and later)."""
    first_line = text.strip().splitlines()[0] if text.strip() else ""
    explanations = _EXPLANATION.findall(text)
    if not gb_type and (explanations or gb_id_of(first_line)):
        gb_type = first_line
    reason = " ".join(str(explanations[0]).split()) if explanations else first_line
    return Told(gb_type or None, reason, tuple(" ".join(hint.split()) for hint in _HINT.findall(text)))
