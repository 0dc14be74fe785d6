"""Write ``knowledge/dynamo_facts.json``: what the installed Dynamo does with callables, found by calling them.

    python tools/generate_dynamo_facts.py            # all modules, a process each (minutes)
    python tools/generate_dynamo_facts.py --module M # facts of one module, as JSON lines

Every public callable of the listed modules, every Tensor and ndarray method and attribute, and a list of context
managers is put into a small compiled function with the first arguments that eager Python accepts, and Dynamo's breaks
are observed. A fact is ``""`` (traced) or the type of the innermost break; callables that no arguments fit are left
out. Kinds of arguments: ``plain`` (Python values) and ``tensor``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "server" / "compile_lens" / "knowledge" / "dynamo_facts.json"

STDLIB = """abc array base64 binascii bisect builtins calendar cmath collections colorsys concurrent.futures contextlib
contextvars copy csv ctypes dataclasses datetime decimal difflib enum fnmatch fractions functools gc getpass glob gzip
hashlib heapq hmac html importlib importlib.metadata inspect io itertools json keyword linecache locale logging lzma math
mimetypes numbers operator os os.path pathlib pickle platform pprint queue random re reprlib secrets shlex shutil
socket statistics string struct subprocess sys tempfile textwrap threading time timeit traceback types typing unicodedata
urllib.parse uuid warnings weakref zlib""".split()
TORCH = """torch torch.nn.functional torch.linalg torch.fft torch.special torch.autograd torch.random torch.cuda
torch.backends.cudnn torch.compiler torch.jit torch.utils.data torch.utils.checkpoint torch.distributed torch.sparse
torch.nested torch.func torch.overrides torch.nn.utils torch.nn.utils.rnn torch.nn.init torch.accelerator torch.amp
torch._dynamo torch.profiler torch.multiprocessing torch.hub torch.nn.parameter""".split()
NUMPY = ["numpy", "numpy.random", "numpy.linalg"]
MEMBERS = ["Tensor.methods", "Tensor.attributes", "ndarray.methods", "contexts"]

# Never called: they end or replace the process, delete, wait for a person or the network, or change the interpreter.
DANGEROUS = frozenset(
    """exit quit _exit abort kill killpg fork forkpty execv execve execl execlp execle execvp execvpe remove unlink rmdir
    removedirs rmtree move rename renames replace truncate setuid setgid chroot chmod chown lchown pause wait waitpid
    waitid wait3 wait4 popen spawnl spawnv posix_spawn getpass input breakpoint raise_signal settrace setprofile
    set_trace help copyright credits license interact connect create_connection create_server getaddrinfo
    gethostbyname getfqdn setrecursionlimit setdlopenflags disable_gc closerange close dup2 nice setpgid setsid
    setpriority sched_setaffinity daemon _clear_type_cache addaudithook unshare reset reset_code_caches set_stance
    init_process_group destroy_process_group load_library shutdown main start_processes spawn call_tracing
    set_default_device set_default_dtype set_default_tensor_type use_deterministic_algorithms set_num_interop_threads
    set_float32_matmul_precision _debug_set_autodiff_subgraph_inlining list_gpu_processes download_url_to_file
    load_state_dict_from_url repeat lockf fchdir chdir faulthandler putenv unsetenv set_int_max_str_digits setswitchinterval
    seteuid setegid setreuid setregid setresuid setresgid setgroups initgroups umask pthread_getcpuclockid clock_settime settimeofday crash segfault string_at memmove memset cast PyObj_FromPtr""".split()
)
PLAIN = (
    "", "1", "1.5", "'a'", "b'a'", "[1, 2]", "(1, 2)", "{'a': 1}", "1, 2", "1.5, 2.5", "'a', 'b'", "[1, 2], 1", "[2, 1], [1]",
    "[3, 1], 2", "'%Y'", "b'abcd'", "'a', 'abc'", "lambda: 1", "lambda a: a, [1, 2]", "lambda a, b: a + b, [1, 2]", "int",
    "int, [1, 2]", "'math'", "'/'", "'/tmp', 'a'", "object()", "f", "torch.float32", "(2, 3)", "2, 3", "3, 1, 5", "[1.0, 2.0]",
    "[0.5], [1.0]", "'i', 1", "'i', b'abcd'", "True", "None", "0", "0, 10", "5, (2,)", "[1, 2], 2", "['a', 'b'], 'c'", "dict, {}",
)  # fmt: skip
TENSOR = (
    "x", "x, x", "x, 1", "xi", "xi, xi", "x, 0, xi", "x, xi", "[x, x]", "x, 0", "x, (2, 2)", "x, -1, 1", "m", "m, m", "x, x, x",
    "x, 2.0", "xi, 3", "x, x > 0", "x > 0", "x, x > 0, 0.0", "x, [2, 2]", "m, 1", "m, m, m", "m, m, [0], [0]", "x, 0, xi, x", "b",
    "b, b, b", "x, 'sum'", "b, b", "x, None", "m, 0, 0", "m, (1, 0)", "x, 1, 0", "m, m[0]", "m[0], m[0]", "xi, m", "b, m[None]",
)  # fmt: skip
CONTEXTS = (
    "torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()", "torch.set_grad_enabled(False)",
    "torch.autocast('cpu')", "torch.amp.autocast('cpu')", "torch.device('cpu')", "torch.random.fork_rng()",
    "torch.autograd.detect_anomaly(check_nan=False)", "torch.autograd.set_detect_anomaly(False)",
    "torch.profiler.record_function('a')", "torch.autograd.profiler.record_function('a')", "torch.profiler.profile()",
    "torch.autograd.graph.save_on_cpu()", "torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)",
    "torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)", "torch.backends.cudnn.flags(enabled=True)",
    "torch.autograd.profiler.profile()", "torch.jit.optimized_execution(False)", "torch.utils._python_dispatch._disable_current_modes()",
    "contextlib.nullcontext()", "contextlib.suppress(ValueError)", "contextlib.ExitStack()", "contextlib.redirect_stdout(io.StringIO())",
    "contextlib.closing(io.StringIO())", "threading.Lock()", "threading.RLock()", "threading.Semaphore()", "open('/dev/null')",
    "warnings.catch_warnings()", "tempfile.TemporaryDirectory()", "tempfile.NamedTemporaryFile()",
    "concurrent.futures.ThreadPoolExecutor(1)", "decimal.localcontext()", "io.StringIO()", "numpy.errstate(all='ignore')",
    "torch.autograd.forward_ad.dual_level()", "torch.func.functional_call", "torch.cpu.amp.autocast()", "torch.nn.utils.parametrize.cached()",
)  # fmt: skip


class Expired(BaseException):
    """A callable took too long."""


def _expire(*_: Any) -> None:
    raise Expired


def attempts(name: str) -> Iterator[tuple[str, str]]:
    """Kinds and texts of arguments to try."""
    for text in PLAIN:
        yield "plain", text
    for text in TENSOR:
        yield "tensor", text


class Laboratory:
    """Calls one expression in eager Python, then under Dynamo."""

    def __init__(self, folder: Path, imports: str) -> None:
        import torch  # noqa: PLC0415

        sys.path.insert(0, str(ROOT))
        from compile_probe.observe import observe_calls  # noqa: PLC0415

        self.torch, self.observe_calls = torch, observe_calls
        self.folder, self.imports, self.count = folder, imports, 0

    def inputs(self) -> tuple[Any, ...]:
        torch = self.torch
        torch.manual_seed(0)
        return torch.rand(4) + 0.5, torch.tensor([0, 1, 2, 1]), torch.eye(2) + 1, torch.rand(1, 2, 2)

    def function(self, statements: str) -> Any:
        self.count += 1
        path = self.folder / f"case_{self.count}.py"
        path.write_text(
            f"import torch, numpy, io\n{self.imports}\ndef f(x, xi, m, b):\n    y = x + 1\n{statements}\n    return y * 2\n",
            encoding="utf-8",
        )
        spec = importlib.util.spec_from_file_location(f"case_{self.count}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f

    def try_eager(self, function: Any) -> bool:
        signal.alarm(3)
        try:
            with self.torch.no_grad():
                function(*self.inputs())
        except (Exception, SystemExit, Expired):
            return False
        finally:
            signal.alarm(0)
        return True

    def fact(self, function: Any) -> str | None:
        """``""`` when traced, the type of the innermost break, or ``None`` when it cannot be told."""
        signal.alarm(20)
        try:
            seen = self.observe_calls(function, [(self.inputs(), {}), (self.inputs(), {})])
        except (Exception, Expired):
            return None
        finally:
            signal.alarm(0)
        own = [b for b in seen.breaks if any(frame.file.startswith(str(self.folder)) for frame in b.stack)]
        if own:
            return ("!" if own[0].frame_skipped else "") + str(own[0].gb_type)
        return "" if seen.graphs and seen.error is None else None


def callables(module: Any, name: str) -> list[str]:
    found = []
    for member in sorted(dir(module)):
        if member.startswith("_") or member in DANGEROUS:
            continue
        value = getattr(module, member, None)
        own = getattr(value, "__module__", None)
        elsewhere = inspect.ismodule(value) or (inspect.isclass(value) and name.startswith("torch"))
        if not callable(value) or elsewhere:
            continue
        if name.startswith("torch") and isinstance(own, str) and not own.startswith(("torch", "_")):
            continue
        found.append(member)
        if inspect.isclass(value) and own == name:
            kinds = (classmethod, staticmethod, type(vars(dict)["fromkeys"]))
            makers = [m for m in vars(value) if isinstance(inspect.getattr_static(value, m), kinds)]
            found += [f"{member}.{m}" for m in sorted(makers) if not m.startswith("_") and m not in DANGEROUS]
    return found


def explore(name: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """(section, key, fact) for one module, or one of the member groups."""
    imports = "" if name in MEMBERS else f"import {name}"
    if name == "contexts":
        imports = "import contextlib, threading, warnings, tempfile, concurrent.futures, decimal, torch.nn.attention"
    lab = Laboratory(folder, imports)
    if name == "contexts":
        for text in CONTEXTS:
            function = lab.function(f"    with {text}:\n        y = y * 3")
            if lab.try_eager(function):
                fact = lab.fact(function)
                if fact is not None:
                    yield "contexts", text.partition("(")[0], fact
        return
    if name in MEMBERS:
        owner = lab.torch.Tensor if name.startswith("Tensor") else importlib.import_module("numpy").ndarray
        receiver = "x" if name.startswith("Tensor") else "x.numpy()"
        for member in sorted(dir(owner)):
            if member.startswith("_") or member in DANGEROUS:
                continue
            if name.endswith("attributes"):
                if not callable(getattr(owner, member, None)):
                    yield from first_fact(lab, "attributes", member, [("plain", f"    r = x.{member}")])
                continue
            if callable(getattr(owner, member, None)):
                cases = [(k, f"    r = {receiver}.{member}({text})") for k, text in attempts(member)]
                section = "methods" if name.startswith("Tensor") else "ndarray"
                yield from first_fact(lab, section, member, cases)
        return
    module = importlib.import_module(name)
    for member in callables(module, name):
        path = member if name == "builtins" else f"{name}.{member}"
        cases = [(kind, f"    r = {path}({text})") for kind, text in attempts(member)]
        yield from first_fact(lab, "functions", path, cases)


def first_fact(lab: Laboratory, section: str, key: str, cases: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Facts for the first arguments of each kind that eager Python accepts."""
    done: set[str] = set()
    for kind, statement in cases:
        if kind in done:
            continue
        try:
            function = lab.function(statement)
        except (Exception, SystemExit):
            continue
        if not lab.try_eager(function):
            continue
        fact = lab.fact(function)
        if fact is not None:
            done.add(kind)
            yield section, f"{key}:{kind}", fact


def run_module(name: str) -> None:
    signal.signal(signal.SIGALRM, _expire)
    warnings.simplefilter("ignore")
    output = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for section, key, fact in explore(name, Path(folder).resolve()):
            output.write(json.dumps([section, key, fact]) + "\n")
            output.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module")
    parser.add_argument("--only", default="", help="comma-separated modules to explore anew; the rest is kept")
    options = parser.parse_args()
    if options.module:
        run_module(options.module)
        return
    import torch  # noqa: PLC0415

    names = options.only.split(",") if options.only else [*MEMBERS, *TORCH, *NUMPY, *STDLIB]
    table: dict[str, Any] = json.loads(TABLE.read_text("utf-8")) if options.only else {}
    table["torch"] = torch.__version__.split("+")[0]
    for name in names:
        command = [sys.executable, __file__, "--module", name]
        run = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            text, _ = run.communicate(timeout=420)
        except subprocess.TimeoutExpired:
            run.kill()
            text, _ = run.communicate()
        lines = [json.loads(line) for line in text.splitlines()]
        for section, key, fact in lines:
            table.setdefault(section, {})[key] = fact
        print(f"{name}: {len(lines)} facts, exit {run.returncode}", flush=True)
        TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
