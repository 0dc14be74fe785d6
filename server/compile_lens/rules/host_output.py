"""CL104: printing, logging and warning in traced code."""

from __future__ import annotations

from collections.abc import Iterator

from ..fixes.edit import Fix
from ..fixes.guard import skip_while_compiling
from ..knowledge.skipped import LOGGER_METHOD, LOGGER_METHODS, OUTPUT
from ..semantics.operations import Call, MethodCall, Operation
from ..semantics.values import Instance
from .rule import Context, Example, Hit, Place, Rule, Text

_REMEDY = Text(
    "guard it with `if not torch.compiler.is_compiling()` or move it out",
    "用 `if not torch.compiler.is_compiling()` 保护或移出",
)


class HostOutput(Rule):
    """Something is printed, logged or warned of while tracing."""

    code = "CL104"
    name = "host-output"
    effect = "graph-break"
    summary = Text("print, logging or warning in traced code", "被追踪代码中的 print、日志或警告")
    explanation = """\
`print`, `warnings.warn` and the methods of a logger write for a person to read; a graph cannot do that. The graph
ends before the call, Python makes it, and a second graph continues.

Move the call out of the compiled function, or keep it for eager runs only:

```python
if not torch.compiler.is_compiling():
    print(x.shape)
```
"""
    operations = (Call, MethodCall)
    gb_types = (*sorted({LOGGER_METHOD, *(gb for gb, _ in OUTPUT.values())}),)
    invalid = (
        Example(
            """
import torch

def f(x):
    y = torch.sin(x)
    print("mean", y.shape)  # breaks
    return y * 2

def inputs():
    return [(torch.ones(4),)]
""",
            """
import torch

def f(x):
    y = torch.sin(x)
    if not torch.compiler.is_compiling():
        print("mean", y.shape)
    return y * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import logging
import torch

log = logging.getLogger(__name__)

def f(x):
    log.warning("step")  # breaks
    return x * 2

def inputs():
    return [(torch.ones(4),)]
""",
            """
import logging
import torch

log = logging.getLogger(__name__)

def f(x):
    if not torch.compiler.is_compiling():
        log.warning("step")
    return x * 2

def inputs():
    return [(torch.ones(4),)]
""",
        ),
        Example(
            """
import warnings
import torch

def f(x):
    warnings.warn("careful")  # breaks
    return x * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )
    valid = (
        Example(
            """
import torch

def f(x):
    if not torch.compiler.is_compiling():
        print("eager only", x.sum())
    return x * 2

def inputs():
    return [(torch.ones(4),)]
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if isinstance(operation, Call) and operation.name in OUTPUT:
            gb_type = OUTPUT[operation.name][0]
            yield self._hit(
                operation, f"`{operation.name}` in compiled code", f"编译代码中的 `{operation.name}`", gb_type
            )
        elif (
            isinstance(operation, MethodCall)
            and operation.method in LOGGER_METHODS
            and isinstance(operation.receiver, Instance)
            and operation.receiver.external_class in ("logging.Logger", "logging.getLogger")
        ):
            yield self._hit(
                operation, f"logging (`.{operation.method}`) in compiled code", "编译代码中的日志调用", LOGGER_METHOD
            )

    def _hit(self, operation: Operation, en: str, zh: str, gb_type: str) -> Hit:
        return Hit(operation.node, Text(en, zh), _REMEDY, (gb_type,), operation.sure)

    def fixes(self, place: Place, locale: str) -> list[Fix]:
        return skip_while_compiling(place.module, place.statement, place.hit.node, place.locate, locale)
