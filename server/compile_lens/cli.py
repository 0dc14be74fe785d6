"""The command ``compile-lens``: ``check``, ``rule``, ``probe``, ``observe``, ``import-trace``, ``server``."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import Optional

from . import __version__

RUNS = {
    "observe": "run a command and tell what torch.compile does in it: compile-lens observe -- python train.py",
    "record": "run a command and record what its modules and functions are called with",
    "history": "list earlier results, and the inputs that runs recorded",
    "import-trace": "tell of the traces that a run wrote, here or elsewhere",
}
HERE = {
    "probe": "compile FILE::TARGET for real and measure the speed-up",
    "doctor": "tell whether this host is ready to probe (Ascend NPU and its CANN, compilers), and what a report needs",
}
"""Commands of the probe that run in the user's interpreter, since they are about its packages."""
EXIT_CLEAN, EXIT_FINDINGS, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130


def main(arguments: Optional[list[str]] = None) -> int:
    """Run one command; its exit code."""
    argv = sys.argv[1:] if arguments is None else arguments
    if argv[:1] and argv[0] in HERE:
        return probe(argv)  # its options are the probe's own
    if argv[:1] and argv[0] in RUNS:
        return runs(argv)
    options = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files need not be text
    try:
        code = int(options.run(options))
        if not sys.stdout.closed:  # the language server has closed it
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_ERROR
    except KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)  # the scanning thread may be in native code, which cannot be stopped


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compile-lens",
        description="Where torch.compile breaks your code, and what it is worth.",
        epilog="compile-lens probe FILE::TARGET compiles and measures; see compile-lens probe --help",
    )
    parser.add_argument("--version", action="version", version=f"compile-lens {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="scan files for graph breaks, recompiles and their like")
    check.add_argument("paths", nargs="+", metavar="PATH", help="Python files, or folders to search for them")
    check.add_argument("--output-format", choices=("text", "json"), default="text")
    check.add_argument(
        "--scope",
        choices=("regions", "candidates", "all"),
        default="regions",
        help="compiled regions only; also modules that nothing compiles; or every function",
    )
    check.add_argument("--torch-version", default="", metavar="V", help="torch to predict for (default: 2.13.0)")
    check.add_argument("--python-version", default="", metavar="V", help="Python to predict for (default: this one)")
    check.add_argument("--select", default="", metavar="CODES", help="only these, by prefix: CL1,CL201")
    check.add_argument("--ignore", default="", metavar="CODES", help="not these, by prefix")
    check.add_argument("--fix", action="store_true", help="apply safe fixes")
    check.add_argument("--unsafe-fixes", action="store_true", help="with --fix: also those that may change behaviour")
    check.add_argument("--no-cache", action="store_true", help="accepted for scripts; nothing is cached between runs")
    check.set_defaults(run=_check)

    rule = commands.add_parser("rule", help="explain a rule, or list them")
    rule.add_argument("rule", nargs="?", metavar="CODE")
    rule.set_defaults(run=_rule)

    for name, what in {**HERE, **RUNS}.items():
        commands.add_parser(name, help=what, add_help=False)

    server = commands.add_parser("server", help="start the language server on standard input and output")
    server.set_defaults(run=_server)
    return parser


def _check(options: argparse.Namespace) -> int:
    from .findings import report  # noqa: PLC0415  # keeps --help and server start quick

    return report.run(
        [Path(path) for path in options.paths],
        output=options.output_format,
        scope=options.scope,
        torch_version=options.torch_version,
        python_version=options.python_version,
        select=options.select,
        ignore=options.ignore,
        fix=options.fix,
        unsafe=options.unsafe_fixes,
    )


def _rule(options: argparse.Namespace) -> int:
    from .rules import page  # noqa: PLC0415
    from .rules.registry import RULES, rule_for  # noqa: PLC0415

    if options.rule is None:
        for rule in RULES.values():
            print(f"{rule.code}  {rule.name:26} {rule.effect:12} {rule.summary.en}")
        return EXIT_CLEAN
    try:
        print(page.markdown(rule_for(options.rule)))
    except KeyError as error:
        print(f"compile-lens: {error.args[0]}", file=sys.stderr)
        return EXIT_ERROR
    return EXIT_CLEAN


def _server(options: argparse.Namespace) -> int:
    from .lsp.main import serve  # noqa: PLC0415

    serve()
    return EXIT_CLEAN


def runs(arguments: list[str]) -> int:
    """``compile-lens observe ...`` and its like read traces, which needs no torch and so no other interpreter."""
    from .probing.command import probe_folder  # noqa: PLC0415

    os.execv(sys.executable, [sys.executable, str(probe_folder()), *arguments])


def probe(arguments: list[str]) -> int:
    """``compile-lens probe ...`` is ``python -m compile_probe run ...`` in the user's interpreter; so are its like."""
    from .probing.command import interpreter_for_terminal, probe_command  # noqa: PLC0415

    interpreter, rest, problem = interpreter_for_terminal(arguments[1:])
    if not problem:
        command = probe_command(interpreter, rest, "run" if arguments[0] == "probe" else arguments[0])
        try:
            os.execv(command[0], command)
        except OSError as error:
            problem = f"{command[0]} cannot be started: {error.strerror or error}; name another with --python"
    print(f"compile-lens: {problem}", file=sys.stderr)
    if arguments[0] == "probe" and "--json" in rest:  # the reader waits for the last event, whatever happened
        end = {"status": "error", "stage": "load", "message": problem, "signal": None, "file": None, "line": None}
        print(json.dumps({"v": 1, "seq": 0, "t": 0.0, "type": "done", **end, "result": {}}))
    return EXIT_ERROR


if __name__ == "__main__":
    sys.exit(main())
