"""The short form of the soak: what the server holds does not grow with what was done."""

from __future__ import annotations

import gc

import pytest
from compile_lens.findings.scan import Options, scan
from compile_lens.semantics.code import Code
from compile_lens.text.source import Source

from benchmarks import soak


@pytest.mark.asyncio
@pytest.mark.timeout(180)
async def test_memory_handles_and_threads_stay_flat() -> None:
    report = await soak.session(soak.SHORT)
    assert report.problems == [], report
    assert report.requests >= soak.SHORT.hovers + soak.SHORT.cancelled + soak.SHORT.probes


def test_nothing_is_kept_of_a_file_that_was_analysed() -> None:
    texts = [soak.MODEL, soak.TARGET, *(path.read_text(encoding="utf-8") for path in soak.real_files()[:8])]
    for text in texts:
        assert scan(Source("m.py", text), Options(scope="all", with_offers=True)).error is None
    gc.collect()
    assert [one for one in gc.get_objects() if isinstance(one, Code)] == []
