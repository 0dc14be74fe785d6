"""Sentences for ends that the worker could not tell itself: what happened, in which stage, and what to do."""

from __future__ import annotations

from typing import Optional

_DOING = {
    "load": "importing the file",
    "inputs": "making the example inputs",
    "eager": "the first plain call of the target",
    "trace": "tracing the target with Dynamo",
    "compile": "compiling the target",
    "check": "comparing compiled and eager results",
    "capture": "capturing device graphs",
    "measure": "timing",
}

_TIMEOUT = {
    "load": "Move work that runs at import behind `if __name__ == '__main__':`, or give --timeout more seconds.",
    "inputs": "Make the example inputs smaller, or give --timeout more seconds.",
    "eager": "Give smaller example inputs, or --timeout more seconds.",
    "compile": "Give --timeout more seconds, or probe a smaller part of the model.",
}

_CRASH = {
    "SIGSEGV": "A native extension or ctypes call touched memory that is not its own.",
    "SIGBUS": "A native extension touched memory that is not there.",
    "SIGABRT": "Native code gave up; its last words are in the log.",
    "SIGILL": "Native code was built for another processor.",
    "SIGFPE": "Native code divided by zero.",
    "SIGKILL": "Something outside killed the process: often the kernel, when memory runs out.",
}


def doing(stage: str) -> str:
    """A stage in words."""
    return _DOING.get(stage, stage)


def timeout(stage: str, seconds: float, target: str) -> str:
    """A stage showed no progress for too long."""
    remedy = _TIMEOUT.get(stage, "Give --timeout more seconds.")
    return f"{target}: {doing(stage)} showed no progress for {seconds:g} s. {remedy}"


def total_timeout(stage: str, seconds: float) -> str:
    """All stages together took too long."""
    return f"The probe took longer than {seconds:g} s in all and was stopped while {doing(stage)}. Give --timeout more."


def memory(used: float, limit: float) -> str:
    """The worker outgrew the memory that was available when it started."""
    gib = 1024**3
    return (
        f"The target used {used / gib:.1f} GiB of the {limit / gib:.1f} GiB that it could have and was stopped. "
        "Give smaller example inputs."
    )


def crash(stage: str, name: str, file: Optional[str], line: Optional[int]) -> str:
    """The worker died of a signal."""
    where = f" at {file}:{line}" if file else ""
    return f"The process died of {name} during {doing(stage)}{where}. {_CRASH.get(name, '')}".strip()


def left(stage: str, code: int) -> str:
    """The worker ended without a word and without a signal."""
    return (
        f"The target ended the process with exit code {code} during {doing(stage)}. "
        "Probe a target that returns instead of leaving, for instance without os._exit()."
    )
