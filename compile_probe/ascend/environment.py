"""What the workers of a probe start with on an Ascend host: CANN's variables, and a torch that can be imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from ..errors import UsageError
from ..host import shell
from . import cann, wheel
from .readiness import AUTOLOAD


def prepared(
    environ: Mapping[str, str], setup_script: Optional[Path] = None, env_file: Optional[Path] = None
) -> dict[str, str]:
    """``environ`` after the user's file of variables and set-up script.

    With torch_npu installed and CANN's libraries out of reach ``import torch`` fails for every program, also for those
    that want no NPU: there its autoloading is switched off, and an NPU that is asked for is refused with the reason.

    :raises UsageError: the script or file cannot be used
    """
    result = dict(environ)
    try:
        if env_file is not None:
            result = shell.read_variables(env_file, result)
        if setup_script is not None:
            result = shell.sourced(setup_script, result)
    except shell.SetupError as error:
        raise UsageError(str(error)) from None
    if wheel.installed() is not None and not cann.libraries_visible(result):
        result.setdefault(AUTOLOAD, "0")
    return result
