"""The environment that a set-up script or a file of variables gives: what ``source set_env.sh`` would do to a shell.

A script is run in a child shell, with a deadline; its prints go nowhere near the result.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

DEADLINE = 20.0
"""Seconds that a set-up script may take."""

_OWN = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "BASH_FUNC_which%%"})
"""What the shell itself sets."""

_SOURCE = '. "$1" >&2; code=$?; [ $code -eq 0 ] && env -0 > "$2"; exit $code'


class SetupError(Exception):
    """A script or file of variables cannot be used; the message is a sentence with the remedy."""


def sourced(script: Path, environ: Mapping[str, str], deadline: float = DEADLINE) -> dict[str, str]:
    """``environ`` after ``script`` was sourced.

    :raises SetupError: it is missing, fails, hangs, or there is no shell
    """
    if not script.is_file():
        raise SetupError(f"The set-up script {script} does not exist. Correct probe.setupScript or --setup-script.")
    shell = shutil.which("bash", path=environ.get("PATH")) or shutil.which("sh", path=environ.get("PATH"))
    if shell is None:
        raise SetupError(f"There is no shell to source {script} in. Give the variables as a file (probe.envFile).")
    with tempfile.TemporaryDirectory(prefix="compile_probe-") as folder:
        result = Path(folder) / "environment"
        child = subprocess.Popen(
            [shell, "-c", _SOURCE, shell, str(script.resolve()), str(result)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
        )
        try:
            _, told = child.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            raise SetupError(
                f"{script} did not end within {deadline:g} s and was stopped. Does it wait for an answer? "
                "Name a script that only sets variables."
            ) from None
        finally:
            with suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)
            if child.stderr is not None:
                child.stderr.close()
            child.wait()
        if not result.exists():
            last = told.decode("utf-8", "replace").strip().splitlines()[-1:]
            said = f": {last[0]}" if last else "."
            raise SetupError(
                f"{script} failed with exit code {child.returncode}{said} Source it in a shell to see why."
            )
        pairs = (entry.partition(b"=") for entry in result.read_bytes().split(b"\0") if entry)
        found = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    return {**{name: value for name, value in found.items() if name not in _OWN}, **_kept(environ)}


def _kept(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _OWN if name in environ}


_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


def read_variables(file: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` with the ``NAME=VALUE`` lines of a file; ``$NAME`` and ``${NAME}`` stand for earlier values.

    :raises SetupError: it cannot be read, or a line is something else
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"The file of variables {file} cannot be read ({error}). Correct probe.envFile.") from None
    found = dict(environ)
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise SetupError(f"{file}:{number} is no NAME=VALUE line. Shell code belongs into probe.setupScript.")
        found[match[1]] = _value(match[2], found)
    return found


def _value(text: str, known: Mapping[str, str]) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    text = text[1:-1] if quoted else re.sub(r"\s+#.*$", "", text)
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda match: known.get(match[1] or match[2], ""), text)
