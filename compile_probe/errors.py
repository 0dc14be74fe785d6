"""What can go wrong in a probe, as one tree; every leaf becomes a ``done`` event with a stage, a message and a remedy.

::

    ProbeError                  status error        anything below, and what has no better name
    |-- UsageError              (exit code 2)       the command line does not make sense
    |-- TargetError             status error        the user's own code failed
    |   `-- TargetMemoryError   out-of-memory       ... for want of memory
    |-- NeedsInputsError        needs-inputs        nothing says what to call the target with
    |-- InputsError             status error        something says it, and it cannot be used
    |-- CompileError            status error        eager works, the compiled target raises
    `-- UnavailableError        status error        a device or backend that is not there
"""

from __future__ import annotations

from typing import Optional


class ProbeError(Exception):
    """A failure with what the user needs: where in the probe, what happened, what to do, and where in the source."""

    status = "error"

    def __init__(
        self,
        message: str,
        *,
        stage: str = "load",
        remedy: str = "",
        file: Optional[str] = None,
        line: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.stage = stage
        self.remedy = remedy
        self.file = file
        self.line = line

    def sentence(self) -> str:
        """The message with its remedy behind it."""
        return f"{self.message} {self.remedy}".strip()


class UsageError(ProbeError):
    """The command line names something that does not exist or cannot be combined."""


class TargetError(ProbeError):
    """The user's code raised, left the process, or could not be imported."""


class TargetMemoryError(TargetError):
    """The user's code ran out of memory."""

    status = "out-of-memory"


class NeedsInputsError(ProbeError):
    """No convention, comment or function says what to call the target with."""

    status = "needs-inputs"


class InputsError(ProbeError):
    """The example inputs are there and do not fit: they raise, do not bind, or are too large."""


class CompileError(ProbeError):
    """The target runs eagerly and raises when compiled."""


class UnavailableError(ProbeError):
    """The device or backend asked for cannot be used here."""
