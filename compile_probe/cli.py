"""The command line: ``run``, ``observe``, ``import-trace``, ``targets``, and those of ``commands``."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable, NoReturn, Optional

from .commands import add_commands, add_environment, load_environment
from .errors import UsageError
from .protocol import events
from .protocol.done import done
from .protocol.job import Job
from .targets.discovery import targets

DEFAULT_TIMEOUT = 120.0
DEFAULT_BUDGET = 5.0
DEFAULT_BACKENDS = ("inductor",)
ON_NPU = ("auto",)
"""What is measured when no backend is named; the worker knows what the NPU's wheel has."""


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code: 0 ok, 1 the target failed, 2 usage, 3 not measured or needs inputs."""
    if list(arguments[:1]) == ["_worker"]:
        from .work.worker import main as work  # noqa: PLC0415  (the worker's start has no time for the supervisor's parts)

        return work(Path(arguments[1]))
    try:
        options = _parser().parse_args(arguments)
        return options.command(options)
    except UsageError as error:
        print(f"compile_probe: {error.sentence()}", file=sys.stderr)
        if list(arguments[:1]) == ["run"] and "--json" in arguments:
            _write_line(_refused(arguments, error))
        return events.EXIT_USAGE


def _refused(arguments: Sequence[str], error: UsageError) -> dict[str, Any]:
    """The one event of a run that cannot begin; a reader waits for it."""
    named = next((argument for argument in arguments[1:] if "::" in argument), "")
    file, _, target = named.rpartition("::")
    keys = done(Job(file=file, target=target), "error", error.sentence(), stage="load")
    return {"v": events.VERSION, "seq": 0, "t": 0.0, "type": "done", **keys}


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong with the arguments as every other error of usage is told."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", remedy=f"{self.prog} --help lists the options.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="compile_probe", description="Measure what torch.compile does to a function or module.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="probe one target")
    run.set_defaults(command=_run)
    run.add_argument("target", metavar="FILE::TARGET", help="function, class, Class.method, or factory()")
    run.add_argument("--json", action="store_true", help="write events as JSON Lines")
    run.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, npu (default: %(default)s)")
    run.add_argument("--backend", action="append", default=[], metavar="B", help="backend to measure; may be repeated")
    run.add_argument("--mode", choices=("inference", "train"), default="inference")
    run.add_argument("--inputs", metavar="NAME", help="function of the file that returns the example inputs")
    run.add_argument("--calls", type=_positive_int, default=5, help="least number of observed calls")
    run.add_argument(
        "--timeout", type=_positive, default=DEFAULT_TIMEOUT, help="seconds a stage may show no progress (%(default)s)"
    )
    run.add_argument(
        "--budget",
        type=_positive,
        default=DEFAULT_BUDGET,
        help="seconds of timing for a variant and size (%(default)s)",
    )
    run.add_argument("--observe-only", action="store_true", help="breaks and recompiles only, no check, no timing")
    add_environment(run)
    pieces = run.add_argument_group("with --backend piecewise")
    pieces.add_argument(
        "--split",
        action="append",
        default=[],
        metavar="S",
        help="cut at an op, a function, module:CLASS, FILE:LINE, attention",
    )
    pieces.add_argument("--sizes", type=_sizes, default=(), metavar="1,2,4", help="sizes to capture (first dimension)")
    pieces.add_argument("--mix", type=_mix, default=(), metavar="1:5,3:2", help="play requests of sizes with weights")
    pieces.add_argument("--pad", action="store_true", help="rows are independent: pad requests to a captured size")
    run.add_argument("--watch-stdin", action="store_true", help="cancel when standard input ends")
    observe = commands.add_parser("observe", help="run a command and tell what torch.compile does in it")
    observe.set_defaults(command=_observe)
    _add_report_options(observe)
    observe.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder for the traces and the report")
    observe.add_argument("--quiet", action="store_true", help="the command's output goes into the run's folder")
    observe.add_argument("--log", type=Path, metavar="FILE", help="write the command's output there, and show a table")
    observe.add_argument(
        "--torch-logs",
        action=argparse.BooleanOptionalAction,
        help="switch torch's log of graph breaks on too (default: where the command's torch is older than 2.7)",
    )
    observe.add_argument("run", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command, as you run it")
    record = commands.add_parser(
        "record", help="run a command and record what its modules and functions are called with"
    )
    record.set_defaults(command=_record)
    record.add_argument("--json", action="store_true", help="write what was recorded as JSON Lines")
    record.add_argument("run", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command, as you run it")
    history = commands.add_parser("history", help="list earlier results, and the inputs that runs recorded")
    history.set_defaults(command=_history)
    history.add_argument("target", nargs="?", metavar="FILE[::TARGET]", help="default: the workspace of this folder")
    history.add_argument("--json", action="store_true")
    history.add_argument("--limit", type=_positive_int, default=20)
    imported = commands.add_parser("import-trace", help="tell of traces that a run wrote, here or elsewhere")
    imported.set_defaults(command=_import_trace)
    _add_report_options(imported)
    imported.add_argument("trace", type=Path, metavar="DIR|LOG")
    imported.add_argument("--root", type=Path, action="append", default=[], help="folder with the sources; repeatable")
    backends = commands.add_parser("backends", help="list the backends of this interpreter's torch, and why not")
    backends.set_defaults(command=_backends)
    backends.add_argument("--device", default="auto", help="device to compile for (default: %(default)s)")
    backends.add_argument("--json", action="store_true", help="write the list as JSON")
    listing = commands.add_parser("targets", help="list the targets of a file as JSON, without importing it")
    listing.set_defaults(command=_targets)
    listing.add_argument("file", type=Path)
    add_commands(commands)
    return parser


def _run(options: argparse.Namespace) -> int:
    file, divider, name = str(options.target).rpartition("::")
    if not divider or not name or not file:
        raise UsageError(
            f"{options.target!r} names no target: write FILE::TARGET.", remedy="For example: model.py::Model"
        )
    path = Path(os.path.abspath(file))  # noqa: PTH100  (links stay: the user's files are called what the user calls them)
    if not path.is_file():
        raise UsageError(f"There is no file {file}.")
    if os.name != "posix":
        raise UsageError("The probe runs on Linux and macOS.", remedy="On Windows use WSL.")
    load_environment(options)
    from .report import terminal  # noqa: PLC0415  (needs an operating system with process groups)
    from .supervision import run  # noqa: PLC0415  (needs an operating system with process groups)

    job = Job(
        file=str(path),
        target=name,
        device=options.device,
        mode=options.mode,
        inputs=options.inputs,
        calls=options.calls,
        budget=options.budget,
        split=tuple(options.split),
        sizes=options.sizes,
        mix=options.mix,
        pad=options.pad,
    )
    return run.run(
        job,
        options.backend or _default_backends(options.device),
        timeout=options.timeout,
        observe_only=options.observe_only,
        sink=_kept(job, _write_line if options.json else terminal.Terminal(sys.stdout).show),
        watch_stdin=options.watch_stdin,
    )


def _default_backends(device: str) -> tuple[str, ...]:
    """An NPU is what ``auto`` takes first, so a torch_npu that is installed may mean one."""
    kind = device.partition(":")[0]
    there = kind == "npu" or (kind == "auto" and importlib.util.find_spec("torch_npu") is not None)
    return ON_NPU if there else DEFAULT_BACKENDS


def _add_report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="write events as JSON Lines")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as one HTML file")


def _observe(options: argparse.Namespace) -> int:
    from .report import observed  # noqa: PLC0415
    from .runs import observation  # noqa: PLC0415

    command = options.run[1:] if options.run[:1] == ["--"] else options.run
    live = options.log is not None and sys.stderr.isatty()
    shown = observed.Table(sys.stderr) if live else observed.Lines(sys.stderr)
    return observation.observe(
        command,
        _reported(_write_line if options.json else shown.show, options.html),
        folder=options.output,
        log=options.log,
        quiet=options.quiet,
        torch_logs=options.torch_logs,
        output=sys.stderr.fileno() if options.json else None,
    )


def _record(options: argparse.Namespace) -> int:
    from .report import kept  # noqa: PLC0415
    from .runs import recording  # noqa: PLC0415

    command = options.run[1:] if options.run[:1] == ["--"] else options.run
    code, records, notes = recording.record(command)
    for line in kept.recorded(records, notes, as_json=options.json):
        print(line, file=sys.stdout if options.json else sys.stderr)
    return code


def _history(options: argparse.Namespace) -> int:
    from .report import kept  # noqa: PLC0415
    from .store.database import Store  # noqa: PLC0415
    from .store.place import store_file  # noqa: PLC0415

    named = str(options.target or "")
    file, _, target = named.rpartition("::") if "::" in named else (named, "", "")
    path = Path(file or Path.cwd()).resolve()
    if not path.exists():
        raise UsageError(f"There is no {file}.")
    with Store(store_file(path)) as store:
        results = store.results(str(path) if path.is_file() else None, target or None, options.limit)
        inputs = [row for row in store.recorded_targets() if not path.is_file() or row[0] == str(path)]
        lines = kept.history(results, inputs, store.notes, as_json=options.json)
    for line in lines:
        print(line)
    return 0


def _kept(job: Job, show: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Show events, and keep the result that the last one holds."""

    def sink(event: dict[str, Any]) -> None:
        if event["type"] == "done":
            from .store.results import keep  # noqa: PLC0415

            event["result"].setdefault("notes", []).extend(keep(job.file, job.target, event))
        show(event)

    return sink


def _import_trace(options: argparse.Namespace) -> int:
    from .report import observed  # noqa: PLC0415
    from .runs import observation  # noqa: PLC0415

    show = _write_line if options.json else observed.Lines(sys.stdout).show
    return observation.import_trace(options.trace, _reported(show, options.html), options.root or [Path.cwd()])


def _reported(show: Callable[[dict[str, Any]], None], html: Optional[Path]) -> Callable[[dict[str, Any]], None]:
    """Show events, and write the page at the end: where it was asked for, and into the run's own folder."""
    from .report import page  # noqa: PLC0415

    def sink(event: dict[str, Any]) -> None:
        if event["type"] == "done":
            folder = Path(event["result"]["folder"])
            paths = [html] if html else [folder / "report.html"] if (folder / "run.json").is_file() else []
            for path in paths:
                try:
                    page.write(event["result"], path)
                    event["result"]["page"] = str(path)
                except OSError as error:
                    event["result"]["notes"].append(f"{path} cannot be written: {error.strerror}")
        show(event)

    return sink


def _backends(options: argparse.Namespace) -> int:
    from .work import listing  # noqa: PLC0415  (imports torch)

    return listing.write(options.device, as_json=options.json)


def _targets(options: argparse.Namespace) -> int:
    print(json.dumps([asdict(target) for target in targets(options.file)]))
    return 0


def _write_line(event: dict[str, Any]) -> None:
    data = (events.encode(event) + "\n").encode("utf-8", "backslashreplace")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"has to be a number above 0, not {text!r}")
    return value


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(_positive_int(part) for part in text.split(","))


def _mix(text: str) -> tuple[tuple[int, float], ...]:
    parts = [part.partition(":") for part in text.split(",")]
    return tuple((_positive_int(size), _positive(weight) if weight else 1.0) for size, _, weight in parts)


def _positive_int(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"has to be a whole number of at least 1, not {text!r}")
    return value
