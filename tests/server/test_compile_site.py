"""The compile site itself: what is found, where nothing may be said, and what the fixes write."""

from __future__ import annotations

import ast

import pytest
from compile_lens.findings.finding import Finding
from compile_lens.findings.scan import Options, scan
from compile_lens.fixes.edit import apply
from compile_lens.text.source import Source

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x)

    def embed(self, x):
        return self(x) + 1

    def size(self):
        return 4


def f(x):
    return x * 2


x = torch.ones(2, 4)
"""


def findings(text: str, code: str = "CL4") -> list[Finding]:
    ast.parse(HEAD + text)
    analysis = scan(Source("m.py", HEAD + text), Options(select=(code,)))
    assert analysis.error is None, analysis.error
    return list(analysis.findings)


def codes(text: str) -> list[str]:
    return [finding.code for finding in findings(text)]


def fixed(text: str, number: int = 0) -> str:
    (finding,) = findings(text)
    source = Source("m.py", HEAD + text)
    fix = [fix for fix in finding.fixes if fix.kind != "suppress"][number]
    edits = [(source.offset(e.range.start), source.offset(e.range.end), e.text) for e in fix.edits]
    result = apply(source.text, edits)
    assert result is not None
    ast.parse(result)
    return result[len(HEAD) :] if result.startswith(HEAD) else result


DROPPED = {
    "statement": "net = Net()\ntorch.compile(net)\nnet(x)\n",
    "statement of unknown": "from m import build\nmodel = build()\ntorch.compile(model, mode='max-autotune')\nmodel(x)\n",
    "bound, original called": "net = Net()\nfast = torch.compile(net)\nnet(x)\n",
    "bound in a function": "def main(net):\n    fast = torch.compile(net)\n    return net(x)\n",
    "never used in a function": "def main(net):\n    net = torch.compile(net)\n",
    "only moved": "def main(net):\n    fast = torch.compile(net)\n    fast.to('cpu')\n    fast.eval()\n    return net(x)\n",
    "moved and dropped": "net = Net()\ntorch.compile(net).to('cpu')\nnet(x)\n",
    "loop": "def main(net):\n    for block in net.blocks:\n        block = torch.compile(block)\n",
    "loop at the top": "net = Net()\nfor block in net.children():\n    block = torch.compile(block, dynamic=True)\nnet(x)\n",
    "loop with names": "for name, child in Net().named_children():\n    child = torch.compile(child)\n",
    "self": "class Own(Net):\n    def fast(self):\n        self = torch.compile(self)\n",
    "overwritten": "def main(net):\n    fast = torch.compile(net)\n    fast = net\n    return fast(x)\n",
    "alias": "from torch import compile as tc\nnet = Net()\ntc(net)\nnet(x)\n",
    "partial": "from functools import partial\nspeed = partial(torch.compile, mode='default')\nnet = Net()\nspeed(net)\nnet(x)\n",
    "attribute": "class T:\n    def __init__(self, net):\n        self.net = net\n        torch.compile(self.net)\n\n"
    "    def run(self, x):\n        return self.net(x)\n",
    "unread attribute": "class T:\n    def __init__(self, net):\n        self.net = net\n"
    "        self.fast = torch.compile(self.net)\n\n    def run(self, x):\n        return self.net(x)\n",
    "function": "fast = torch.compile(f)\nf(x)\n",
    "nothing comes back": "net = Net()\nfast = net.compile()\n",
    "forward": "def main(net):\n    torch.compile(net.forward)\n    return net(x)\n",
    "condition": "net = Net()\nif x.shape[0] > 1:\n    torch.compile(net)\nnet(x)\n",
    "main guard": "def main():\n    net = Net()\n    torch.compile(net)\n    net(x)\n\nif __name__ == '__main__':\n    main()\n",
}


@pytest.mark.parametrize("name", DROPPED)
def test_an_unused_result_is_found(name: str) -> None:
    assert codes(DROPPED[name]) == ["CL402"]


USED = {
    "rebound": "net = Net()\nnet = torch.compile(net)\nnet(x)\n",
    "rebound for others": "net = Net()\nnet = torch.compile(net)\n",
    "exported": "fast = torch.compile(f)\n",
    "conditional": "import sys\nnet = Net()\nif sys.argv:\n    net = torch.compile(net)\nnet(x)\n",
    "ternary": "import sys\nnet = Net()\nstep = torch.compile(net) if sys.argv else net\nstep(x)\n",
    "returned": "def build(net):\n    return torch.compile(net)\n",
    "returned later": "def build(net):\n    net = torch.compile(net)\n    net.eval()\n    return net\n",
    "returned in a tuple": "def build(net):\n    fast = torch.compile(net)\n    return net, fast\n",
    "handed on": "def main(net, trainer):\n    fast = torch.compile(net)\n    trainer.fit(fast)\n    net(x)\n",
    "stored": "class T:\n    def __init__(self, net):\n        self.net = torch.compile(net)\n",
    "stored and read": "class T:\n    def __init__(self, net):\n        self.net = net\n"
    "        self.fast = torch.compile(net)\n\n    def run(self, x):\n        return self.fast(x), self.net(x)\n",
    "in a list": "def main(nets):\n    fast = [torch.compile(net) for net in nets]\n    return fast\n",
    "element": "def main(net):\n    for i, b in enumerate(net.blocks):\n        net.blocks[i] = torch.compile(b)\n",
    "set": "def main(net):\n    for n, b in net.named_children():\n        setattr(net, n, torch.compile(b))\n",
    "registered": "def main(net):\n    for n, b in net.named_children():\n"
    "        b = torch.compile(b)\n        net.register_module(n, b)\n",
    "loop variable called": "def main(nets):\n    for net in nets:\n        net = torch.compile(net)\n        net(x)\n",
    "called at once": "net = Net()\ntorch.compile(net)(x)\nnet(x)\n",
    "alias called": "net = Net()\nfast = torch.compile(net)\nstep = fast\nstep(x)\nnet(x)\n",
    "closure": "def main(net):\n    fast = torch.compile(net)\n\n    def step(x):\n        return fast(x)\n\n    return step\n",
    "global": "fast = None\n\ndef setup(net):\n    global fast\n    fast = torch.compile(net)\n",
    "forward of a module": "net = Net()\nnet.forward = torch.compile(net.forward)\nnet(x)\n",
    "walrus": "net = Net()\nif (fast := torch.compile(net)) is not None:\n    fast(x)\n",
    "both": "net = Net()\nfast = torch.compile(net)\nassert torch.equal(net(x), fast(x))\n",
    "raises": "import pytest\nwith pytest.raises(RuntimeError):\n    torch.compile(f, mode='x', options={})\n",
    "locals": "def main(net):\n    fast = torch.compile(net)\n    return locals()\n",
    "decorator": "@torch.compile\ndef g(x):\n    return f(x)\n",
    "try": "def main(net):\n    try:\n        net = torch.compile(net)\n    except Exception:\n        pass\n    return net(x)\n",
    "dict": "def main(net):\n    models = {'a': torch.compile(net)}\n    return models\n",
    "attribute of another": "def main(pipe):\n    pipe.unet = torch.compile(pipe.unet)\n    return pipe(x)\n",
    "yielded": "def main(nets):\n    for net in nets:\n        net = torch.compile(net)\n        yield net\n",
    "generator": "def main(nets):\n    yield from (torch.compile(net) for net in nets)\n",
    "other compile": "import re\nre.compile('x')\n",
    "in place": "net = Net()\nnet.compile()\nnet(x)\n",
    "loop in place": "for block in Net().children():\n    block.compile\n",
}


@pytest.mark.parametrize("name", USED)
def test_a_used_result_is_left_alone(name: str) -> None:
    assert codes(USED[name]) == []


def test_fixes_of_an_unused_result() -> None:
    assert "    net.forward = torch.compile(net.forward)\n" in fixed(DROPPED["forward"])
    assert fixed(DROPPED["statement"]) == "net = Net()\nnet.compile()\nnet(x)\n"
    assert fixed(DROPPED["statement"], 1) == "net = Net()\nnet = torch.compile(net)\nnet(x)\n"
    assert "model = torch.compile(model, mode='max-autotune')\n" in fixed(DROPPED["statement of unknown"])
    assert fixed(DROPPED["bound, original called"]) == "net = Net()\nnet.compile()\nnet(x)\n"
    assert fixed(DROPPED["bound, original called"], 1) == "net = Net()\nfast = torch.compile(net)\nfast(x)\n"
    assert "    block.compile(dynamic=True)\n" in fixed(DROPPED["loop at the top"])
    assert "    child.compile()\n" in fixed(DROPPED["loop with names"])
    assert "        self.compile()\n" in fixed(DROPPED["self"])
    assert fixed(DROPPED["function"]) == "fast = torch.compile(f)\nfast(x)\n"
    assert "net = tc(net)\n" in fixed(DROPPED["alias"])
    layers = "net = nn.Sequential(nn.Linear(4, 4))\ntorch.compile(net)\nnet(x)\n"
    assert "net = torch.compile(net)\nnet(x)\n" in fixed(layers)


METHODS = {
    "method": ("net = torch.compile(Net())\nnet.embed(x)\n", ["CL403"]),
    "generate": (
        "from transformers import AutoModelForCausalLM as A\nm = A.from_pretrained('m')\nm = torch.compile(m)\nm.generate(x)\n",
        ["CL403"],
    ),
    "generate in place": (
        "from transformers import AutoModelForCausalLM as A\nm = A.from_pretrained('m')\nm.compile()\nm.generate(x)\n",
        [],
    ),
    "forward in place": ("net = Net()\nnet.compile()\nnet.forward(x)\n", ["CL403"]),
    "forward of a wrapper": ("net = torch.compile(Net())\nnet.forward(x)\n", []),
    "method in place": ("net = Net()\nnet.compile()\nnet.embed(x)\n", []),
    "method that runs nothing": ("net = torch.compile(Net())\nnet(x)\nnet.size()\n", []),
    "forward before": ("net = Net()\nnet.forward(x)\nnet.compile()\nnet(x)\n", []),
    "compiled method": ("net = Net()\nnet.embed = torch.compile(net.embed)\nnet.embed(x)\n", []),
    "copy": ("import copy\nnet = Net()\nnet.compile()\nema = copy.deepcopy(net)\nema(x)\n", ["CL404"]),
    "copy compiled": ("import copy\nnet = Net()\nnet.compile()\nema = copy.deepcopy(net)\nema.compile()\nema(x)\n", []),
    "copy before": ("import copy\nnet = Net()\nema = copy.deepcopy(net)\nnet.compile()\nema(x)\n", []),
    "copy of a wrapper": ("import copy\nnet = torch.compile(Net())\nema = copy.deepcopy(net)\nema(x)\n", []),
    "layers": ("net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\nnet.compile()\nnet(x)\n", ["CL405"]),
    "container of own": ("net = nn.Sequential(Net(), Net())\nnet.compile()\nnet(x)\n", ["CL405"]),
    "layers wrapped": ("net = torch.compile(nn.Sequential(nn.Linear(4, 4)))\nnet(x)\n", []),
}


@pytest.mark.parametrize("name", METHODS)
def test_calls_that_go_past_what_was_compiled(name: str) -> None:
    text, expected = METHODS[name]
    assert codes(text) == expected


def test_fixes_of_such_calls() -> None:
    assert "net = Net()\nnet.compile()\nnet.embed(x)\n" in fixed(METHODS["method"][0])
    assert "net.compile()\nnet(x)\n" in fixed(METHODS["forward in place"][0])
    assert "ema = copy.deepcopy(net)\nema.compile()\nema(x)\n" in fixed(METHODS["copy"][0])
    assert "net = torch.compile(net)\nnet(x)\n" in fixed(METHODS["layers"][0])


SWITCHES = {
    "config": ("torch._dynamo.config.disable = True\ng = torch.compile(f)\ng(x)\n", ["CL406"]),
    "config imported": (
        "import torch._dynamo as dynamo\ndynamo.config.disable = True\ng = torch.compile(f)\n",
        ["CL406"],
    ),
    "config off": ("torch._dynamo.config.disable = False\ng = torch.compile(f)\n", []),
    "config set back": (
        "torch._dynamo.config.disable = True\ng = torch.compile(f)\ntorch._dynamo.config.disable = False\n",
        [],
    ),
    "config by a flag": (
        "import sys\nif sys.argv:\n    torch._dynamo.config.disable = True\ng = torch.compile(f)\n",
        [],
    ),
    "nothing compiled": ("torch._dynamo.config.disable = True\n", []),
    "environment": ("import os\nos.environ['TORCHDYNAMO_DISABLE'] = '1'\ng = torch.compile(f)\n", ["CL406"]),
    "environment off": ("import os\nos.environ['TORCHDYNAMO_DISABLE'] = '0'\ng = torch.compile(f)\n", []),
    "stance": ("torch.compiler.set_stance('force_eager')\ng = torch.compile(f)\n", ["CL406"]),
    "stance in a block": ("g = torch.compile(f)\nwith torch.compiler.set_stance('force_eager'):\n    g(x)\n", []),
    "stance set back": (
        "torch.compiler.set_stance('force_eager')\ng = torch.compile(f)\ntorch.compiler.set_stance('default')\n",
        [],
    ),
    "argument": ("g = torch.compile(f, disable=True)\n", ["CL406"]),
    "argument by a flag": ("def main(off):\n    return torch.compile(f, disable=off)\n", []),
    "disable around": ("g = torch.compiler.disable(torch.compile(f))\n", ["CL406"]),
    "disable inside": ("g = torch.compile(torch.compiler.disable(f))\n", []),
    "disable above": ("@torch.compiler.disable\n@torch.compile\ndef g(x):\n    return x\n", ["CL406"]),
    "disable below": ("@torch.compile\n@torch.compiler.disable\ndef g(x):\n    return x\n", []),
    "debug backend": ("g = torch.compile(f, backend='eager')\n", ["CL410"]),
    "debug backend among others": ("g = torch.compile(f, backend='eager')\nh = torch.compile(f)\n", []),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_switches(name: str) -> None:
    text, expected = SWITCHES[name]
    assert codes(text) == expected


def test_the_debugging_backend_in_a_test_is_meant() -> None:
    text = HEAD + "g = torch.compile(f, backend='eager')\n"
    assert scan(Source("tests/test_m.py", text), Options(select=("CL410",))).findings == ()
    assert fixed("g = torch.compile(f, fullgraph=True, backend='eager')\n") == "g = torch.compile(f, fullgraph=True)\n"
    assert fixed("g = torch.compile(f, backend='eager', fullgraph=True)\n") == "g = torch.compile(f, fullgraph=True)\n"


ANEW = {
    "called at once": ("for i in range(9):\n    torch.compile(f)(x)\n", True),
    "bound": (
        "def main(net, loader):\n    for x in loader:\n        fast = torch.compile(net)\n        fast(x)\n",
        True,
    ),
    "before the loop": ("fast = torch.compile(f)\nfor i in range(9):\n    fast(x)\n", False),
    "another each time": (
        "def main(nets):\n    for net in nets:\n        fast = torch.compile(net)\n        fast(x)\n",
        False,
    ),
    "another mode": ("for mode in ('default', 'max-autotune'):\n    torch.compile(f, mode=mode)(x)\n", False),
    "made in the loop": ("for i in range(9):\n    net = Net()\n    torch.compile(net)(x)\n", False),
    "once only": (
        "fast = None\nfor i in range(9):\n    if fast is None:\n        fast = torch.compile(f)\n    fast(x)\n",
        False,
    ),
    "reset": ("for i in range(9):\n    torch._dynamo.reset()\n    torch.compile(f)(x)\n", False),
    "stored": (
        "def main(net):\n    for i, b in enumerate(net.blocks):\n        net.blocks[i] = torch.compile(b)\n",
        False,
    ),
}


@pytest.mark.parametrize("name", ANEW)
def test_compiled_anew(name: str) -> None:
    text, expected = ANEW[name]
    assert [finding.code for finding in findings(text, "CL501")] == (["CL501"] if expected else [])


KEYS = {
    "saved": ("net = torch.compile(Net())\ntorch.save(net.state_dict(), 'a.pt')\n", "certain"),
    "saved in a dict": (
        "net = torch.compile(Net())\ntorch.save({'model': net.state_dict(), 'n': 1}, 'a.pt')\n",
        "certain",
    ),
    "saved through a name": (
        "def main(net):\n    net = torch.compile(net)\n    state = {'model': net.state_dict()}\n    torch.save(state, 'a.pt')\n",
        "certain",
    ),
    "saved item by item": (
        "def main(net):\n    net = torch.compile(net)\n    state = {}\n    state['model'] = net.state_dict()\n    torch.save(state, 'a.pt')\n",
        "certain",
    ),
    "saved on some paths": (
        "def main(net, fast):\n    if fast:\n        net = torch.compile(net)\n    torch.save(net.state_dict(), 'a.pt')\n",
        "likely",
    ),
    "saved by a helper": (
        "def save(model, path):\n    torch.save(model.state_dict(), path)\n\nnet = torch.compile(Net())\nsave(net, 'a.pt')\n",
        "likely",
    ),
    "saved by a method": (
        "class T:\n    def run(self, net):\n        net = torch.compile(net)\n        self.save(net)\n\n"
        "    def save(self, net):\n        torch.save(net.state_dict(), 'a.pt')\n",
        "likely",
    ),
    "saved by a trainer": (
        "class T:\n    def __init__(self, net):\n        self.net = torch.compile(net)\n\n"
        "    def save(self):\n        torch.save(self.net.state_dict(), 'a.pt')\n",
        "certain",
    ),
    "loaded into the original": (
        "net = Net()\nfast = torch.compile(net)\nfast(x)\nnet.load_state_dict(fast.state_dict())\n",
        "certain",
    ),
    "plain keys": (
        "net = Net()\nfast = torch.compile(net)\nfast(x)\nfast.load_state_dict(net.state_dict())\n",
        "certain",
    ),
    "of a file that was saved plain": (
        "net = Net()\ntorch.save(net.state_dict(), 'a.pt')\nfast = torch.compile(net)\nfast.load_state_dict(torch.load('a.pt'))\n",
        "certain",
    ),
    "of a file that a wrapper may have saved": (
        "net = torch.compile(Net())\nbest = net.state_dict()\nnet.load_state_dict(torch.load('a.pt'))\nnet(x)\n",
        "",
    ),
    "of a file": ("net = torch.compile(Net())\nnet.load_state_dict(torch.load('a.pt'))\nnet(x)\n", "likely"),
    "filter": (
        "net = torch.compile(Net())\nhead = [p for n, p in net.named_parameters() if n.startswith('lin')]\n",
        "certain",
    ),
    "filter in a loop": (
        "net = torch.compile(Net())\nfor n, p in net.named_parameters():\n    if n.startswith('lin'):\n        p.requires_grad_(False)\n",
        "certain",
    ),
    "the original": ("net = Net()\nfast = torch.compile(net)\nfast(x)\ntorch.save(net.state_dict(), 'a.pt')\n", ""),
    "stripped": (
        "net = torch.compile(Net())\nstate = {k.replace('_orig_mod.', ''): v for k, v in net.state_dict().items()}\ntorch.save(state, 'a.pt')\n",
        "",
    ),
    "in place": ("net = Net()\nnet.compile()\ntorch.save(net.state_dict(), 'a.pt')\n", ""),
    "kept in memory": (
        "def main(net):\n    net = torch.compile(net)\n    best = net.state_dict()\n    net.load_state_dict(best)\n    return net(x)\n",
        "",
    ),
    "saved and loaded alike": (
        "net = torch.compile(Net())\nother = torch.compile(Net())\nother.load_state_dict(net.state_dict())\nother(x)\nnet(x)\n",
        "",
    ),
    "loaded before": ("net = Net()\nnet.load_state_dict(torch.load('a.pt'))\nnet = torch.compile(net)\nnet(x)\n", ""),
    "any filter": (
        "net = torch.compile(Net())\nb = [p for n, p in net.named_parameters() if n.endswith('bias')]\n",
        "",
    ),
    "optimizer": (
        "net = torch.compile(Net())\nopt = torch.optim.SGD(net.parameters())\ntorch.save(opt.state_dict(), 'o.pt')\nnet(x)\n",
        "",
    ),
    "function": ("g = torch.compile(f)\ng(x)\n", ""),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys(name: str) -> None:
    text, certainty = KEYS[name]
    assert [f.certainty for f in findings(text, "CL407")] == ([certainty] if certainty else [])


def test_fixes_of_keys() -> None:
    assert "net = Net()\nnet.compile()\ntorch.save(net.state_dict(), 'a.pt')\n" in fixed(KEYS["saved"][0])
    assert 'torch.save(getattr(net, "_orig_mod", net).state_dict(), ' in fixed(KEYS["saved"][0], 1)
    assert 'in getattr(net, "_orig_mod", net).named_parameters() if' in fixed(KEYS["filter"][0], 1)


IDENTITY = {
    "isinstance": ("net = torch.compile(Net())\nassert isinstance(net, Net)\nnet(x)\n", True),
    "isinstance of a base": ("net = torch.compile(Net())\nassert isinstance(net, nn.Module)\nnet(x)\n", False),
    "isinstance of another": (
        "class Other(Net):\n    pass\n\nnet = torch.compile(Net())\nassert not isinstance(net, Other)\nnet(x)\n",
        False,
    ),
    "isinstance in place": ("net = Net()\nnet.compile()\nassert isinstance(net, Net)\nnet(x)\n", False),
    "twice": ("net = torch.compile(torch.compile(Net()))\nnet(x)\n", True),
    "twice by name": ("net = Net()\nnet = torch.compile(net)\nnet = torch.compile(net, dynamic=True)\nnet(x)\n", True),
    "on two paths": (
        "def main(net, fast):\n    if fast:\n        net = torch.compile(net)\n    else:\n        net = torch.compile(net, dynamic=True)\n    return net\n",
        False,
    ),
    "by another method": (
        "class T:\n    def __init__(self, net):\n        self.model = net\n\n    def speed_up(self):\n        self.model = torch.compile(self.model)\n\n"
        "    def more(self):\n        self.model = torch.compile(self.model, dynamic=True)\n",
        False,
    ),
    "function twice": ("g = torch.compile(torch.compile(f))\ng(x)\n", False),
    "script": ("net = torch.compile(Net())\ns = torch.jit.script(net)\n", True),
    "trace": ("net = torch.compile(Net())\ns = torch.jit.trace(net, x)\n", True),
    "script of the original": ("net = Net()\nfast = torch.compile(net)\nfast(x)\ns = torch.jit.script(net)\n", False),
    "export": ("net = torch.compile(Net())\ns = torch.export.export(net, (x,))\n", False),
    "element": ("net = torch.compile(nn.Sequential(Net(), Net()))\nnet[0](x)\n", True),
}


@pytest.mark.parametrize("name", IDENTITY)
def test_identity(name: str) -> None:
    text, expected = IDENTITY[name]
    assert codes(text) == (["CL408"] if expected else [])


ARGUMENTS = {
    "both": ("g = torch.compile(f, mode='default', options={'max_autotune': True})\n", True),
    "both, not known": ("def main(mode, options):\n    return torch.compile(f, mode=mode, options=options)\n", False),
    "mode": ("g = torch.compile(f, mode='reduce_overhead')\n", True),
    "mode of another backend": ("import m\ng = torch.compile(f, mode='any', backend=m.backend)\n", False),
    "backend": ("g = torch.compile(f, backend='aot-eager')\n", True),
    "backend of somebody": ("g = torch.compile(f, backend='hidet')\n", False),
    "backend registered": (
        "torch._dynamo.register_backend(f, name='inductor2')\ng = torch.compile(f, backend='inductor2')\n",
        False,
    ),
    "keyword": ("g = torch.compile(f, full_graph=True)\n", True),
    "keyword of another": (
        "class K:\n    def compile(self, **k):\n        pass\n\nK().compile(optimizer='adam')\n",
        False,
    ),
    "positional": ("g = torch.compile(f, 'max-autotune')\n", True),
    "decorator": ("@torch.compile(mode='max_autotune')\ndef g(x):\n    return x\n", True),
    "in place": ("net = Net()\nnet.compile(mode='reduce_overhead')\n", True),
    "right": ("g = torch.compile(f, fullgraph=True, dynamic=None, mode='max-autotune-no-cudagraphs')\n", False),
    "raises": ("import pytest\nwith pytest.raises(TypeError):\n    torch.compile(f, full_graph=True)\n", False),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    text, expected = ARGUMENTS[name]
    assert [finding.code for finding in findings(text, "CL409")] == (["CL409"] if expected else [])


def test_fixes_of_arguments() -> None:
    assert fixed(ARGUMENTS["mode"][0]) == 'g = torch.compile(f, mode="reduce-overhead")\n'
    assert fixed(ARGUMENTS["keyword"][0]) == "g = torch.compile(f, fullgraph=True)\n"
    assert fixed(ARGUMENTS["backend"][0]) == 'g = torch.compile(f, backend="aot_eager")\n'
