"""Functions that write or wait for a person: what Dynamo does with each, and a call that proves it.

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

UNTRIED: dict[str, tuple[str, str]] = {
    "input": (UNTRACEABLE_BUILTIN, "input('')"),
    "breakpoint": (UNTRACEABLE_BUILTIN, "breakpoint()"),
    "exec": (UNTRACEABLE_BUILTIN, "exec('z = 3')"),
    "pdb.set_trace": (SKIPPED_FUNCTION, "pdb.set_trace()"),
    "subprocess.run": (SKIPPED_FUNCTION, "subprocess.run(['true'])"),
    "subprocess.check_output": (SKIPPED_FUNCTION, "subprocess.check_output(['true'])"),
    "tqdm.tqdm": (SKIPPED_FUNCTION, "tqdm.tqdm([1], disable=True)"),
    "time.time": (SKIPPED_FUNCTION, "time.time()"),
    "time.sleep": (SKIPPED_FUNCTION, "time.sleep(0)"),
}
"""Functions of the host that the generator of `dynamo_facts` must not call with arguments of its own choice."""

LOGGER_METHODS = frozenset("debug info warning warn error critical exception log".split())
"""Methods of ``logging.Logger`` that break."""
