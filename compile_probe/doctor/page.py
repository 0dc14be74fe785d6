"""The report as text, in English or Chinese."""

from __future__ import annotations

from typing import Any

from ..ascend.readiness import Readiness

_ZH = {
    "interpreter": "解释器",
    "system": "系统",
    "packages": "软件包",
    "compiler": "C++ 编译器",
    "driver": "NPU 驱动",
    "cards": "NPU 卡",
    "variables": "环境变量",
    "backends": "后端",
    "modes": "torchair 模式",
    "operators": "算子",
    "none": "无",
    "not found": "未找到",
    "idle": "空闲",
    "no permission": "无权限",
    "deprecated": "已弃用",
    "some processes cannot be seen": "部分进程不可见",
    "convert": "可转换",
    "way on": "建议命令",
}


def text(state: Readiness, report: dict[str, Any], locale: str) -> str:
    """Lines for a terminal; the state of Ascend first."""

    def word(english: str) -> str:
        return _ZH.get(english, english) if locale.lower().startswith("zh") else english

    lines = [f"Ascend: {state.sentence(locale)}"]
    if state.command:
        lines.append(f"  {word('way on')}: {state.command}")
    memory = report["free_memory"]
    packages = ", ".join(f"{name} {version}" for name, version in report["packages"].items())
    lines += [
        f"Python {report['python']}",
        f"{word('interpreter')}: {report['interpreter']}",
        f"{word('system')}: {report['system']} {report['libc']}, {report['processors']} CPU"
        + (f", {memory / 2**30:.1f} GiB" if memory else ""),
        f"{word('packages')}: {packages or word('none')}",
        f"{word('compiler')}: {report['compiler'] or word('not found')}",
    ]
    toolkit = report["cann"]
    if toolkit is not None:
        lines.append(
            f"CANN: {toolkit['version'] or '?'}, {toolkit['folder']}, {toolkit['script'] or word('not found')}"
        )
    if report["driver"]:
        lines.append(f"{word('driver')}: {report['driver']}")
    lines += _cards(report, word)
    npu = report["torch_npu"]
    if npu is not None:
        modes = (f"{mode} ({word('deprecated')})" if mode in npu["deprecated_modes"] else mode for mode in npu["modes"])
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(npu["operators"].items()))
        converted = npu["converters"].get("converts", 0)
        lines += [
            f"{word('backends')}: {', '.join(npu['backends']) or word('none')}",
            f"{word('modes')}: {', '.join(modes) or word('none')}",
            f"{word('operators')}: {counts or word('none')}; torchair: {converted} {word('convert')}",
            *npu["missing"],
        ]
    if report["variables"]:
        lines.append(f"{word('variables')}: " + " ".join(f"{k}={v}" for k, v in report["variables"].items()))
    return "\n".join(lines) + "\n"


def _cards(report: dict[str, Any], word: Any) -> list[str]:
    entries: list[str] = []
    for card in report["cards"]:
        what = "; ".join(card["holders"]) or word("idle")
        entries.append(f"{card['number']}: {what if card['permitted'] else word('no permission')}")
    blind = f" ({word('some processes cannot be seen')})" if report["cards_blind"] and entries else ""
    return [f"{word('cards')}: " + ", ".join(entries) + blind] if entries else []
