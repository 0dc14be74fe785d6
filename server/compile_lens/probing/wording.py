"""A probe's result in words, for status bar, code lens and tooltip; the device always stands by a number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

Result = Mapping[str, Any]

SENTENCE = 110
"""Characters that a code lens shows of a sentence."""


def best(result: Result) -> Optional[Mapping[str, Any]]:
    """The measurement that counts: the largest ratio among candidates with a verdict from an interval."""
    measured = [m for m in result.get("measurements") or () if m.get("ratio")]
    return max(measured, key=lambda m: m["ratio"], default=None)


def device(result: Result) -> str:
    return str(result.get("device_label") or str(result.get("device") or "").upper())


def stand_in(result: Result, locale: str) -> str:
    """Why nothing over a stand-in driver is timed."""
    label = device(result)
    return (
        f"{label}：驱动为替身，不计时"
        if locale.startswith("zh")
        else f"{label}: nothing is timed over a stand-in driver"
    )


def short(result: Optional[Result], status: str, locale: str) -> str:
    """Few words: ``CPU 1.58x``, ``CPU 0.83x slower``, ``CPU no clear difference``, ``not measured``."""
    zh = locale.startswith("zh")
    if result is not None and result.get("stand_in"):
        return device(result)
    measurement = best(result) if result and status == "ok" else None
    if result and result.get("not_compiled"):
        return "未编译" if zh else "not compiled"
    if result is None or measurement is None:
        return "未实测" if zh else "not measured"
    verdict = measurement.get("verdict")
    number = f"{device(result)} {speed_up(measurement)}"
    if verdict == "faster":
        return number
    if verdict == "slower":
        return f"{number} {'更慢' if zh else 'slower'}"
    words = {
        "no-clear-difference": ("no clear difference", "无明显差异"),
        "too-noisy": ("too noisy to tell", "噪声过大"),
        "recompiled": ("recompiled while timing", "计时期间重编译"),
    }
    en, chinese = words.get(str(verdict), ("not measured", "未实测"))
    return f"{device(result)} {chinese if zh else en}"


def precise(measurement: Mapping[str, Any]) -> bool:
    """Is the interval narrow enough for one number to stand for it?"""
    return measurement["high"] - measurement["low"] <= 0.5 * measurement["ratio"]


def speed_up(measurement: Mapping[str, Any]) -> str:
    """``1.58x``; the interval instead, ``2.2-9.2x``, where it is too wide for one number."""
    if precise(measurement):
        return f"{measurement['ratio']:.2f}x"
    return f"{measurement['low']:.1f}-{measurement['high']:.1f}x"


def lens(result: Result, status: str, message: Optional[str], locale: str) -> str:
    """One line: ``CPU: eager 1.92 ms, compiled 1.21 ms, 1.58x [1.51-1.66], inductor, 2 breaks, compile 4.1 s, ...``."""
    zh = locale.startswith("zh")
    breaks = observed_breaks(result)
    broken = f"{breaks} 处图中断" if zh else f"{breaks} break{'' if breaks == 1 else 's'}"
    measurement = best(result) if status == "ok" and not result.get("stand_in") else None
    if measurement is None:
        why = message or unmeasured(result, locale) or ("未实测" if zh else "not measured")
        return first_sentence(why) + (f", {broken}" if breaks is not None else "")
    parts = [
        f"{device(result)}: eager {milliseconds(measurement.get('eager_ms'))}",
        f"{'编译后' if zh else 'compiled'} {milliseconds(measurement.get('ms'))}",
        f"{measurement['ratio']:.2f}x [{measurement['low']:.2f}-{measurement['high']:.2f}]"
        if precise(measurement)
        else speed_up(measurement),
        str(measurement.get("variant")),
        broken,
    ]
    if measurement.get("verdict") not in ("faster", "slower"):  # no ratio to quote
        interval = f"[{measurement['low']:.2f}-{measurement['high']:.2f}]"
        parts[2] = f"{short(result, status, locale).partition(' ')[2]} {interval}"
    if measurement.get("compile_s") is not None:
        parts.append(f"{'编译' if zh else 'compile'} {measurement['compile_s']:.1f} s")
    calls = measurement.get("break_even_calls")
    if calls is not None:
        parts.append(f"{calls:,} 次调用后回本" if zh else f"repaid after {calls:,} calls")
    return ", ".join(parts)


def observed_breaks(result: Result) -> Optional[int]:
    """How many breaks were seen; ``None`` where the run ended before anything was traced."""
    breaks = result.get("breaks")
    return len(breaks) if breaks is not None and (breaks or result.get("graphs") is not None) else None


def first_sentence(text: str) -> str:
    """The first sentence of a message without its full stop; one that is too long for a line ends at a word."""
    line = text.strip().partition("\n")[0].strip()
    end = re.search(r"[.!?](?=\s|$)|。", line)
    sentence = line[: end.start()] if end is not None else line
    if len(sentence) <= SENTENCE:
        return sentence
    return (sentence[:SENTENCE].rpartition(" ")[0] or sentence[:SENTENCE]) + "…"


def failed_check(result: Result, locale: str) -> Optional[str]:
    """Why there is no number although everything ran."""
    if result.get("check") == "fail":
        return (
            "结果与 eager 不一致，不显示加速比"
            if locale.startswith("zh")
            else "results differ from eager: no speed-up shown"
        )
    return None


def not_compiled(result: Result, locale: str) -> Optional[str]:
    """Why Dynamo compiled nothing at all, in the probe's own words."""
    cause: Optional[Mapping[str, Any]] = result.get("not_compiled")
    note = next((m.get("note") for m in result.get("measurements") or () if m.get("verdict") == "not-compiled"), None)
    why = cause.get("message") if cause else note
    return f"{'未编译：' if locale.startswith('zh') else 'not compiled: '}{why}" if why else None


def unmeasured(result: Result, locale: str) -> Optional[str]:
    """Why a run that went well gave no ratio."""
    why = not_compiled(result, locale)
    if why:
        return why
    if result.get("stand_in"):
        return stand_in(result, locale)
    if any(m.get("verdict") == "recompiled" for m in result.get("measurements") or ()):
        return "每次调用都重编译，未计时" if locale.startswith("zh") else "compiled again and again: not timed"
    return failed_check(result, locale)


def detail(result: Optional[Result], status: str, message: Optional[str], locale: str) -> str:
    """Several lines of Markdown for a tooltip."""
    zh = locale.startswith("zh")
    if result is None:
        return message or ("未实测" if zh else "not measured")
    lines = [f"**{result.get('target') or ''}**"]
    name = result.get("device_name")
    lines.append(f"{'设备' if zh else 'device'}: {device(result)}" + (f" ({name})" if name else ""))
    versions: Mapping[str, Any] = result.get("versions") or {}
    if versions:
        lines.append(", ".join(f"{key} {value}" for key, value in versions.items() if value))
    for m in result.get("measurements") or ():
        if m.get("ratio"):
            confidence = f"{100 * m.get('confidence', 0.95):.0f} %"
            lines.append(
                f"{m['variant']}: {m['ratio']:.2f}x [{m['low']:.2f}-{m['high']:.2f}], {confidence}, "
                f"{m.get('verdict')}, {m.get('pairs')} {'对' if zh else 'pairs'}"
            )
        elif m.get("note"):
            lines.append(f"{m.get('variant')}: {m['note']}")
    if result.get("check"):
        lines.append(f"{'结果检查' if zh else 'check'}: {result['check']}")
    breaks = observed_breaks(result)
    if breaks is not None:
        lines.append(f"{'图中断' if zh else 'graph breaks'}: {breaks}")
    if result.get("source"):
        lines.append(f"{'输入来自' if zh else 'inputs from'}: {result['source']}")
    if message:
        lines.append(message)
    return "  \n".join(lines)


def milliseconds(value: Any) -> str:
    """A time per call with three significant digits."""
    if not isinstance(value, (int, float)):
        return "?"
    return f"{value:.3g} ms" if value < 1000 else f"{value:.0f} ms"
