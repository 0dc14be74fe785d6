"""Error codes of CANN that a capture or a replay meets, as sentences with a remedy, in English and Chinese.

Numbers and names are those of ``rt_error_codes.h``, which lies in every torch_npu wheel; remedies are what users of
these codes reported to help. The device's own text stands behind the sentence where it says more.
"""

from __future__ import annotations

import re
from typing import Optional

from ..ascend.sentences import Sentence

NO_STREAMS = frozenset({207005, 207008})
"""The device has no stream left for another graph."""

CODES: dict[int, Sentence] = {
    107001: Sentence(
        "There is no such NPU (107001).",
        "没有这张 NPU 卡（107001）。",
        "Choose another --device; ASCEND_RT_VISIBLE_DEVICES may hide cards.",
        "请选择其他 --device；ASCEND_RT_VISIBLE_DEVICES 可能隐藏了部分卡。",
    ),
    107024: Sentence(
        "The capture depends on work outside it (107024).",
        "捕获依赖于捕获之外的任务（107024）。",
        "Wait for that work before the capture, or split at the op.",
        "请在捕获前等待该任务完成，或在该算子处切分。",
    ),
    107025: Sentence(
        "A stream was drawn into the capture and not joined to the one it began on (107025).",
        "有流被带入捕获，但没有汇合到捕获开始的流（107025）。",
        "Have the first stream wait for it (wait_stream), or split at the op that uses a stream of its own.",
        "请让起始流等待它（wait_stream），或在使用独立流的算子处切分。",
    ),
    107027: Sentence(
        "Something waits for the device during the capture: .item(), a size that depends on values, print of a tensor, "
        "or synchronize() (107027).",
        "捕获期间有等待设备的操作：.item()、依赖数值的形状、打印张量或 synchronize()（107027）。",
        "Split at that op, or take the value before the compiled code.",
        "请在该算子处切分，或在编译代码之前取出该值。",
    ),
    107028: Sentence(
        "An event that was recorded in the capture is waited for on the host (107028).",
        "主机等待了在捕获中记录的事件（107028）。",
        "Wait after the capture, or split at the op.",
        "请在捕获之后等待，或在该算子处切分。",
    ),
    107030: Sentence(
        "A copy between pageable host memory and the device, or another call that waits, runs in the capture (107030).",
        "捕获中出现了可分页主机内存与设备之间的拷贝，或其他需要等待的调用（107030）。",
        "Make the tensor on the device, or copy from pinned memory with non_blocking=True.",
        "请直接在设备上创建张量，或使用锁页内存并设置 non_blocking=True。",
    ),
    107033: Sentence(
        "The capture holds a task that graphs do not support (107033).",
        "捕获中包含图不支持的任务（107033）。",
        "Split at that op; communication ops are the usual cause.",
        "请在该算子处切分；通信算子是常见原因。",
    ),
    207001: Sentence(
        "The NPU has no memory left for the graph (207001).",
        "NPU 显存不足，无法容纳该图（207001）。",
        "Capture fewer or smaller sizes, or free memory on the card.",
        "请减少或缩小捕获的尺寸，或释放该卡的显存。",
    ),
    207005: Sentence(
        "The NPU has no resources left for another graph (207005).",
        "NPU 没有资源再容纳一个图（207005）。",
        "Capture fewer sizes; on drivers before 25.5 this code stands for used-up streams too.",
        "请减少捕获的尺寸；25.5 之前的驱动也用此码表示流耗尽。",
    ),
    207008: Sentence(
        "The NPU has no streams left: every captured graph holds at least one, and there are about 2,000 (207008).",
        "NPU 的流已耗尽：每个捕获的图至少占用一个流，总数约 2000（207008）。",
        "Capture fewer sizes, or make fewer pieces with fewer split points.",
        "请减少捕获的尺寸，或减少切分点以减少片段。",
    ),
    507011: Sentence(
        "A replay reads or writes memory that was freed since the capture (507011).",
        "重放读写了捕获之后已释放的内存（507011）。",
        "Keep the tensors that were captured; do not move weights of a captured model.",
        "请保留被捕获的张量；不要移动已捕获模型的权重。",
    ),
    507903: Sentence(
        "The capture was broken by an earlier error (507903).",
        "捕获已被之前的错误破坏（507903）。",
        "Look at the first error, not at this one.",
        "请查看第一个错误，而不是此错误。",
    ),
}

ACLOP = Sentence(
    "The op {op} runs as aclop here, which an ACL graph cannot hold.",
    "算子 {op} 在此以 aclop 方式执行，ACL 图无法容纳。",
    "Set torch.npu.set_compile_mode(jit_compile=False) and torch.npu.config.allow_internal_format = False; "
    "if it stays, split at this op.",
    "请设置 torch.npu.set_compile_mode(jit_compile=False) 与 torch.npu.config.allow_internal_format = False；"
    "若仍出现，请在该算子处切分。",
)

_TEXTS: tuple[tuple[re.Pattern[str], Sentence], ...] = (
    (re.compile(r"Current working aclop is (?P<op>\w+)"), ACLOP),
    (
        re.compile(r"must be captured on a non-default stream"),
        Sentence(
            "The default stream cannot be captured.",
            "默认流不能被捕获。",
            "Capture on a stream of its own.",
            "请在单独的流上捕获。",
        ),
    ),
    (
        re.compile(r"Do not support TASK_QUEUE_ENABLE = 2"),
        Sentence(
            "TASK_QUEUE_ENABLE=2 does not go with graphs.",
            "TASK_QUEUE_ENABLE=2 与图不兼容。",
            "Set it to 1.",
            "请将其设为 1。",
        ),
    ),
)
"""What torch_npu itself refuses, by its words."""

_CODE = re.compile(r"error code is (\d{6})")


def code_of(text: str) -> Optional[int]:
    """The code of CANN in an exception of torch_npu."""
    found = _CODE.search(text)
    return int(found[1]) if found else None


def explain(text: str, locale: str = "en") -> Optional[str]:
    """The sentence for an exception's text, with the remedy; None where it is not known."""
    for pattern, sentence in _TEXTS:
        found = pattern.search(text)
        if found:
            return sentence.text(locale, found.groupdict())
    code = code_of(text)
    return CODES[code].text(locale, {}) if code in CODES else None
