"""CL604: a tensor of the module that is replaced in captured code."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import AttributeStore, Operation
from ..semantics.values import Instance, Tensor
from .contract_shape_branch import HEADER
from .rule import Context, Example, Hit, Rule, Text


class ContractBuffer(Rule):
    """``self.buffer = ...`` in ``forward``: a captured graph goes on reading the old memory."""

    code = "CL604"
    name = "contract-buffer"
    effect = "contract"
    summary = Text("buffer replaced in a captured graph", "在被捕获的图中替换 buffer")
    explanation = """\
A captured graph reads and writes the memory that it was captured with. A buffer that `forward` replaces is another
memory at the next call; vLLM looks for that in the code that Dynamo made and refuses to start ("Assigning / modifying
buffers of nn.Module during forward pass is not allowed").

Write into the buffer: `self.cache.copy_(new)`, or `self.cache[:n] = new`.
"""
    operations = (AttributeStore,)
    invalid = (
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x: torch.Tensor):
        self.last = x.sum(0)
        return x + self.last

def assertion(captured_operations):
    try:
        Block()(torch.ones(8, 4))
    except RuntimeError as error:
        assert "buffers" in str(error)
    else:
        raise AssertionError("it was not refused")
""",
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x: torch.Tensor):
        self.last.copy_(x.sum(0))
        return x + self.last

def assertion(captured_operations):
    block = Block()
    for rows in (8, 2):
        assert float(block(torch.ones(rows, 4)).max()) == rows + 1
""",
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.contract is None or not isinstance(operation, AttributeStore) or operation.augmented:
            return
        receiver = operation.receiver
        held = isinstance(receiver, Instance) and not receiver.local and receiver.is_module
        if held and isinstance(operation.old, Tensor) and isinstance(operation.value, Tensor):
            yield Hit(
                operation.node,
                Text(
                    f"`self.{operation.name}` is replaced in code that vLLM captures as a graph: it refuses to start",
                    f"在 vLLM 捕获为图的代码中替换 `self.{operation.name}`：引擎会拒绝启动",
                ),
                Text(
                    f"write into it: `self.{operation.name}.copy_(...)`",
                    f"改为原地写入：`self.{operation.name}.copy_(...)`",
                ),
                (),
                operation.sure,
            )
