"""Facts of torch_npu wheels, against readings made by other means: PyYAML for the tables, lines of text for the rest.

The expectations were written down from the unpacked wheels, not from what the code under test says.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import pytest

from compile_probe.ascend.converters import registrations
from compile_probe.ascend.facts import Facts, as_json, facts_of, from_json, read_facts
from compile_probe.ascend.verdict import state_of
from compile_probe.ascend.wheel import Wheel, find

from .wheels import site_packages

PROBE = Path(__file__).parent.parent.parent / "compile_probe"


@dataclass(frozen=True)
class Expected:
    """An independent reading of one wheel."""

    torch: str
    backends: dict[str, str]
    modes: tuple[str, ...]
    deprecated: tuple[str, ...]
    operators: dict[str, int]
    internal_formats: int
    aclop_of_torch: Optional[str]
    """Operators of torch itself that run as aclop only, in order of the alphabet; ``None``: too many to list."""
    converts: int
    raises: int


IMPORTED = {"npu": "import", "npugraph_ex": "import", "npugraphs": "import"}
DECLARED = {"npu": "entry-point", "npugraph_ex": "entry-point", "npugraphs": "entry-point"}
OLD_MODES = ("max-autotune", "reduce-overhead")
MODES = (*OLD_MODES, "npugraph_ex")
OLD_DECLINED = "_empty_affine_quantized dequantize.self gru.input int_repr lstm_cell slow_conv3d_forward"

WHEELS = {
    "2.5.1.post1": Expected(
        "2.5.1",
        {"npu": "import"},
        OLD_MODES,
        (),
        {"aclnn": 313, "both": 809, "aclop": 186, "own": 60},
        16,
        None,
        416,
        1615,
    ),
    "2.7.1": Expected(
        "2.7.1",
        {"npu": "import", "npugraphs": "import"},
        OLD_MODES,
        (),
        {"aclnn": 351, "both": 818, "aclop": 155, "own": 61},
        41,
        "__ilshift__.Scalar __ilshift__.Tensor __irshift__.Scalar __irshift__.Tensor __lshift__.Scalar "
        "__lshift__.Tensor __rshift__.Scalar __rshift__.Tensor _cdist_backward _cdist_forward "
        "_embedding_bag_per_sample_weights_backward _empty_affine_quantized _linalg_svd _linalg_svd.U cdist "
        "dequantize.self gru.input int_repr logspace logspace.out lstm.data lstm.input lstm_cell "
        "slow_conv3d_forward slow_conv3d_forward.output",
        431,
        1614,
    ),
    "2.7.1.post11": Expected(
        "2.7.1",
        DECLARED,
        MODES,
        ("reduce-overhead",),
        {"aclnn": 488, "both": 863, "aclop": 108, "own": 62},
        72,
        "_empty_affine_quantized lstm_cell slow_conv3d_forward slow_conv3d_forward.output",
        511,
        1599,
    ),
    "2.8.0.post5": Expected(
        "2.8.0",
        IMPORTED,
        MODES,
        ("reduce-overhead",),
        {"aclnn": 447, "both": 854, "aclop": 116, "own": 60},
        66,
        f"{OLD_DECLINED} slow_conv3d_forward.output",
        505,
        1599,
    ),
    "2.10.0": Expected(
        "2.10.0",
        IMPORTED,
        MODES,
        ("reduce-overhead",),
        {"aclnn": 447, "both": 854, "aclop": 116, "own": 60},
        66,
        f"{OLD_DECLINED} slow_conv3d_forward.output",
        505,
        1599,
    ),
    "2.13.0": Expected(
        "2.13.0",
        DECLARED,
        MODES,
        ("reduce-overhead",),
        {"aclnn": 498, "both": 836, "aclop": 106, "own": 60},
        80,
        "_empty_affine_quantized lstm_cell slow_conv3d_forward slow_conv3d_forward.output",
        511,
        1599,
    ),
}


def wheel_of(version: str) -> Wheel:
    wheel = find(site_packages(version))
    assert wheel is not None
    return wheel


@pytest.fixture(scope="module")
def facts() -> dict[str, Facts]:
    return {version: read_facts(wheel_of(version)) for version in WHEELS}


@pytest.mark.parametrize("version", WHEELS)
def test_facts_equal_an_independent_reading(version: str, facts: dict[str, Facts]) -> None:
    expected, found = WHEELS[version], facts[version]
    assert (found.version, found.requires_torch, found.missing) == (version, expected.torch, ())
    assert found.backends.names == expected.backends
    assert found.backends.modes == expected.modes
    assert tuple(found.backends.deprecated_modes) == expected.deprecated
    assert Counter(entry.implementation for entry in found.operators.values()) == expected.operators
    assert sum(entry.internal_formats for entry in found.operators.values()) == expected.internal_formats
    if expected.aclop_of_torch is not None:
        alone = [n for n, entry in found.operators.items() if entry.implementation == "aclop" and not entry.custom]
        assert sorted(alone) == expected.aclop_of_torch.split()
    assert Counter(found.converters.values()) == {"converts": expected.converts, "raises": expected.raises}


def test_the_deprecation_is_in_torchairs_own_words(facts: dict[str, Facts]) -> None:
    text = facts["2.13.0"].backends.deprecated_modes["reduce-overhead"]
    assert text == (
        'The "reduce-overhead" mode configuration will be deprecated. Please use the "npugraph_ex" backend.'
    )
    assert facts["2.8.0.post5"].backends.deprecated_modes["reduce-overhead"] == text, "two literals in that source"


@pytest.mark.parametrize(
    ("version", "name", "state"),
    [
        # In 2.13.0's table: `mm` "acl_op, op_api, dvm" with internal_format_opapi; `native_layer_norm` without it.
        ("2.13.0", "aten.mm.default", ("both", ("jit-compile-off",), "converts", "conditional")),
        ("2.13.0", "aten.native_layer_norm.default", ("both", ("jit-compile-off", "base-formats"), "converts", None)),
        # gelu has a row for its `out` form only.
        ("2.13.0", "aten.gelu.default", ("both", ("jit-compile-off", "base-formats"), "converts", "conditional")),
        ("2.13.0", "aten.lstm_cell.default", ("aclop", (), "", "no")),
        ("2.7.1", "aten.cdist.default", ("aclop", (), None, "no")),
        ("2.13.0", "aten.cdist.default", ("both", None, None, "conditional")),
        ("2.13.0", "aten.isnan.default", ("own", (), "raises", "yes")),
        ("2.13.0", "aten._fft_r2c.default", (None, None, "raises", None)),
        ("2.13.0", "aten._pdist_forward.default", (None, None, "", None)),
        ("2.13.0", "npu.npu_rms_norm.default", (None, None, "converts", None)),
        ("2.13.0", "aten.no_such_operator.default", ("", (), "", "unknown")),
    ],
)
def test_states_of_operators(version: str, name: str, state: tuple[object, ...], facts: dict[str, Facts]) -> None:
    found = state_of(facts[version], name)
    for want, is_ in zip(state, (found.implementation, found.conditions, found.converter, found.captures)):
        assert want is None or want == is_, found


def test_a_host_sync_cannot_be_captured_however_it_is_implemented(facts: dict[str, Facts]) -> None:
    assert state_of(facts["2.13.0"], "aten.nonzero.default", syncs=True).captures == "no"
    assert state_of(facts["2.13.0"], "aten.nonzero.default", syncs=True).why == "host-sync"


def test_facts_cross_a_process_border_whole(facts: dict[str, Facts]) -> None:
    assert from_json(json.loads(json.dumps(as_json(facts["2.7.1"])))) == facts["2.7.1"]


def test_the_cache_is_used_for_the_same_record_only(
    tmp_path: Path, facts: dict[str, Facts], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "site-packages"
    shutil.copytree(site_packages("2.5.1.post1"), copy)
    wheel, cache = find(copy), tmp_path / "cache"
    assert wheel is not None
    assert facts_of(wheel, cache) == facts["2.5.1.post1"]
    kept = list(cache.iterdir())
    assert len(kept) == 1
    monkeypatch.setattr("compile_probe.ascend.facts.read_facts", lambda _: pytest.fail("the cache was not used"))
    assert facts_of(wheel, cache) == facts["2.5.1.post1"]
    monkeypatch.undo()
    kept[0].write_text("{half of a rec")
    assert facts_of(wheel, cache) == facts["2.5.1.post1"], "a damaged cache is read anew"
    record = wheel.info / "RECORD"
    record.write_text(record.read_text() + "torch_npu/more.py,sha256=0,0\n")
    (wheel.package / "csrc" / "aten" / "npu_native_functions_by_codegen.yaml").unlink()
    other = facts_of(wheel, cache)
    assert not other.operators and "aclnn or aclop" in other.missing[0], "another RECORD is another wheel"


def test_a_folder_without_torch_npu_has_no_wheel(tmp_path: Path) -> None:
    assert find(tmp_path) is None


def test_metadata_left_behind_by_another_version_is_passed_over(tmp_path: Path) -> None:
    shutil.copytree(site_packages("2.7.1") / "torch_npu-2.7.1.dist-info", tmp_path / "torch_npu-2.7.1.dist-info")
    stale = tmp_path / "torch_npu-2.9.0.dist-info"
    stale.mkdir()
    (stale / "METADATA").write_text("Name: torch_npu\nVersion: 2.9.0\nRequires-Dist: torch==2.9.0+cpu\n")
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "torch_npu" / "version.py").write_text("__version__ = '2.7.1'\n")
    found = find(tmp_path)
    assert found is not None and (found.version, found.requires_torch) == ("2.7.1", "2.7.1")
    assert found.pairs_with("2.7.1+cpu") and not found.pairs_with("2.8.0+cpu")


def test_forms_of_registration() -> None:
    text = '''
@register_fx_node_ge_converter(torch.ops.aten.a.default)
@register_fx_node_ge_converter(getattr(torch.ops.aten.b, "names", None))
def one(self):
    """Says something."""
    raise NotImplementedError("no")

def two(self):
    if self:
        raise RuntimeError("only sometimes")
    return self

made = register_fx_node_ge_converter(torch.ops.npu.c.default)(two)

def later(target, converter):
    register_fx_node_ge_converter(target)(converter)
'''
    found = dict(registrations(ast.parse(text)))
    assert found == {"aten.a.default": "raises", "aten.b.names": "raises", "npu.c.default": "converts"}


def test_the_command_reads_without_torch(tmp_path: Path) -> None:
    command = [sys.executable, "-S", str(PROBE), "facts", str(site_packages("2.10.0"))]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, env={"XDG_CACHE_HOME": str(tmp_path)}
    )
    assert from_json(json.loads(ended.stdout)).version == "2.10.0"
    none = subprocess.run(
        [*command[:-1], str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"XDG_CACHE_HOME": str(tmp_path)},
    )
    assert none.returncode == 3 and none.stdout.strip() == "null"
