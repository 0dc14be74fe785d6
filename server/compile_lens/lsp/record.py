"""One probe of one target, as the editor is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ..probing import wording
from ..text.source import Source


@dataclass(frozen=True)
class Record:
    """What is known of the probe of one target."""

    uri: str
    target: str
    state: str
    source: Source
    """The text that was probed."""
    stage: Optional[str] = None
    status: Optional[str] = None
    message: Optional[str] = None
    result: Optional[dict[str, Any]] = None

    def payload(self, locale: str) -> dict[str, Any]:
        """The probe state of docs/protocol.md."""
        status = self.status or ""
        return {
            "uri": self.uri,
            "target": self.target,
            "state": self.state,
            "stage": self.stage,
            "status": self.status,
            "text": wording.short(self.result, status, locale),
            "detail": wording.detail(self.result, status, self.message, locale),
            "message": self.message or wording.unmeasured(self.result or {}, locale),
            "result": self.result,
        }
