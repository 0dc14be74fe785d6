"""Is this host ready for the NPU? One of a few states, each with what was found and a way on.

torch_npu is tried in a child process with a deadline, never in ours: it may fail to load, take torch with it, replace
signal handlers, or hang in the driver. Whether a backend or a device is *registered* proves nothing; a tensor on the
card does.
"""

from __future__ import annotations

import grp
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from . import cann, cards, wheel
from .sentences import STATES

DEADLINE = 60.0
"""Seconds for importing torch and torch_npu and allocating once; seen: 9 s."""

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"

CHILD = r"""
import json, os, sys
out = {}
try:
    import torch
    import torch_npu
    out["imported"] = True
    out["count"] = torch.npu.device_count()
    out["available"] = bool(torch.npu.is_available())
    if out["available"] and out["count"]:
        out["name"] = torch.npu.get_device_name(0)
        torch.empty(1, device="npu:0")
        out["allocated"] = True
except BaseException as error:
    out["error"] = type(error).__name__
    out["message"] = (str(error).strip().splitlines() or [""])[0]
sys.stdout.write("\x1e" + json.dumps(out) + "\n")
sys.stdout.flush()
os._exit(0)
"""

_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object")


@dataclass(frozen=True)
class Readiness:
    """A state of `STATES`, with what was found; ``values`` fill its sentence."""

    state: str
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    usable: tuple[int, ...] = ()
    """Physical numbers of the cards that this process is shown and nobody else uses."""

    @property
    def ready(self) -> bool:
        return self.state in ("ready", "choose")

    def sentence(self, locale: str = "en") -> str:
        """What is the matter, and a way on."""
        return STATES[self.state].text(locale, self.values)

    @property
    def command(self) -> str:
        """A command that may mend it, for a button; empty where there is none."""
        return STATES[self.state].command.format(**self.values)


def assess(environ: Mapping[str, str], root: Path = Path("/"), deadline: float = DEADLINE) -> Readiness:
    """Look at this interpreter's packages, at CANN and the cards, then try a card in a child process.

    ``root``: where ``/usr/local/Ascend``, ``/dev`` and ``/proc`` are looked for.
    """
    found = wheel.installed()
    if found is None:
        return Readiness("absent", {"torch": wheel.base_version(_torch(None)) or "2.x"})
    torch = _torch(found)
    values: dict[str, Any] = {"torch": torch, "torch_npu": found.version, "wants": found.requires_torch}
    if torch and not found.pairs_with(torch):
        return Readiness("mismatch", values)
    toolkit = cann.find(environ, root)
    values["cann"] = toolkit.version if toolkit is not None and toolkit.version else "?"
    values["driver"] = cann.driver_version(root) or "?"
    seen = cards.find(environ, root)
    tried = _try(environ, deadline)
    if tried is None:
        return Readiness("silent", {**values, "seconds": f"{deadline:g}"})
    missing = _LIBRARY.search(tried.get("message", ""))
    if missing and not tried.get("imported"):
        return _library_missing(values, missing[1], toolkit)
    return judge(values, seen, tried, root)


def judge(values: dict[str, Any], seen: cards.Cards, tried: dict[str, Any], root: Path) -> Readiness:
    """The state once CANN's libraries are found: from the cards and from what the child could do."""
    if tried.get("allocated"):
        return _ready(values, seen, tried)
    if seen.forbidden:
        files = ", ".join(seen.forbidden)
        return Readiness("no-permission", {**values, "files": files, "group": _group(root, seen.forbidden[0])})
    if tried.get("imported") and not tried.get("count") and not seen.usable:
        return _nothing_there(values, seen)
    message = tried.get("message") or "there are /dev/davinci* files, and torch.npu.is_available() is False"
    return Readiness("broken", {**values, "message": f"{message.rstrip('.')}."})


def explain(message: str, environ: Mapping[str, str], root: Path = Path("/")) -> str:
    """A sentence about a failed import of one of CANN's libraries; empty for a message about anything else."""
    missing = _LIBRARY.search(message)
    found = wheel.installed() if missing else None
    if missing is None or found is None or missing[1] not in (*cann.LIBRARIES, *_MORE_LIBRARIES):
        return ""
    values = {"torch": "", "torch_npu": found.version, "cann": "?"}
    return _library_missing(values, missing[1], cann.find(environ, root)).sentence()


_MORE_LIBRARIES = ("libacl_op_compiler.so", "libge_runner.so", "libgraph.so", "libacl_tdt_channel.so", "libopapi.so")


def _torch(found: Optional[wheel.Wheel]) -> str:
    folders = [found.package.parent] if found is not None else []
    for folder in [*folders, *(Path(entry) for entry in sys.path if entry)]:
        version = wheel.torch_version(folder)
        if version:
            return version
    return ""


def _try(environ: Mapping[str, str], deadline: float) -> Optional[dict[str, Any]]:
    """What the child says; ``None`` when it says nothing in time."""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", CHILD],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=deadline,
            check=False,
            env={**environ, AUTOLOAD: "0"},
        )
    except subprocess.TimeoutExpired:
        return None
    for line in reversed(ended.stdout.decode("utf-8", "replace").split("\n")):  # splitlines would split at the mark
        if line.startswith("\x1e"):
            with suppress(ValueError):
                return json.loads(line[1:])
    told = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    reason = told[0] if told else f"the process ended with code {ended.returncode}"
    return {"error": "ended", "message": reason}


def _library_missing(values: dict[str, Any], library: str, toolkit: Optional[cann.Cann]) -> Readiness:
    values = {**values, "library": library}
    if toolkit is None:
        return Readiness("cann-missing", values)
    script = toolkit.script or toolkit.folder / cann.SCRIPT
    return Readiness(
        "environment-not-loaded",
        {**values, "cann": toolkit.version or "?", "folder": str(toolkit.folder), "script": str(script)},
    )


def _nothing_there(values: dict[str, Any], seen: cards.Cards) -> Readiness:
    hidden = ""
    if seen.present and seen.visible is not None:
        shown = ",".join(map(str, seen.visible)) or "''"
        hidden = f"({cards.VISIBLE}={shown}: {len(seen.present)} -> 0)"
    return Readiness("no-device", {**values, "hidden": hidden})


def _group(root: Path, device: str) -> str:
    with suppress(OSError, KeyError):
        name = grp.getgrgid((root / device.lstrip("/")).stat().st_gid).gr_name
        if name != "root":
            return name
    return "HwHiAiUser"


def _ready(values: dict[str, Any], seen: cards.Cards, tried: dict[str, Any]) -> Readiness:
    usable = seen.usable
    idle = tuple(card.number for card in usable if not card.holders)
    if usable and not idle:
        holders = "; ".join(f"npu:{index} " + ", ".join(map(str, card.holders)) for index, card in enumerate(usable))
        return Readiness("busy", {**values, "holders": holders})
    count = int(tried.get("count") or 0)
    shown = "" if seen.visible is None else f" ({cards.VISIBLE}={','.join(map(str, seen.visible))})"
    free = ", ".join(f"npu:{index}" for index, card in enumerate(usable) if not card.holders) or f"npu:0-{count - 1}"
    state = "ready" if count < 2 else "choose"
    return Readiness(state, {**values, "name": tried.get("name"), "count": count, "shown": shown, "idle": free}, idle)
