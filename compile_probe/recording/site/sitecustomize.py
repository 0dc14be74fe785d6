"""Loaded by every Python that a recorded run starts: waits for torch to be imported, then hooks into it.

A ``sitecustomize`` of the environment's own is run all the same.
"""

import importlib.abc
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.environ.get("COMPILE_LENS_RECORD")


def _next_one():
    """Run the sitecustomize that this one hides."""
    import importlib.machinery

    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _package():
    """Our package by its path, without a place on ``sys.path``."""
    root = os.path.dirname(os.path.dirname(_HERE))
    if "compile_probe" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "compile_probe", os.path.join(root, "__init__.py"), submodule_search_locations=[root]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules["compile_probe"] = module
        spec.loader.exec_module(module)


class _Waiting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                _package()
                from pathlib import Path

                from compile_probe.recording import hooks

                hooks.install(Path(_FOLDER))
            except Exception as error:
                print(f"compile_probe: inputs are not recorded: {error!r}", file=sys.stderr)

        spec.loader.exec_module = exec_module
        return spec


if _FOLDER:
    sys.meta_path.insert(0, _Waiting())
_next_one()
