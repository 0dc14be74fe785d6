"""Settings of the editor, as data: section ``compileLens`` of the client's configuration."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, cast

from ..findings.scan import SCOPES
from ..knowledge.versions import parse_version
from ..rules.registry import RULES

SEVERITIES = ("error", "warning", "information", "hint", "off")


@dataclass(frozen=True)
class Settings:
    """What docs/protocol.md section 1.4 lists."""

    enable: bool = True
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    scope: str = "regions"
    severity: dict[str, str] = field(default_factory=dict[str, str])
    torch_version: str = ""
    code_lens: bool = True
    backends: tuple[str, ...] = ()
    device: str = "auto"
    timeout_s: float = 120.0
    budget_s: float = 5.0
    setup_script: str = ""
    env_file: str = ""


class _Reader:
    """Takes values out of a nested mapping; a wrong one falls back to the default and is reported."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.problems: list[str] = []

    def get(self, key: str, kind: type, default: Any) -> Any:
        value: Any = self.values
        for part in key.split("."):
            value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
        if value is None:
            return default
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or (kind is float and isinstance(value, bool)):
            self.problems.append(f"compileLens.{key}: {value!r} is not of type {kind.__name__}; using {default!r}")
            return default
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        value = self.get(key, str, default)
        if value not in choices:
            self.problems.append(f"compileLens.{key}: {value!r} is none of {', '.join(choices)}; using {default!r}")
            return default
        return value

    def seconds(self, key: str, default: float) -> float:
        value = self.get(key, float, default)
        if not 0 < value < math.inf:
            self.problems.append(f"compileLens.{key}: {value!r} is no time above 0; using {default!r}")
            return default
        return value

    def path(self, key: str) -> str:
        """A path; ``~`` is the user's home. What is relative is so to the folder that the probe runs in."""
        return os.path.expanduser(self.get(key, str, ""))  # noqa: PTH111  (an empty one stays empty)

    def version(self, key: str) -> str:
        value = self.get(key, str, "")
        try:
            return value if not value or parse_version(value) else ""
        except ValueError:
            self.problems.append(f"compileLens.{key}: {value!r} is no version; using that of the interpreter")
            return ""

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, [])
        wrong = [value for value in values if not isinstance(value, str)]
        if wrong:
            self.problems.append(f"compileLens.{key}: {wrong[0]!r} is no text; left out")
        return tuple(value for value in values if isinstance(value, str))

    def codes(self, key: str) -> tuple[str, ...]:
        """Codes of rules, or beginnings of them; one that fits no rule is left out."""
        known: list[str] = []
        for code in self.texts(key):
            if code and any(rule.startswith(code.upper()) for rule in RULES):
                known.append(code.upper())
            else:
                self.problems.append(f"compileLens.{key}: no rule has a code that begins with {code!r}; left out")
        return tuple(known)


def read_settings(values: Optional[Mapping[str, Any]]) -> tuple[Settings, list[str]]:
    """Settings out of the client's answer, and a sentence for each value that could not be used."""
    reader = _Reader(values or {})
    severity = {str(k): str(v) for k, v in reader.get("severity", dict, {}).items()}
    for key, value in list(severity.items()):
        if value not in SEVERITIES:
            reader.problems.append(f"compileLens.severity: {value!r} of {key!r} is none of {', '.join(SEVERITIES)}")
            del severity[key]
    settings = Settings(
        enable=reader.get("enable", bool, True),
        select=reader.codes("select"),
        ignore=reader.codes("ignore"),
        scope=reader.choice("scope", SCOPES, "regions"),
        severity=severity,
        torch_version=reader.version("torchVersion"),
        code_lens=reader.get("codeLens.enable", bool, True),
        backends=reader.texts("probe.backends"),
        device=reader.get("probe.device", str, "auto"),
        timeout_s=reader.seconds("probe.timeoutSeconds", 120.0),
        budget_s=reader.seconds("probe.budgetSeconds", 5.0),
        setup_script=reader.path("probe.setupScript"),
        env_file=reader.path("probe.envFile"),
    )
    return settings, reader.problems
