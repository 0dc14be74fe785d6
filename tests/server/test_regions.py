"""What counts as compiled: every form of ``torch.compile``, what it reaches, and what is cut off."""

from __future__ import annotations

import ast

import pytest
from compile_lens.findings.finding import Analysis
from compile_lens.findings.scan import Options, scan
from compile_lens.text.source import Source

FUNCTION = "def f(x):\n    return x * x.sum().item()\n"
NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x) * x.sum().item()

    def step(self, x):
        return self.forward(x)
"""
HEAD = "import torch\nfrom torch import nn\n\n\n"


def analysed(text: str, scope: str = "regions") -> Analysis:
    ast.parse(text)
    analysis = scan(Source("m.py", text), Options(scope=scope))
    assert analysis.error is None, analysis.error
    return analysis


def found(text: str, scope: str = "regions") -> list[str]:
    return [finding.code for finding in analysed(text, scope).findings]


# --- forms ---

FORMS = {
    "module": HEAD + NET + "\nnet = torch.compile(Net())\n",
    "module by name": HEAD + NET + "\nnet = Net()\nnet = torch.compile(net)\n",
    "module by keyword": HEAD + NET + "\nnet = torch.compile(model=Net(), mode='default')\n",
    "method of a module": HEAD + NET + "\nnet = Net()\nnet.compile()\n",
    "method with arguments": HEAD + NET + "\nnet = Net()\nnet.compile(mode='max-autotune', fullgraph=False)\n",
    "bound method": HEAD + NET + "\nnet = Net()\nstep = torch.compile(net.step)\n",
    "bound forward": HEAD + NET + "\nnet = Net()\nnet.forward = torch.compile(net.forward)\n",
    "function": HEAD + FUNCTION + "\ng = torch.compile(f)\n",
    "function with arguments": HEAD + FUNCTION + "\ng = torch.compile(f, backend='eager', dynamic=True)\n",
    "called at once": HEAD + FUNCTION + "\ny = torch.compile(f)(torch.ones(4))\n",
    "decorator": HEAD + "@torch.compile\n" + FUNCTION,
    "decorator called": HEAD + "@torch.compile()\n" + FUNCTION,
    "decorator with arguments": HEAD + "@torch.compile(mode='reduce-overhead')\n" + FUNCTION,
    "decorator on forward": HEAD + NET.replace("    def forward", "    @torch.compile\n    def forward"),
    "decorator on a method": HEAD + NET.replace("    def step", "    @torch.compile\n    def step"),
    "decorator on a class": HEAD + "@torch.compile\n" + NET + "\nnet = Net()\n",
    "imported name": "from torch import compile, nn\n\n" + FUNCTION + "\ng = compile(f)\n",
    "imported as": "from torch import compile as tc\n\n@tc(mode='default')\n" + FUNCTION,
    "module imported as": "import torch as t\n\n" + FUNCTION + "\ng = t.compile(f)\n",
    "dynamo optimize": HEAD + "import torch._dynamo as dynamo\n\n@dynamo.optimize('eager')\n" + FUNCTION,
    "compiler module": HEAD + "@torch.compiler.compile\n" + FUNCTION,
    "lambda": HEAD + "g = torch.compile(lambda x: x * x.sum().item())\n",
    "partial": HEAD + "from functools import partial\n\n" + FUNCTION + "\ng = torch.compile(partial(f))\n",
    "partial of compile": HEAD
    + "from functools import partial\n\nfast = partial(torch.compile, mode='default')\n\n@fast\n"
    + FUNCTION,
    "in a function": HEAD + NET + "\ndef main():\n    net = Net()\n    net = torch.compile(net)\n    return net\n",
    "attribute": HEAD
    + NET
    + "\nclass Trainer:\n    def __init__(self):\n        self.net = Net()\n        self.net.compile()\n",
    "conditional": HEAD + NET + "\nFAST = True\nnet = Net()\nif FAST:\n    net = torch.compile(net)\n",
    "in a list": HEAD + NET + "\nnets = [torch.compile(Net()) for _ in range(2)]\n",
    "moved": HEAD + NET + "\nnet = torch.compile(Net().to('cpu').eval())\n",
    "submodule": HEAD
    + NET
    + "\nclass Outer(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = Net()\n\n"
    + "    def forward(self, x):\n        return self.inner(x)\n\nnet = torch.compile(Outer())\n",
    "helper": HEAD + FUNCTION + "\n@torch.compile\ndef g(x):\n    return f(x)\n",
    "sequential": HEAD + NET + "\nnet = torch.compile(nn.Sequential(Net(), nn.ReLU()))\n",
}
NO_FORM = {"compiler module"}
"""Does not exist in torch; it must be quiet."""


@pytest.mark.parametrize("form", sorted(FORMS.keys() - NO_FORM))
def test_forms(form: str) -> None:
    assert found(FORMS[form]).count("CL102") == 1
    sites = analysed(FORMS[form]).sites
    assert [site.state for site in sites] == ["traced"], sites
    assert sites[0].functions >= 1


@pytest.mark.parametrize("form", sorted(NO_FORM))
def test_what_is_no_form_is_quiet(form: str) -> None:
    assert found(FORMS[form]) == []


@pytest.mark.parametrize(
    "text",
    [
        HEAD + NET + "\nnet = Net()\n",
        HEAD + FUNCTION,
        "import re\nimport torch\n\n" + FUNCTION + "\npattern = re.compile('f')\n",
        "import torch\n\ndef compile(g):\n    return g\n\n" + FUNCTION + "\ng = compile(f)\n",
        "import torch\n\ncode = compile('x', 'f', 'exec')\n\n" + FUNCTION,
        HEAD + FUNCTION + "\nx = torch.ones(4)\nprint(f(x))\nif x.sum() > 0:\n    print(x.item())\n",
        HEAD + NET + "\nnet = torch.jit.script(Net())\n",
    ],
    ids=["module", "function", "re", "own compile", "builtin", "script", "jit"],
)
def test_nothing_is_flagged_where_nothing_is_compiled(text: str) -> None:
    assert found(text) == []


def test_code_beside_a_region_is_quiet() -> None:
    text = HEAD + "@torch.compile\ndef g(x):\n    return x * 2\n\n\n" + FUNCTION + "\nprint(f(g(torch.ones(4))))\n"
    assert found(text) == []


def test_candidates_are_asked_for() -> None:
    text = HEAD + NET + "\nnet = Net()\n"
    assert found(text) == []
    assert "CL102" in found(text, "candidates")
    findings = [f for f in analysed(text, "candidates").findings if f.code == "CL102"]
    assert [f.certainty for f in findings] == ["candidate"]
    assert not any(f.counts for f in analysed(text, "candidates").findings)


# --- sites that are not followed ---


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "from models import build\n\nnet = torch.compile(build('x'))\n",
        HEAD + "import models\n\nnet = models.Net()\nnet.compile()\n",
        HEAD + "def wrap(model):\n    return torch.compile(model)\n",
        HEAD + "from transformers import AutoModel\n\nnet = torch.compile(AutoModel.from_pretrained('bert'))\n",
        HEAD + "MODELS = {}\n\ndef build(name):\n    return torch.compile(MODELS[name]())\n",
    ],
    ids=["factory", "method", "parameter", "pretrained", "registry"],
)
def test_unresolved_sites_say_why(text: str) -> None:
    sites = analysed(text).sites
    assert [site.state for site in sites] == ["unresolved"], sites
    assert len(sites[0].reason.split()) > 4
    assert "compile" in Source("m.py", text).between(sites[0].range)


def test_a_module_of_torch_is_compiled_without_a_word() -> None:
    analysis = analysed(HEAD + "net = torch.compile(nn.Linear(4, 4))\n")
    assert analysis.findings == ()


# --- what is cut off ---


@pytest.mark.parametrize(
    "decorator",
    [
        "@torch.compiler.disable",
        "@torch.compiler.disable()",
        "@torch._dynamo.disable",
        "@torch.compiler.allow_in_graph",
    ],
)
def test_disabled_functions_are_not_entered(decorator: str) -> None:
    text = f"{HEAD}{decorator}\n{FUNCTION}\n@torch.compile\ndef g(x):\n    return f(x)\n"
    assert "CL102" not in found(text)


@pytest.mark.parametrize("function", ["disable", "allow_in_graph"])
def test_disabled_by_a_call(function: str) -> None:
    text = f"{HEAD}{FUNCTION}\nh = torch.compiler.{function}(f)\n\n@torch.compile\ndef g(x):\n    return h(x)\n"
    assert "CL102" not in found(text)


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("    if not torch.compiler.is_compiling():\n        print(x)\n", []),
        ("    if torch.compiler.is_compiling():\n        pass\n    else:\n        print(x)\n", []),
        ("    if not torch.compiler.is_dynamo_compiling():\n        print(x)\n", []),
        ("    if torch._dynamo.is_compiling():\n        return x\n    print(x)\n", []),
        ("    if torch.compiler.is_compiling():\n        print(x)\n", ["CL104"]),
        ("    if torch.compiler.is_compiling() and x.shape[0] > 1:\n        return x\n    print(x)\n", ["CL104"]),
        ("    y = 1 if torch.compiler.is_compiling() else x.sum().item()\n", []),
        ("    if not torch.compiler.is_compiling() and x.sum() > 0:\n        print(x)\n", []),
    ],
)
def test_branches_on_compiling(body: str, codes: list[str]) -> None:
    assert found(f"import torch\n\n@torch.compile\ndef f(x):\n{body}    return x\n") == codes


def test_shapes_and_dtypes_are_no_data() -> None:
    body = "    if x.shape[0] > 1 and x.dtype == torch.float32 and x.dim() == 2 and not x.is_cuda:\n        x = x + 1\n"
    assert found(f"import torch\n\n@torch.compile\ndef f(x):\n{body}    return x\n") == []


@pytest.mark.parametrize(
    ("site", "wanted"),
    [
        ("net = Outer()\nfor layer in net.layers:\n    layer.compile()\n", "is not compiled as a whole in this file"),
        ("inner = Net()\ninner.compile()\nnet = Outer()\n", "is not compiled as a whole in this file"),
        ("net = Outer()\n", "is not compiled in this file"),
        ("net = torch.compile(Outer())\n", ""),
    ],
    ids=["layer by layer", "inner", "nothing", "whole"],
)
def test_a_module_whose_layers_are_compiled_is_not_called_uncompiled(site: str, wanted: str) -> None:
    outer = (
        "\n\nclass Outer(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = nn.ModuleList([Net(), Net()])\n\n    def forward(self, x):\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n\n"
    )
    text = HEAD + NET + outer + site
    said = [f.message for f in analysed(text, "candidates").findings if f.code == "CL901" and "Outer" in f.message]
    assert [message.split("; ")[0] for message in said] == (
        [f"`Outer` {wanted}" + (", only modules inside it are" if "whole" in wanted else "")] if wanted else []
    )
