"""CL602: a number read out of a tensor in code that is captured as a device graph."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.operations import Call, MethodCall, Operation
from ..semantics.values import Tensor
from .contract_shape_branch import HEADER
from .rule import Context, Example, Hit, Rule, Text


class ContractScalarRead(Rule):
    """``.item()`` and its like wait for the device, in code that is to be captured and replayed."""

    code = "CL602"
    name = "contract-scalar-read"
    effect = "contract"
    summary = Text("number read out of a tensor in a captured graph", "在被捕获的图中读取张量数值")
    explanation = """\
vLLM compiles with `fullgraph=True`, where Dynamo puts `.item()` into the graph instead of breaking it. The graph is
then captured as a CUDA graph or ACL graph, and a capture forbids to wait for the device: the engine refuses to start
(107027 on an NPU, `cudaErrorStreamCaptureUnsupported` on CUDA), or the number of the first call is replayed for ever.

Keep the value a tensor, or compute it on the host before the model is called.
"""
    operations = (MethodCall, Call)
    invalid = (
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor):
        return x * x.sum().item()

def assertion(captured_operations):
    block = Block()
    block(torch.ones(8, 4))
    assert block.captured_names() & {"item", "_local_scalar_dense"}, "a wait for the device is in the graph"
""",
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor):
        return x * x.sum()

def assertion(captured_operations):
    block = Block()
    block(torch.ones(8, 4))
    assert not block.captured_names() & {"item", "_local_scalar_dense"}
""",
        ),
        Example(
            HEADER
            + """
@support_torch_compile
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor, lengths: torch.Tensor):
        return x * int(lengths[0])

def assertion(captured_operations):
    block = Block()
    block(torch.ones(8, 4), torch.tensor([3, 4]))
    assert block.captured_names() & {"item", "_local_scalar_dense"}, "a wait for the device is in the graph"
"""
        ),
    )

    def check(self, operation: Operation, context: Context) -> Iterator[Hit]:
        if context.contract is None:
            return
        if isinstance(operation, MethodCall):
            reads = operation.method == "item" and isinstance(operation.receiver, Tensor)
        elif isinstance(operation, Call):
            numbers = operation.name in ("int", "float") and len(operation.arguments) == 1
            reads = numbers and isinstance(operation.arguments[0], Tensor)
        else:
            return
        if reads:
            yield Hit(
                operation.node,
                Text(
                    "waits for the device in code that vLLM captures as a graph: the capture is refused",
                    "在 vLLM 捕获为图的代码中等待设备：捕获会被拒绝",
                ),
                Text("keep it a tensor, or compute it before the call", "保持为张量，或在调用前计算"),
                (),
                operation.sure,
            )
