"""The ids of graph breaks, read from the registry file that ships inside torch.

Seen on 2.13 (and absent on 2.7.1 and 2.5.1): ``torch/_dynamo/graph_break_registry.json``, a map from id to a list of
entries with the key ``Gb_type``. Without the file every id is None.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Optional

import torch


@functools.cache
def _ids() -> dict[str, str]:
    """Map the type of a break to its id; the first id wins where torch lists a type twice."""
    path = Path(torch.__file__).parent / "_dynamo" / "graph_break_registry.json"
    try:
        registry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    ids: dict[str, str] = {}
    for gb_id, entries in registry.items():
        for entry in entries:
            ids.setdefault(str(entry.get("Gb_type")), str(gb_id))
    return ids


def gb_id_of(gb_type: Optional[str]) -> Optional[str]:
    """Return the id of a break type, or None where this torch has none."""
    return _ids().get(gb_type) if gb_type else None


def has_ids() -> bool:
    """Whether this torch ships the registry at all."""
    return bool(_ids())
