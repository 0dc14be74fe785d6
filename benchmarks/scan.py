"""Full analysis beside the parse of the same text: ratios of medians from interleaved runs in this process.

    python benchmarks/scan.py [FILE ...]

Without arguments: files of the installed torch, cut to about 1,000, 2,000 and 7,000 lines.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import libcst
from compile_lens.findings.scan import Options, scan
from compile_lens.text.source import Source

ROUNDS = 7


def cut(text: str, lines: int) -> str:
    """The first top-level statements of a file, about so many lines."""
    module = libcst.parse_module(text)
    kept, count = [], 0
    for statement in module.body:
        count += module.code_for_node(statement).count("\n")
        kept.append(statement)
        if count >= lines:
            break
    return module.with_changes(body=kept).code


def default_texts() -> dict[str, str]:
    import importlib.util  # noqa: PLC0415

    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("no torch here to take files from; name some files")
    torch = Path(next(iter(spec.submodule_search_locations)))
    functional = (torch / "nn/functional.py").read_text(encoding="utf-8")
    return {
        "nn/functional.py, 1000 lines": cut(functional, 1000),
        "nn/modules/rnn.py": (torch / "nn/modules/rnn.py").read_text(encoding="utf-8"),
        "nn/functional.py": functional,
    }


def main() -> None:
    texts = {name: Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]} or default_texts()
    print(f"{'file':32} {'lines':>6} {'parse':>9} {'analysis':>9} {'ratio':>6}")
    for name, text in texts.items():
        parse_s, scan_s = [], []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            libcst.parse_module(text)
            middle = time.perf_counter()
            scan(Source(name, text), Options(scope="candidates"))
            scan_s.append(time.perf_counter() - middle)
            parse_s.append(middle - start)
        a, b = statistics.median(parse_s), statistics.median(scan_s)
        print(f"{name[:32]:32} {text.count(chr(10)):6} {a * 1e3:6.0f} ms {b * 1e3:6.0f} ms {b / a:6.2f}")


if __name__ == "__main__":
    main()
