"""Is the driver under torch_npu one? A stand-in for tests names itself by a symbol; then nothing is timed."""

from __future__ import annotations

import ctypes

LIBRARY = "libascendcl.so"
SYMBOL = "standin_driver"
"""A function that a stand-in exports and CANN does not."""


def is_stand_in() -> bool:
    """Whether the loaded driver says of itself that it is a stand-in; asked after ``import torch_npu``."""
    try:
        return hasattr(ctypes.CDLL(LIBRARY), SYMBOL)
    except OSError:
        return False
