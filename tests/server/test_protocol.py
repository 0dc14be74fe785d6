"""The protocol page, the server, the probe and the extension use the same words."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from compile_lens.findings.scan import SCOPES
from compile_lens.lsp import main, observed, record, server
from compile_lens.lsp.settings import SEVERITIES, Settings, read_settings
from compile_lens.text.source import Source

from compile_probe import cli as probe_cli
from compile_probe.protocol import events

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
TYPESCRIPT = (ROOT / "extension" / "src" / "protocol.ts").read_text(encoding="utf-8")
MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
PROPERTIES: dict[str, dict[str, Any]] = MANIFEST["contributes"]["configuration"]["properties"]

CLIENT_ONLY = {"interpreter", "statusBar.show", "trace.server"}
"""Settings that the extension reads itself; the server is told in other ways, or not at all."""


def section(title: str) -> str:
    """Text of one section of the page, up to the next heading."""
    found = re.search(rf"^#+ {re.escape(title)}.*?$(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def rows(text: str) -> dict[str, str]:
    """Rows of the tables of a section: first cell without its backticks, and the rest."""
    found = re.findall(r"^\| `([^`|]+)`(?:, `[^`|]+`)* \|(.*)\|$", text, re.MULTILINE)
    return dict(found)


def fields(interface: str) -> set[str]:
    found = re.search(rf"interface {interface} \{{(.*?)\}}", TYPESCRIPT, re.DOTALL)
    assert found is not None, interface
    return set(re.findall(r"^\s*(\w+)\??:", found[1], re.MULTILINE))


def constants() -> dict[str, str]:
    return dict(re.findall(r"^export const (\w+) = '([^']+)'", TYPESCRIPT, re.MULTILINE))


# --- editor and server ---


def test_initialization_options() -> None:
    read = set(re.findall(r'_get\(options, "(\w+)"', (ROOT / "server/compile_lens/lsp/lifecycle.py").read_text()))
    assert set(rows(section("1.1"))) == read == fields("InitializationOptions")


def test_messages() -> None:
    names = {server.STATUS, server.PROBE, server.TRUST, server.INTERPRETER, server.OBSERVATION}
    documented = {name for name in rows(section("1.2")) if name.startswith("compileLens/")}
    assert documented == names == set(constants().values())
    assert constants() == {name: getattr(server, name) for name in constants()}


def test_probe_state() -> None:
    keys = {name for name in rows(section("1.2")) if not name.startswith("compileLens/")}
    payload = record.Record("file:///a.py", "f", "done", Source("a.py", "")).payload("en")
    assert keys == set(payload) == fields("ProbeState")


def test_observation_state() -> None:
    table = rows(section("Observation state"))
    assert set(table) == set(observed.Observation("x", "").payload("en")) == fields("ObservationState")
    assert set(re.findall(r'`"(\w+)"`', table["state"])) == {"running", "done", "cleared"}


def test_states_and_health() -> None:
    states = set(re.findall(r'`"(\w+)"`', rows(section("1.2"))["state"]))
    assert states == {"running", "done", "stale", "cleared"}
    for state in states:
        assert f"'{state}'" in TYPESCRIPT
    health = re.search(r'health: (".*?"), message'.replace(r"\|", "|"), section("1.2"))
    assert health is not None
    assert set(re.findall(r"\w+", health[1])) == {"ok", "warning", "error"}
    assert "health: 'ok' | 'warning' | 'error'" in TYPESCRIPT


def test_commands() -> None:
    registered = set(main.create_server().protocol.fm.commands)
    assert set(rows(section("1.3"))) == registered
    assert set(re.findall(r"'(compileLens\.\w+)'", TYPESCRIPT)) == registered


def test_settings_exist_on_all_sides() -> None:
    documented = set(re.findall(r"`([a-z][\w.]*)`", re.sub(r"\(.*?\)", "", section("1.4"), flags=re.DOTALL)))
    documented -= {"compileLens"}
    source = (ROOT / "server/compile_lens/lsp/settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'reader\.\w+\(\s*"([\w.]+)"', source))
    offered = {name.removeprefix("compileLens.") for name in PROPERTIES}
    assert documented == read
    assert offered - CLIENT_ONLY == read


def _nested(values: dict[str, Any]) -> dict[str, Any]:
    """``{"a.b": 1}`` as ``{"a": {"b": 1}}``, as an editor sends it."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        *parents, last = name.split(".")
        level = result
        for parent in parents:
            level = level.setdefault(parent, {})
        level[last] = value
    return result


def test_defaults_are_the_same() -> None:
    defaults = {
        name.removeprefix("compileLens."): entry["default"]
        for name, entry in PROPERTIES.items()
        if name.removeprefix("compileLens.") not in CLIENT_ONLY
    }
    settings, problems = read_settings(_nested(defaults))
    assert problems == []
    assert settings == Settings()
    assert (Settings().timeout_s, Settings().budget_s) == (probe_cli.DEFAULT_TIMEOUT, probe_cli.DEFAULT_BUDGET)


def test_choices_are_the_same() -> None:
    assert tuple(PROPERTIES["compileLens.scope"]["enum"]) == SCOPES
    assert tuple(PROPERTIES["compileLens.severity"]["additionalProperties"]["enum"]) == SEVERITIES
    for choice in (*SCOPES, *SEVERITIES):
        assert f"`{choice}`" in section("1.4")


# --- probe events ---


def _sent_types() -> set[str]:
    """Types that the probe sends: the first argument of every ``send(...)`` and ``_relay(...)`` in its sources."""
    found: set[str] = set()
    for path in (ROOT / "compile_probe").rglob("*.py"):
        if path.parent.name == "runs":
            continue  # observed runs have events of their own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in ("send", "_relay") and node.args:
                found |= {
                    constant.value
                    for constant in ast.walk(node.args[0])
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
                }
    return {name for name in found if not name.startswith("_")}


def test_event_types() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", section("2. Probe events"), re.MULTILINE))
    assert _sent_types() == documented


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (r"stages: (.*?) \|", events.STAGES),
        (r"`status` of `done`: (.*?)\.\n", events.STATUSES),
    ],
)
def test_event_words(sentence: str, words: tuple[str, ...]) -> None:
    found = re.search(sentence, section("2. Probe events"), re.DOTALL)
    assert found is not None
    assert tuple(re.findall(r"`([\w-]+)`", found[1])) == words


def test_exit_codes_and_version() -> None:
    text = section("2. Probe events")
    assert f"`v` (schema, {events.VERSION})" in text
    assert f"{events.EXIT_UNMEASURED} could not measure, needs inputs" in text
    assert f"{events.EXIT_USAGE} usage" in text


# --- observed runs ---


def test_events_of_observed_runs() -> None:
    source = (ROOT / "compile_probe/runs/observation.py").read_text(encoding="utf-8")
    sent = set(re.findall(r'\.send\(\s*"(\w+)"', source))
    assert set(rows(section("3. Observed runs"))) == sent


def test_keys_of_observed_runs() -> None:
    from compile_probe.runs.summary import Summary
    from compile_probe.trace.facts import Break, Frame, Recompile, Skip
    from compile_probe.trace.folder import Folder
    from compile_probe.trace.record import Record
    from compile_probe.trace.sources import Sources

    text = section("3. Observed runs")
    told = Summary(Record(), Sources([]))
    frame = Frame("/a.py", 1, "f")
    events = {
        "break": told.a_break(Break("/a.py", 1, None, None, "", (), "resume", (frame,)), 1, []),
        "recompile": told.a_recompile(Recompile("/a.py", 1, "f", ""), 1, [], []),
        "skip": told.a_skip(Skip("/a.py", 1, "f", ""), 1),
    }
    for kind, event in events.items():
        assert set(re.findall(r"`(\w+)`", rows(text)[kind].split("|")[0])) == set(event) - {
            "traced_file",
            "traced_line",
        }
    result = {*told.result(Folder(ROOT / "no-such-folder")), "command", "exit"}
    assert result <= set(re.findall(r"`(\w+)`", text)), result - set(re.findall(r"`(\w+)`", text))
