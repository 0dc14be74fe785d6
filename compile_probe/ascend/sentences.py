"""What a user reads of each state of an Ascend host: a sentence in two languages, and a way on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sentence:
    """Templates for ``str.format``. ``way`` is what to do, in both languages, and ``command`` what to run, if any."""

    en: str
    zh: str
    way_en: str
    way_zh: str
    command: str = ""

    def text(self, locale: str, values: dict[str, Any]) -> str:
        """The sentence with the way on behind it."""
        zh = locale.lower().startswith("zh")
        what, way = (self.zh, self.way_zh) if zh else (self.en, self.way_en)
        joint = "" if zh else " "
        return f"{what}{joint}{way}".strip().format(**values)


STATES: dict[str, Sentence] = {
    "absent": Sentence(
        "torch_npu is not installed in this environment.",
        "此环境未安装 torch_npu。",
        "Install the build that pairs with torch {torch}, or choose another interpreter.",
        "请安装与 torch {torch} 配套的版本，或选择其他解释器。",
        "pip install torch-npu=={torch}",
    ),
    "mismatch": Sentence(
        "torch {torch} and torch_npu {torch_npu} do not pair: this torch_npu was built for torch {wants}.",
        "torch {torch} 与 torch_npu {torch_npu} 不配套：该 torch_npu 为 torch {wants} 构建。",
        "Install torch {wants}, or a torch_npu for {torch}.",
        "请安装 torch {wants}，或安装适用于 {torch} 的 torch_npu。",
        "pip install torch=={wants}",
    ),
    "cann-missing": Sentence(
        "CANN is not installed, or not at a usual place: torch_npu {torch_npu} does not find {library}.",
        "未找到 CANN：torch_npu {torch_npu} 找不到 {library}。",
        "Install the CANN toolkit, or name its set_env.sh in the setting probe.setupScript. "
        "Until then torch itself only imports with TORCH_DEVICE_BACKEND_AUTOLOAD=0; the probe sets that.",
        "请安装 CANN toolkit，或在设置 probe.setupScript 中指定其 set_env.sh。"
        "在此之前，只有设置 TORCH_DEVICE_BACKEND_AUTOLOAD=0 才能导入 torch；实测会自动设置。",
    ),
    "environment-not-loaded": Sentence(
        "CANN {cann} is installed in {folder}, but its environment is not loaded: torch_npu does not find {library}.",
        "CANN {cann} 已安装在 {folder}，但其环境未加载：torch_npu 找不到 {library}。",
        "Set probe.setupScript (or --setup-script) to {script}; a shell over ssh does not source it by itself.",
        "请将 probe.setupScript（或 --setup-script）设为 {script}；非交互式 ssh 不会自动执行它。",
        "source {script}",
    ),
    "no-permission": Sentence(
        "This user may not open {files}.",
        "当前用户无权访问 {files}。",
        "Add the user to the group that owns them ({group}) and log in again, or start the container with the devices.",
        "请将用户加入其所属组（{group}）并重新登录，或在启动容器时映射这些设备。",
        "sudo usermod -aG {group} $USER",
    ),
    "no-device": Sentence(
        "torch_npu {torch_npu} works, but there is no NPU here.",
        "torch_npu {torch_npu} 可用，但此处没有 NPU。",
        "Look for /dev/davinci* on the host; a container needs --device /dev/davinci0 and the driver's files. {hidden}",
        "请检查主机上的 /dev/davinci*；容器需要 --device /dev/davinci0 及驱动文件。{hidden}",
        "ls /dev/davinci*",
    ),
    "busy": Sentence(
        "Every NPU that may be used is busy: {holders}.",
        "所有可用的 NPU 均被占用：{holders}。",
        "Wait, or choose another card with --device npu:N.",
        "请等待，或用 --device npu:N 选择其他卡。",
    ),
    "broken": Sentence(
        "torch_npu {torch_npu} is installed, but does not work here: {message}",
        "torch_npu {torch_npu} 已安装，但无法工作：{message}",
        "Driver {driver} and CANN {cann} have to fit each other and this torch_npu.",
        "驱动 {driver} 与 CANN {cann} 须相互配套，并与该 torch_npu 配套。",
        "npu-smi info",
    ),
    "silent": Sentence(
        "Importing torch_npu {torch_npu} and asking for a card did not end within {seconds} s.",
        "导入 torch_npu {torch_npu} 并查询设备在 {seconds} 秒内未结束。",
        "A card may hang; look at npu-smi info and the driver's log.",
        "设备可能已挂起；请查看 npu-smi info 与驱动日志。",
        "npu-smi info",
    ),
    "ready": Sentence(
        "Ready: torch_npu {torch_npu}, CANN {cann}, {name}{shown}.",
        "就绪：torch_npu {torch_npu}，CANN {cann}，{name}{shown}。",
        "",
        "",
    ),
    "choose": Sentence(
        "Ready: torch_npu {torch_npu}, CANN {cann}, {count} x {name}{shown}.",
        "就绪：torch_npu {torch_npu}，CANN {cann}，{count} x {name}{shown}。",
        "Choose a card with --device npu:N; idle are {idle}.",
        "请用 --device npu:N 选择一张卡；空闲：{idle}。",
    ),
}
"""Every state has a row; the test of readiness reaches each."""
