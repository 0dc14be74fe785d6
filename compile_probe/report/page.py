"""One HTML file about an observed run that stands alone: no script, nothing fetched, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .observed import cause, place

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; vertical-align: top;
border-bottom: 1px solid var(--line); } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .4rem .6rem; margin: .3rem 0; overflow-x: auto; }
.soft { opacity: .75; } .bar { display: flex; height: 1rem; border-radius: 3px; overflow: hidden; }
.bar span { display: block; } .d { background: #4c78a8; } .a { background: #f58518; } .i { background: #54a24b; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
"""


def page(result: dict[str, Any]) -> str:
    """The page of a result (docs/protocol.md, observed runs)."""
    parts = [
        f"<h1>torch.compile in <code>{escape(_command(result))}</code></h1>",
        f"<p>{escape(_sentence(result))}</p>",
        _stages(result["seconds"]),
        "<h2>Graph breaks</h2>",
        "".join(map(_break, result["breaks"])) or "<p>None.</p>",
        "<h2>Recompiles</h2>",
        _recompiles(result["recompiles"]),
    ]
    if result["skipped"]:
        rows = [(place(s), s["function"], s["count"], s["reason"]) for s in result["skipped"]]
        parts += ["<h2>Functions left to Python</h2>", _table(("place", "function", "times", "reason"), rows)]
    if result["cudagraph_skips"]:
        rows = [(s["count"], s["reason"]) for s in result["cudagraph_skips"]]
        parts += ["<h2>Without a CUDA graph</h2>", _table(("times", "reason"), rows)]
    rows = [
        (place(f), f["function"], f["compiles"], f["graphs"], f["ops"], f["seconds"], f["dynamo_s"], f["aot_s"],
         f["inductor_s"])
        for f in result["functions"]
    ]  # fmt: skip
    heads = ("place", "function", "compilations", "graphs", "ops", "seconds", "Dynamo", "AOTAutograd", "Inductor")
    parts += ["<h2>Compilations</h2>", _table(heads, rows)]
    processes = [(p["rank"], p["pid"], p["torch"], p["compiles"], p["seconds"]) for p in result["processes"]]
    parts += ["<h2>Processes</h2>", _table(("rank", "pid", "torch", "compilations", "compile seconds"), processes)]
    files = [(file, s["path"] or "-", s["state"], f"{s['agreeing']}/{s['quoted']}") for file, s in _files(result)]
    parts += ["<h2>Files</h2>", _table(("in the trace", "here", "state", "quoted lines that agree"), files)]
    if result["notes"]:
        parts += ["<h2>Notes</h2><ul>", *(f"<li>{escape(note)}</li>" for note in result["notes"]), "</ul>"]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Compile Lens: observed run</title>'
        f"<style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def write(result: dict[str, Any], path: Path) -> None:
    """Write the page; whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(page(result), encoding="utf-8", errors="backslashreplace")
    part.replace(path)


def _command(result: dict[str, Any]) -> str:
    return " ".join(result.get("command") or []) or result["folder"]


def _sentence(result: dict[str, Any]) -> str:
    ended = f" It ended with exit code {result['exit']}." if result.get("exit") is not None else ""
    torch = ", ".join(result["torch"]) or "unknown"
    return (
        f"{result['compiles']} compilations, {result['graphs']} graphs, {len(result['breaks'])} distinct graph breaks, "
        f"{len(result['recompiles'])} distinct recompiles, in {len(result['processes'])} processes, "
        f"torch {torch}.{ended}"
    )


def _stages(seconds: dict[str, float]) -> str:
    total = seconds["total"]
    if not total:
        return ""
    parts = (("d", "Dynamo", "dynamo"), ("a", "AOTAutograd", "aot"), ("i", "Inductor", "inductor"))
    bar = "".join(f'<span class="{c}" style="width:{100 * seconds[k] / total:.2f}%"></span>' for c, _, k in parts)
    words = ", ".join(f"{name} {seconds[key]:.2f} s" for _, name, key in parts)
    return f'<p>Compile time {total:.2f} s: {words}.</p><div class="bar">{bar}</div>'


def _break(one: dict[str, Any]) -> str:
    skipped = " The whole frame runs eagerly." if one["frame_skipped"] else ""
    stack = "\n".join(f"{frame['file']}:{frame['line']} in {frame['function']}" for frame in one["stack"])
    code = f"<pre>{escape(one['code'])}</pre>" if one["code"] else ""
    hints = "".join(f"<li>{escape(hint)}</li>" for hint in one["hints"])
    who = f" in {', '.join(one['processes'])}" if one["processes"] else ""
    return (
        f"<h3><code>{escape(place(one))}</code> {escape(cause(one))}</h3>{code}"
        f'<p>{escape(one["reason"])}{skipped} <span class="soft">{one["count"]} times{escape(who)}</span></p>'
        + (f"<ul>{hints}</ul>" if hints else "")
        + f"<details><summary>stack</summary><pre>{escape(stack)}</pre></details>"
    )


def _recompiles(recompiles: Sequence[dict[str, Any]]) -> str:
    if not recompiles:
        return "<p>None.</p>"
    rows = [(place(r), r["function"], r["count"], "; ".join(r["examples"])) for r in recompiles]
    return _table(("place", "function", "times", "guard that failed"), rows)


def _files(result: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    return result["sources"].items()


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="n">{value:.2f}</td>'
    if isinstance(value, int):
        return f'<td class="n">{value}</td>'
    return f"<td>{escape('-' if value is None else str(value))}</td>"
