"""CL608: a model class for vLLM without the decorator."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..semantics.contracts import is_contract_decorator
from ..semantics.values import Class, External, Function
from .contract_shape_branch import HEADER
from .rule import Context, Example, FileView, Hit, Rule, Text

_TASKS = ("ForCausalLM", "ForConditionalGeneration")


class ContractUndecorated(Rule):
    """The model of a ``...ForCausalLM`` is not decorated: vLLM runs it eagerly and says nothing."""

    code = "CL608"
    name = "contract-undecorated"
    effect = "contract"
    summary = Text("vLLM model class without the decorator", "未加装饰器的 vLLM 模型类")
    explanation = """\
vLLM compiles the classes that carry `@support_torch_compile`, no others. A model class without it runs eagerly: no
compilation, no piecewise graphs, and no message. The decorator stands on the class with the layers (`...Model`), not on
`...ForCausalLM`.
"""
    operations = ()
    invalid = (
        Example(
            HEADER
            + """
class ToyModel(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor):
        for layer in self.layers:
            input_ids = layer(input_ids)
        return input_ids

class ToyForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = ToyModel(vllm_config=vllm_config, prefix=prefix)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor):
        return self.model(input_ids, positions)

def assertion(captured_operations):
    model = ToyForCausalLM(vllm_config=None)
    assert captured_operations(model, torch.ones(8, 4), torch.ones(8)) == 0, "nothing is compiled"
""",
            HEADER
            + """
@support_torch_compile
class ToyModel(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor):
        for layer in self.layers:
            input_ids = layer(input_ids)
        return input_ids

class ToyForCausalLM(nn.Module):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__()
        self.model = ToyModel(vllm_config=vllm_config, prefix=prefix)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor):
        return self.model(input_ids, positions)

def assertion(captured_operations):
    model = ToyForCausalLM(vllm_config=None)
    assert captured_operations(model, torch.ones(8, 4), torch.ones(8)) == 2
""",
        ),
    )

    def check_file(self, view: FileView, context: Context) -> Iterator[Hit]:
        classes = view.interpreter.classes
        models = {cls.qualified_name: cls for cls in classes if _is_model(cls)}
        decorated = [cls for cls in classes if _is_decorated(view, cls)]
        for task in classes:
            if not task.qualified_name.endswith(_TASKS):
                continue
            for cls in models.values():
                if cls in decorated or not _builds(task, cls.qualified_name):
                    continue
                if any(base in decorated or _may_be_decorated(base) for base in cls.lineage()[1:]):
                    continue
                yield Hit(
                    cls.node.name,
                    Text(
                        f"`{cls.qualified_name}` has no `@support_torch_compile`: vLLM runs it eagerly, unsaid",
                        f"`{cls.qualified_name}` 没有 `@support_torch_compile`：vLLM 会静默地以 eager 方式运行",
                    ),
                    Text("decorate it", "为其添加装饰器"),
                )


def _is_model(cls: Class) -> bool:
    """Is it the class with the layers: built from the configuration, called with token ids and positions?"""
    forward, init = cls.members.get("forward"), cls.members.get("__init__")
    if not cls.is_module or not isinstance(forward, Function) or not isinstance(init, Function):
        return False
    taken = {parameter.name.value for parameter in forward.node.params.params}
    made = {p.name.value for p in [*init.node.params.params, *init.node.params.kwonly_params]}
    layers = _Layers()
    init.node.visit(layers)
    return {"input_ids", "positions"} <= taken and "vllm_config" in made and layers.found


def _is_decorated(view: FileView, cls: Class) -> bool:
    scope = view.interpreter.module.scope
    names = (view.interpreter.decorator_name(scope, decorator) for decorator in cls.node.decorators)
    return any(is_contract_decorator(name) or name.endswith("ignore_torch_compile") for name in names)


def _may_be_decorated(base: object) -> bool:
    """A base class from elsewhere that is no plain module may bring the decorator along."""
    if not isinstance(base, External):
        return False
    return not (base.name.startswith("torch.nn.") or base.name.rpartition(".")[2].startswith(("Supports", "Mixture")))


def _builds(task: Class, name: str) -> bool:
    """Does the constructor of a task's class name the class of the model?"""
    init = task.members.get("__init__")
    if not isinstance(init, Function):
        return False
    visitor = _Names(name)
    init.node.visit(visitor)
    return visitor.found


class _Names(cst.CSTVisitor):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.found = False

    def visit_Name(self, node: cst.Name) -> None:
        self.found |= node.value == self.name


class _Layers(cst.CSTVisitor):
    """Is ``self.layers`` assigned?"""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        targets = node.target.elements if isinstance(node.target, cst.Tuple) else ()
        for target in (node.target, *(element.value for element in targets)):
            self.found |= isinstance(target, cst.Attribute) and target.attr.value == "layers"
