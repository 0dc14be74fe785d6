"""The short form of the soak: what the server holds does not grow with what was done."""

from __future__ import annotations

import pytest

from benchmarks import soak


@pytest.mark.asyncio
@pytest.mark.timeout(180)
async def test_memory_handles_and_threads_stay_flat() -> None:
    report = await soak.session(soak.SHORT)
    assert report.problems == [], report
    assert report.requests >= soak.SHORT.hovers + soak.SHORT.cancelled + soak.SHORT.probes
