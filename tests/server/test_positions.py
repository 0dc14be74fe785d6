"""Positions: of nodes in real files, of lines in odd ones, and in the units that an editor counts."""

from __future__ import annotations

import importlib.util
import json
import re
import sysconfig
from pathlib import Path

import libcst as cst
import pytest
from compile_lens.lsp import convert
from compile_lens.text.positions import locate
from compile_lens.text.source import Position, Range, Source, read
from libcst.metadata import MetadataWrapper, PositionProvider
from lsprotocol import types

STDLIB = Path(sysconfig.get_paths()["stdlib"])


def _torch() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _check_against_libcst(text: str) -> int:
    """Compare every node that libcst gives a position; how many there were.

    A form feed in an indentation is left out of the comparison: libcst does not count it.
    """
    text = re.sub(r"(?m)^\x0c(?=.)", "", text)
    source = Source("x.py", text)
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    expected = wrapper.resolve(PositionProvider)
    found = locate(wrapper.module, expected, source)
    for node, place in expected.items():
        if node is wrapper.module:
            continue  # libcst takes the last newline away again there
        wanted = Range(
            Position(place.start.line - 1, place.start.column), Position(place.end.line - 1, place.end.column)
        )
        assert found[id(node)] == wanted, (type(node).__name__, wanted)
    return len(expected)


@pytest.mark.parametrize(
    "path",
    [
        _torch() / "nn" / "functional.py",
        _torch() / "nn" / "modules" / "rnn.py",
        STDLIB / "argparse.py",
        STDLIB / "dataclasses.py",
        STDLIB / "rlcompleter.py",
    ],
    ids=lambda path: path.name,
)
def test_all_nodes_of_real_files(path: Path) -> None:
    assert _check_against_libcst(read(path).text) > 500


ODD = {
    "lf": "import os\n\n@dec(\n  1)\ndef f(a, *, b=1):\n    return (a\n      + b)  # x\n",
    "crlf": "import os\r\n\r\n@dec\r\nclass A(B):\r\n    '''doc\r\n    more'''\r\n    x: int = 1\r\n",
    "cr": "import os\rdef f():\r    x = 1; y = 2\r    return x\r",
    "mixed": "a = 1\r\nb = 2\nif a:\r\n    c = [1,\n  2]\n",
    "form feed": "a = 1\n\x0c\ndef f():\n    return a\n\x0cb = 2\n",
    "tabs": "if a:\n\tif b:\n\t\tx = 'é' + y\n",
    "emoji": "x = '😀' + f(a)  # 😀\ny = '家族👨‍👩‍👧' + g(b)\n",
    "chinese": "变量 = 函数(张量)  # 注释\nif 变量 > 0: 打印('值', 变量)\n",
    "no end": "x = f(a)",
    "continuation": "x = 1 + \\\n    f(a)\nwith a as b, \\\n     c as d: pass\n",
    "strings": 'x = """a\nb""" + g(\n  c)\ny = f"""{a\n}""" \'b\'\n',
    "separator": "x = 'a\u2028b' + f(c)\ny = 'd\x85e' + g(h)\n",
    "empty": "",
    "comment only": "# nothing\n",
}


@pytest.mark.parametrize("name", ODD)
def test_all_nodes_of_odd_texts(name: str) -> None:
    _check_against_libcst(ODD[name])


@pytest.mark.parametrize("name", ODD)
def test_positions_point_at_the_text_of_names(name: str) -> None:
    """Independent of libcst's own positions: the text at a name's place is the name."""
    source = Source("odd.py", ODD[name])
    tree = cst.parse_module(source.text)
    names: list[cst.Name] = []

    class Names(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            names.append(node)

    tree.visit(Names())
    found = locate(tree, names, source)
    for node in names:
        place = found[id(node)]
        assert source.text[source.offset(place.start) : source.offset(place.end)] == node.value


def test_nothing_is_generated_for_no_nodes() -> None:
    assert locate(cst.parse_module("x = 1\n"), [], Source("x.py", "x = 1\n")) == {}


# --- lines ---


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b", ""]),
        ("a\rb", ["a", "b"]),
        ("a\r\n\rb\n", ["a", "", "b", ""]),
        ("a\x0cb\nc", ["a\x0cb", "c"]),
        ("a\x0b\x1c\x85\u2028\u2029b\nc", ["a\x0b\x1c\x85\u2028\u2029b", "c"]),
        ("\t变量\n😀x", ["\t变量", "😀x"]),
    ],
)
def test_lines_are_those_of_the_protocol(text: str, lines: list[str]) -> None:
    source = Source("x.py", text)
    assert [source.line(index) for index in range(len(source.line_starts))] == lines
    assert source.line(len(lines)) == source.line(-1) == ""


@pytest.mark.parametrize("name", ODD)
def test_offset_and_position_are_inverse(name: str) -> None:
    source = Source("odd.py", ODD[name])
    for offset in range(len(source.text) + 1):
        assert source.offset(source.position(offset)) == offset


def test_offsets_are_clamped() -> None:
    source = Source("x.py", "ab\ncd")
    assert source.offset(Position(9, 0)) == 5
    assert source.offset(Position(1, 99)) == 5


# --- units of the client ---

UNITS = [
    ("abc", 2, {"utf-8": 2, "utf-16": 2, "utf-32": 2}),
    ("变量 = x", 5, {"utf-8": 9, "utf-16": 5, "utf-32": 5}),
    ("😀 = x", 4, {"utf-8": 7, "utf-16": 5, "utf-32": 4}),
    ("\té😀y", 3, {"utf-8": 7, "utf-16": 4, "utf-32": 3}),
    ("e\u0301x", 2, {"utf-8": 3, "utf-16": 2, "utf-32": 2}),
]


@pytest.mark.parametrize(("text", "column", "units"), UNITS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_units(text: str, column: int, units: dict[str, int], encoding: str) -> None:
    assert convert.to_units(text, column, encoding) == units[encoding]
    assert convert.from_units(text, units[encoding], encoding) == column
    assert (
        len(text[:column].encode(f"{encoding}{'' if encoding == 'utf-8' else '-le'}"))
        == units[encoding]
        * {
            "utf-8": 1,
            "utf-16": 2,
            "utf-32": 4,
        }[encoding]
    ), "the table itself is right"


@pytest.mark.parametrize("encoding", list(types.PositionEncodingKind))
@pytest.mark.parametrize("name", ODD)
def test_every_position_survives_the_round_trip(name: str, encoding: types.PositionEncodingKind) -> None:
    source = Source("odd.py", ODD[name])
    for offset in range(len(source.text) + 1):
        here = source.position(offset)
        if here.column > len(source.line(here.line)):
            continue  # between \r and \n: no position of the protocol
        there = convert.to_position(source, here, encoding)
        assert convert.from_position(source, there, encoding) == here


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_units_behind_the_line_are_clamped(encoding: str) -> None:
    for text in ("abc", "变量", "😀"):
        assert convert.from_units(text, 1000, encoding) == len(text)
        assert convert.to_units(text, 1000, encoding) == convert.to_units(text, len(text), encoding)


def test_units_inside_a_surrogate_pair_do_not_fail() -> None:
    assert convert.from_units("😀a", 1, "utf-16") in (0, 1)


def test_lone_surrogates_do_not_fail() -> None:
    text = json.loads('"\\ud83d"') + "x"
    for encoding in ("utf-8", "utf-16", "utf-32"):
        convert.from_units(text, convert.to_units(text, 2, encoding), encoding)


def test_overlap() -> None:
    def place(a: int, b: int, c: int, d: int) -> Range:
        return Range(Position(a, b), Position(c, d))

    assert convert.overlap(place(1, 2, 1, 5), place(1, 3, 1, 3))
    assert convert.overlap(place(1, 2, 1, 5), place(1, 5, 2, 0)), "a cursor at the end touches"
    assert not convert.overlap(place(1, 2, 1, 5), place(1, 6, 2, 0))
    assert not convert.overlap(place(1, 2, 1, 5), place(0, 0, 0, 9))
