"""Commands about the host: ``doctor`` and ``facts``; and the options that load its environment first."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from .protocol import events


def add_commands(commands: Any) -> None:
    """Add them to the command line."""
    doctor = commands.add_parser("doctor", help="tell whether this host is ready, and what a report to us needs")
    doctor.set_defaults(command=_doctor)
    doctor.add_argument("--json", action="store_true", help="write one JSON object")
    doctor.add_argument("--locale", default="en", help="en or zh-cn (default: %(default)s)")
    add_environment(doctor)
    facts = commands.add_parser("facts", help="tell what the torch_npu of a site-packages folder has, as JSON")
    facts.set_defaults(command=_facts)
    facts.add_argument("folder", type=Path)


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Options that name what sets the environment up."""
    parser.add_argument("--setup-script", type=Path, metavar="F", help="shell script to source first, as set_env.sh")
    parser.add_argument("--env-file", type=Path, metavar="F", help="file of NAME=VALUE lines to set first")


def load_environment(options: argparse.Namespace) -> None:
    """Do what `add_environment` took; children inherit it."""
    from .ascend.environment import prepared  # noqa: PLC0415  (needs an operating system with process groups)

    os.environ.update(prepared(os.environ, options.setup_script, options.env_file))


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import findings, page  # noqa: PLC0415  (a run needs none of it)

    load_environment(options)
    state, report = findings.gather(os.environ)
    if options.json:
        ascend = {"state": state.state, "sentence": state.sentence(options.locale), "command": state.command}
        print(json.dumps({"ascend": ascend, **report}))
    else:
        print(page.text(state, report, options.locale), end="")
    return 0 if state.ready or state.state == "absent" else events.EXIT_UNMEASURED


def _facts(options: argparse.Namespace) -> int:
    from .ascend import facts, wheel  # noqa: PLC0415  (a run needs none of it)

    found = wheel.find(options.folder)
    print(json.dumps(facts.as_json(facts.facts_of(found)) if found is not None else None))
    return 0 if found is not None else events.EXIT_UNMEASURED
