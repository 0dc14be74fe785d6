"""Every kind of fix: what it writes, that the result parses, and that the finding is gone."""

from __future__ import annotations

import ast
from typing import Optional

import libcst as cst
import pytest
from compile_lens.findings.finding import Finding
from compile_lens.findings.scan import Options, scan
from compile_lens.fixes.edit import Edit, Fix, apply, distinct_edits, insertion, without_conflicts
from compile_lens.fixes.imports import import_place
from compile_lens.semantics.modules import SourceModule
from compile_lens.text.source import Position, Range, Source

EDITOR = Options(scope="candidates", with_offers=True)


def findings(text: str, options: Options = EDITOR) -> tuple[Finding, ...]:
    analysis = scan(Source("m.py", text), options)
    assert analysis.error is None, analysis.error
    return analysis.findings


def applied(text: str, fix: Fix) -> str:
    source = Source("m.py", text)
    result = apply(text, [(source.offset(e.range.start), source.offset(e.range.end), e.text) for e in fix.edits])
    assert result is not None, "edits overlap"
    ast.parse(result)
    return result


def fix_of(text: str, code: str, kind: str = "quickfix") -> Optional[Fix]:
    """The first fix of a kind that the first finding with a code has."""
    finding = next((f for f in findings(text) if f.code == code), None)
    assert finding is not None, (code, findings(text))
    return next((fix for fix in finding.fixes if fix.kind == kind), None)


def mended(text: str, code: str) -> str:
    """The text after the fix; the finding must be gone, and no other come."""
    fix = fix_of(text, code)
    assert fix is not None, f"{code} has no fix"
    result = applied(text, fix)
    before, after = [f.code for f in findings(text)], [f.code for f in findings(result)]
    before.remove(code)
    assert after == before
    return result


def region(body: str, header: str = "import torch\n") -> str:
    return f"{header}\n@torch.compile\ndef f(x):\n{body}    return x\n"


# --- only in eager mode ---

GUARD = "if not torch.compiler.is_compiling():"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (region("    print(x)\n"), region(f"    {GUARD}\n        print(x)\n")),
        (region("    print(x)  # why\n"), region(f"    {GUARD}\n        print(x)  # why\n")),
        (
            region("    print(\n        x,\n\n        1,\n    )\n"),
            region(f"    {GUARD}\n        print(\n            x,\n\n            1,\n        )\n"),
        ),
        (
            region('    print("""a\n  b""",\n        x)\n'),
            region(f'    {GUARD}\n        print("""a\n  b""",\n        x)\n'),
        ),
        (
            region("    print('a\\\n  b', x)\n"),
            region(f"    {GUARD}\n        print('a\\\n  b', x)\n"),
        ),
        (
            region("    if x.shape[0] > 1:\n        print(x)\n"),
            region(f"    if x.shape[0] > 1:\n        {GUARD}\n            print(x)\n"),
        ),
        (region("    # before\n    print(x);\n"), region(f"    # before\n    {GUARD}\n        print(x);\n")),
        (
            region("    print(x)\n").replace("    ", "\t"),
            region(f"    {GUARD}\n        print(x)\n").replace("    ", "\t"),
        ),
        (
            region("    print(x)\n").replace("\n", "\r\n"),
            region(f"    {GUARD}\n        print(x)\n").replace("\n", "\r\n"),
        ),
        (region("    print('值', x)\n"), region(f"    {GUARD}\n        print('值', x)\n")),
    ],
    ids=["plain", "comment", "lines", "string", "joined", "nested", "before", "tabs", "crlf", "chinese"],
)
def test_guard(text: str, wanted: str) -> None:
    assert mended(text, "CL104") == wanted


@pytest.mark.parametrize(
    ("header", "decorator", "name", "added"),
    [
        ("import torch as th\n", "th.compile", "th", ""),
        ("from torch import compile\n", "compile", "torch", "import torch\n"),
        ('"""Doc."""\nfrom torch import compile\n', "compile", "torch", "import torch\n"),
        ("import torch.nn as nn\nimport torch\n", "torch.compile", "torch", ""),
    ],
)
def test_guard_spells_torch_as_the_file_does(header: str, decorator: str, name: str, added: str) -> None:
    text = f"{header}\n@{decorator}\ndef f(x):\n    print(x)\n    return x\n"
    result = mended(text, "CL104")
    assert f"    if not {name}.compiler.is_compiling():\n        print(x)\n" in result
    assert result.count("import torch\n") == text.count("import torch\n") + bool(added)
    ast.parse(result)


@pytest.mark.parametrize(
    "body",
    ["    print(x); x = x + 1\n", "    y = print(x)\n", "    if x.shape[0]: print(x)\n"],
    ids=["several", "value", "one-line suite"],
)
def test_no_guard_where_it_cannot_stand(body: str) -> None:
    assert fix_of(region(body), "CL104") is None


# --- torch.where ---


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            "    if x.sum() > 0:\n        y = x + 1\n    else:\n        y = x - 1\n",
            "    y = torch.where(x.sum() > 0, x + 1, x - 1)\n",
        ),
        (
            "    if x.sum() > 0:\n        return x + 1\n    else:\n        return x - 1\n",
            "    return torch.where(x.sum() > 0, x + 1, x - 1)\n",
        ),
        ("    if x.sum() > 0: y = x\n    else: y = -x\n", "    y = torch.where(x.sum() > 0, x, -x)\n"),
        (
            "    if (x.sum() > 0):\n        y = x\n    else:\n        y = -x\n",
            "    y = torch.where(x.sum() > 0, x, -x)\n",
        ),
        (
            "    if (x.sum()\n            > 0):\n        y = [x,\n             1][0]\n    else:\n        y = -x\n",
            "    y = torch.where(x.sum()\n            > 0, [x,\n             1][0], -x)\n",
        ),
    ],
)
def test_where(body: str, wanted: str) -> None:
    assert mended(region(body), "CL101") == region(wanted)


@pytest.mark.parametrize(
    "body",
    [
        "    if x.sum() > 0:\n        x = x + 1\n",
        "    if x.sum() > 0:\n        y = x\n    else:\n        z = x\n",
        "    if x.sum() > 0:\n        y, z = x, x\n    else:\n        y, z = -x, -x\n",
        "    if x.sum() > 0:\n        y = x\n    elif x.sum() < 0:\n        y = -x\n    else:\n        y = 2 * x\n",
        "    if x.sum() > 0:\n        # why\n        y = x\n    else:\n        y = -x\n",
        "    if x.sum() > 0:\n        y = x  # why\n    else:\n        y = -x\n",
        "    if x.sum() > 0:  # why\n        y = x\n    else:\n        y = -x\n",
        "    if x.sum() > 0:\n        y = x\n    # why\n    else:\n        y = -x\n",
        "    if x.sum() > 0:\n        y = x\n        # why\n    else:\n        y = -x\n",
        "    if x.shape[0] > 2:\n        y = x\n    elif x.sum() > 0:\n        y = x\n    else:\n        y = -x\n",
        "    if x.sum() > 0:\n        y += x\n    else:\n        y += 2\n",
    ],
    ids=[
        "no else", "names", "tuples", "elif", "comment", "trailing", "header", "before", "footer", "is elif", "+=",
    ],
)  # fmt: skip
def test_where_is_not_offered_where_it_would_lose_something(body: str) -> None:
    text = region("    y = x\n" + body)
    fix = fix_of(text, "CL101")
    assert fix is None, applied(text, fix)


# --- compile sites ---

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    DECORATOR
    def forward(self, x):
        return self.lin(x)
"""
PLAIN_NET = NET.replace("    DECORATOR\n", "")


@pytest.mark.parametrize(
    ("decorator", "built", "wanted"),
    [
        ("@torch.compile", "net = Net()\n", "net = Net()\nnet.compile()\n"),
        ("@torch.compile()", "net = Net()\n", "net = Net()\nnet.compile()\n"),
        (
            "@torch.compile(mode='max-autotune', fullgraph=True)",
            "net = Net()\n",
            "net = Net()\nnet.compile(mode='max-autotune', fullgraph=True)\n",
        ),
        (
            "@torch.compile(\n        mode='default',  # fast\n        dynamic=False  # fixed\n    )",
            "net = Net()\n",
            "net = Net()\nnet.compile(mode='default', dynamic=False)\n",
        ),
        ("@torch.compile  # all", "net = Net()\n", "net = Net()\nnet.compile()\n"),
        (
            "@torch.compile",
            "a = Net()\nif a:\n    b = Net()  # two\n",
            "a = Net()\na.compile()\nif a:\n    b = Net()  # two\n    b.compile()\n",
        ),
        ("@torch.compile", "net = Net()", "net = Net()\nnet.compile()"),
        (
            "@torch.compile",
            "def main():\n\tnet = Net(\n\t)\n\treturn net\n",
            "def main():\n\tnet = Net(\n\t)\n\tnet.compile()\n\treturn net\n",
        ),
    ],
)
def test_move_to_the_construction(decorator: str, built: str, wanted: str) -> None:
    result = mended(NET.replace("DECORATOR", decorator) + "\n\n" + built, "CL401")
    assert result == PLAIN_NET + "\n\n" + wanted


def test_move_keeps_crlf() -> None:
    text = (NET.replace("DECORATOR", "@torch.compile") + "\n\nnet = Net()\n").replace("\n", "\r\n")
    result = mended(text, "CL401")
    assert "\n" not in result.replace("\r\n", "")
    assert result.endswith("net = Net()\r\nnet.compile()\r\n")


@pytest.mark.parametrize("built", ["", "nets = [Net()]\n", "run(Net())\n"])
def test_nothing_is_moved_without_a_place(built: str) -> None:
    assert fix_of(NET.replace("DECORATOR", "@torch.compile") + "\n\n" + built, "CL401") is None


def offers(text: str) -> list[str]:
    analysis = scan(Source("m.py", text), Options(with_offers=True))
    assert analysis.error is None
    return [applied(text, offer.fix) for offer in analysis.offers]


def test_wrap_in_three_forms() -> None:
    text = PLAIN_NET + "\n\nnet = Net()\n\n\ndef f(x):\n    return x\n"
    assert sorted(offers(text)) == sorted(
        [
            text.replace("net = Net()\n", "net = Net()\nnet.compile()\n"),
            text.replace("net = Net()\n", "net = torch.compile(Net())\n"),
            text.replace("def f(", "@torch.compile\ndef f("),
        ]
    )


@pytest.mark.parametrize(
    "text",
    [
        PLAIN_NET + "\n\nnet = Net()\nnet.compile()\n",
        PLAIN_NET + "\n\nnet = torch.compile(Net())\n",
        "import torch\n\n@torch.compile\ndef f(x):\n    return x\n",
        "import torch\n\n@torch.no_grad()\ndef f(x):\n    return x\n",
        "import torch\n\ndef f():\n    return 1\n",
        "def f(x):\n    return x\n",
    ],
)
def test_nothing_is_offered_twice(text: str) -> None:
    assert offers(text) == []


def test_wrap_imports_torch_first() -> None:
    text = "# Licence\nfrom torch import nn\ndef f(x):\n    return nn.functional.relu(x)\n"
    (result,) = offers(text)
    assert result.index("import torch\n") < result.index("@torch.compile\ndef f")
    first = "from torch import nn\ndef f(x):\n    return x\n"
    (result,) = offers(first)
    assert result.startswith("import torch\nfrom torch import nn\n@torch.compile\n")


# --- silencing ---


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("x = x * x.sum().item()", "x = x * x.sum().item()  # compile-lens: ignore[CL102]"),
        ("x = x * x.sum().item()  # why", "x = x * x.sum().item()  # why  # compile-lens: ignore[CL102]"),
        (
            "x = x * x.sum().item()  # compile-lens: ignore[CL999]",
            "x = x * x.sum().item()  # compile-lens: ignore[CL999, CL102]",
        ),
        (
            "x = x * x.sum().item() + \\\n        1",
            "x = x * x.sum().item() + \\\n        1  # compile-lens: ignore[CL102]",
        ),
        (
            'x = x * x.sum().item() + len("""a\n  # no\n""")',
            'x = x * x.sum().item() + len("""a\n  # no\n""")  # compile-lens: ignore[CL102]',
        ),
        (
            "x = (x\n         * x.sum().item()\n         + 1)",
            "x = (x\n         * x.sum().item()  # compile-lens: ignore[CL102]\n         + 1)",
        ),
        (
            "x = x * x.sum().item() + len('# compile-lens: ignore[]')",
            "x = x * x.sum().item() + len('# compile-lens: ignore[]')  # compile-lens: ignore[CL102]",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_suppress(line: str, wanted: str, newline: str) -> None:
    text = region(f"    {line}\n").replace("\n", newline)
    fix = fix_of(text, "CL102", "suppress")
    assert fix is not None
    assert fix_of(text, "CL102") is None, "silencing is no quick fix that --fix may apply"
    result = applied(text, fix)
    assert result == region(f"    {wanted}\n").replace("\n", newline)
    assert findings(result) == ()


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# compile-lens: ignore", True),
        ("# compile-lens: ignore[CL102]", True),
        ("#compile-lens:ignore[ cl102 ]", True),
        ("# compile-lens: ignore[scalar-read]", True),
        ("# compile-lens: ignore[CL101,CL102]", True),
        ("# compile-lens: ignore[CL101]", False),
        ("# type: ignore", False),
        ("# noqa  # compile-lens: ignore[CL102]", True),
    ],
)
def test_comments_that_silence(comment: str, silent: bool) -> None:
    assert (findings(region(f"    x = x * x.sum().item()  {comment}\n")) == ()) is silent


def test_skip_file_anywhere_but_in_strings() -> None:
    text = region("    x = x * x.sum().item()\n")
    assert findings("# compile-lens: skip-file\n" + text) == ()
    assert findings(text + "\n# compile-lens: skip-file\n") == ()
    assert len(findings('"""# compile-lens: skip-file"""\n' + text)) == 1


# --- imports ---


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("", "x = 1\n"),
        ('"""Doc."""\n', "x = 1\n"),
        ('"""Doc\nof lines.\n"""\n', "\nx = 1\n"),
        ("from __future__ import annotations\n", "import os\n"),
        ('"""Doc."""\n\nfrom __future__ import annotations\n', "\nimport os\n"),
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n#\n# Licence\n", "import os\n"),
        ('#!/usr/bin/env python\n"""Doc."""\n', "import os\n\n\n# the end\n# of the file\n"),
        ("# Licence\n\n", "import os\n"),
        ('"""Doc."""\n', "def f():\n    return 1\n\n\n# a\n# b\n# c\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_where_an_import_goes(before: str, after: str, newline: str) -> None:
    text = (before + after).replace("\n", newline)
    source = Source("m.py", text)
    place = import_place(SourceModule(source, cst.parse_module(text)))
    offset = source.offset(place)
    result = text[:offset] + "import torch" + newline + text[offset:]
    tree = ast.parse(result)
    assert ast.get_docstring(tree) == ast.get_docstring(ast.parse(text))
    compile(result, "m.py", "exec")  # __future__ imports come first, or this fails
    assert offset <= len(before.replace("\n", newline)), "above the code"
    if before.startswith("#!"):
        assert result.startswith(before.split("\n", maxsplit=1)[0])


# --- edits ---


def _edit(start: int, end: int, text: str = "") -> Edit:
    return Edit(Range(Position(0, start), Position(0, end)), text)


def test_insertions_at_one_place_keep_their_order() -> None:
    assert apply("x", [(0, 0, "b"), (0, 0, "a")]) == "bax"
    assert apply("abc", [(1, 2, "-"), (1, 1, "+")]) == "a+-c"
    assert apply("abc", [(0, 2, "-"), (1, 3, "+")]) is None


def test_conflicting_fixes_are_left_out() -> None:
    shared = insertion(Position(0, 0), "import torch\n")
    first, second = Fix("1", (shared, _edit(2, 5))), Fix("2", (shared, _edit(4, 6)))
    third, inside = Fix("3", (shared, _edit(5, 7))), Fix("4", (insertion(Position(0, 3), "x"),))
    kept = without_conflicts([first, second, third, inside])
    assert kept == [first, third]
    assert distinct_edits(kept) == [shared, _edit(2, 5), _edit(5, 7)]
