"""Starts the probe: as ``python -m compile_probe``, or as ``python /some/path/compile_probe`` without being installed.

Run as a folder, Python puts the folder itself on ``sys.path``, where our module names could hide the user's. So the
package is loaded from its path under its own name, and nothing of ours stays on ``sys.path``.
"""

from __future__ import annotations

import sys
from typing import Any

if not __package__:
    import importlib.util
    import os

    _here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (before pathlib may be imported)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _here]  # noqa: PTH100
    _spec: Any = importlib.util.spec_from_file_location(
        "compile_probe", _here + os.sep + "__init__.py", submodule_search_locations=[_here]
    )
    if _spec is None or _spec.loader is None:
        raise SystemExit(f"cannot load the compile_probe package from {_here}")
    _package = importlib.util.module_from_spec(_spec)
    sys.modules["compile_probe"] = _package
    _spec.loader.exec_module(_package)

from compile_probe.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
