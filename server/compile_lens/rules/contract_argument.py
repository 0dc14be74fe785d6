"""CL605: an argument that is None at one call and a tensor at another, where guards are dropped."""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics.contracts import contract_of
from ..semantics.values import NONE, Class, Function, Value
from .contract_shape_branch import HEADER
from .rule import Context, Example, FileView, Hit, Rule, Text

_PROVIDERS = ("probe_inputs", "get_example_inputs", "inputs")


class ContractArgument(Rule):
    """The example calls of the file give an argument of a decorated class once, and leave it ``None`` another time."""

    code = "CL605"
    name = "contract-argument"
    effect = "wrong-result"
    summary = Text("argument that is None at some calls only", "有时为 None 的参数")
    explanation = """\
Whether an argument is `None` is decided when `forward` is compiled, at its first call. Guards are dropped: an argument
that was `None` then is ignored ever after, and one that was not is taken for a tensor.

Always pass a tensor (an empty or neutral one), or make two classes.
"""
    operations = ()
    invalid = (
        Example(
            HEADER
            + """
@support_torch_compile(dynamic_arg_dims={"x": 0})
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor, bias: torch.Tensor | None = None):
        return x if bias is None else x + bias

def inputs():
    return [(torch.ones(8, 4), None), (torch.ones(8, 4), torch.ones(4))]

def assertion(captured_operations):
    block = Block()
    first, second = (block(*arguments) for arguments in inputs())
    assert float(second.max()) == 1.0, "eager gives 2"
""",
            HEADER
            + """
@support_torch_compile(dynamic_arg_dims={"x": 0})
class Block(nn.Module):
    def __init__(self, *, vllm_config=None, prefix=""):
        super().__init__()

    def forward(self, x: torch.Tensor, bias: torch.Tensor):
        return x + bias

def inputs():
    return [(torch.ones(8, 4), torch.zeros(4)), (torch.ones(8, 4), torch.ones(4))]

def assertion(captured_operations):
    block = Block()
    first, second = (block(*arguments) for arguments in inputs())
    assert float(second.max()) == 2.0
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        for site in view.interpreter.module.sites:
            forward = site.target.find("forward") if isinstance(site.target, Class) else None
            if contract_of(site) is None or not isinstance(forward, Function):
                continue
            for provider in _PROVIDERS:
                calls = view.interpreter.example_calls(provider) or []
                for index, parameter in enumerate(forward.node.params.params[1:]):
                    given = [call.positional[index] for call in calls if len(call.positional) > index]
                    if _sometimes_none(given):
                        name = parameter.name.value
                        yield Hit(
                            parameter.name,
                            Text(
                                f"`{name}` is None at some calls only, and the first call decides for all: vLLM drops "
                                "the guards, so the result is silently wrong",
                                f"`{name}` 仅在部分调用中为 None，而首次调用决定一切：vLLM 丢弃守卫，结果会悄悄出错",
                            ),
                            Text("always pass a tensor", "始终传入张量"),
                        )


def _sometimes_none(values: list[Value]) -> bool:
    absent = [value for value in values if value == NONE]
    return bool(absent) and len(absent) < len(values)
