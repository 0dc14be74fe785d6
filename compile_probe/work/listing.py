"""The backends of this interpreter: which can be used for a device, which are only registered, and why."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from .. import backends, devices
from ..backends import torch_npu


def write(device: str, *, as_json: bool) -> int:
    """Print the list and end the process, since torch_npu waits for its devices at exit; 0 is the exit code."""
    chosen = devices.choose(device)
    found: list[dict[str, Any]] = [
        {"name": name, "available": reason is None, "reason": reason, "deprecated": torch_npu.deprecation(name) or None}
        for name, reason in backends.listed(chosen.kind)
    ]
    auto = backends.choose(backends.AUTO, chosen.kind).name
    if as_json:
        listing = {"device": chosen.kind, "device_label": chosen.label, "auto": auto, "backends": found}
        print(json.dumps(listing))
    else:
        print(f"{chosen.label} ({chosen.name()}); auto takes {auto}")
        width = max(len(one["name"]) for one in found)
        for one in found:
            state = "available" if one["available"] else f"not usable: {one['reason']}"
            print(f"  {one['name']:<{width}}  {state}" + (f" ({one['deprecated']})" if one["deprecated"] else ""))
    sys.stdout.flush()
    os._exit(0)
