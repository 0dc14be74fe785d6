"""Callables that Dynamo does not trace: what it does with each, and a call that proves it.

Every entry is run through the real Dynamo by ``tests/accuracy/test_knowledge.py``: a name stands here because it broke
the graph there, not because somebody believes it does.
"""

from __future__ import annotations

SKIPPED_FUNCTION = "Attempted to call function marked as skipped"
UNTRACEABLE_BUILTIN = "Failed to trace builtin operator"
UNSUPPORTED_METHOD = "Unsupported method call"
PYTHON_TYPE = "Unsupported python_type() call"
LOGGER_METHOD = "logging.Logger method not supported for non-export cases"

OUTPUT: dict[str, tuple[str, str]] = {
    "print": (UNTRACEABLE_BUILTIN, "print('x')"),
    "warnings.warn": (SKIPPED_FUNCTION, "warnings.warn('x')"),
    "warnings.simplefilter": (SKIPPED_FUNCTION, "warnings.simplefilter('default')"),
    "warnings.filterwarnings": (SKIPPED_FUNCTION, "warnings.filterwarnings('default')"),
    "sys.stdout.write": (UNSUPPORTED_METHOD, "sys.stdout.write('')"),
    "sys.stderr.write": (UNSUPPORTED_METHOD, "sys.stderr.write('')"),
    "pprint.pprint": (UNSUPPORTED_METHOD, "pprint.pprint(1)"),
    "logging.info": (PYTHON_TYPE, "logging.info('x')"),
    "logging.debug": (PYTHON_TYPE, "logging.debug('x')"),
    "logging.warning": (PYTHON_TYPE, "logging.warning('x')"),
    "logging.error": (PYTHON_TYPE, "logging.error('x')"),
}
"""Functions that write for a person to read. Name: (type of break, proof)."""

LOGGER_METHODS = frozenset("debug info warning warn error critical exception log".split())
"""Methods of ``logging.Logger`` that break."""

HOST: dict[str, tuple[str, str]] = {
    "time.time": (SKIPPED_FUNCTION, "time.time()"),
    "time.perf_counter": (SKIPPED_FUNCTION, "time.perf_counter()"),
    "time.monotonic": (SKIPPED_FUNCTION, "time.monotonic()"),
    "time.process_time": (SKIPPED_FUNCTION, "time.process_time()"),
    "time.sleep": (SKIPPED_FUNCTION, "time.sleep(0)"),
    "time.strftime": (SKIPPED_FUNCTION, "time.strftime('%Y')"),
    "datetime.datetime.now": (UNSUPPORTED_METHOD, "datetime.datetime.now()"),
    "random.random": (SKIPPED_FUNCTION, "random.random()"),
    "random.choice": (SKIPPED_FUNCTION, "random.choice([1, 2])"),
    "random.choices": (SKIPPED_FUNCTION, "random.choices([1, 2])"),
    "random.sample": (SKIPPED_FUNCTION, "random.sample([1, 2], 1)"),
    "random.shuffle": (SKIPPED_FUNCTION, "random.shuffle([1, 2])"),
    "random.gauss": (SKIPPED_FUNCTION, "random.gauss(0, 1)"),
    "random.seed": (SKIPPED_FUNCTION, "random.seed(0)"),
    "torch.manual_seed": (SKIPPED_FUNCTION, "torch.manual_seed(0)"),
    "torch.get_rng_state": (SKIPPED_FUNCTION, "torch.get_rng_state()"),
    "torch.save": (SKIPPED_FUNCTION, "torch.save({}, '/dev/null')"),
    "os.getpid": (SKIPPED_FUNCTION, "os.getpid()"),
    "os.listdir": (SKIPPED_FUNCTION, "os.listdir('/')"),
    "os.path.exists": (SKIPPED_FUNCTION, "os.path.exists('/')"),
    "os.path.isfile": (SKIPPED_FUNCTION, "os.path.isfile('/')"),
    "os.makedirs": (SKIPPED_FUNCTION, "os.makedirs('/tmp', exist_ok=True)"),
    "os.system": (SKIPPED_FUNCTION, "os.system('true')"),
    "subprocess.run": (SKIPPED_FUNCTION, "subprocess.run(['true'])"),
    "threading.get_ident": (SKIPPED_FUNCTION, "threading.get_ident()"),
    "importlib.import_module": (SKIPPED_FUNCTION, "importlib.import_module('math')"),
    "inspect.stack": (SKIPPED_FUNCTION, "inspect.stack()"),
    "sys.getrefcount": (SKIPPED_FUNCTION, "sys.getrefcount(x)"),
    "hashlib.md5": (SKIPPED_FUNCTION, "hashlib.md5(b'a')"),
    "zlib.crc32": (SKIPPED_FUNCTION, "zlib.crc32(b'a')"),
    "heapq.heapify": (SKIPPED_FUNCTION, "heapq.heapify([1])"),
    "heapq.heappop": (SKIPPED_FUNCTION, "heapq.heappop([1])"),
    "heapq.heappush": (SKIPPED_FUNCTION, "heapq.heappush([1], 2)"),
    "bisect.bisect": (SKIPPED_FUNCTION, "bisect.bisect([1, 2], 1)"),
    "pickle.dumps": (SKIPPED_FUNCTION, "pickle.dumps(1)"),
    "json.dumps": (UNSUPPORTED_METHOD, "json.dumps({'a': 1})"),
    "gc.collect": (SKIPPED_FUNCTION, "gc.collect()"),
    "uuid.uuid4": (SKIPPED_FUNCTION, "uuid.uuid4()"),
    "input": (UNTRACEABLE_BUILTIN, "input('')"),
    "breakpoint": (UNTRACEABLE_BUILTIN, "breakpoint()"),
    "exec": (UNTRACEABLE_BUILTIN, "exec('z = 3')"),
    "open": (UNTRACEABLE_BUILTIN, "open('/dev/null')"),
    "pdb.set_trace": (SKIPPED_FUNCTION, "pdb.set_trace()"),
}
"""Functions of the host (clock, files, processes, Python's random numbers). Name: (type of break, proof)."""
