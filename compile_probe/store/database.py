"""The store of one workspace. A file that is broken or newer than we are is kept aside, and it is said."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

SCHEMA = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS inputs (
    id INTEGER PRIMARY KEY, file TEXT NOT NULL, target TEXT NOT NULL, time REAL NOT NULL, command TEXT NOT NULL,
    record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS inputs_of ON inputs (file, target, time);
CREATE TABLE IF NOT EXISTS results (
    id INTEGER PRIMARY KEY, file TEXT NOT NULL, target TEXT NOT NULL, time REAL NOT NULL, status TEXT NOT NULL,
    content TEXT NOT NULL, source TEXT NOT NULL, device TEXT NOT NULL, versions TEXT NOT NULL, result TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS results_of ON results (file, target, time);
"""
KEPT_RESULTS = 200
"""Results that are kept of a target."""
WAIT_S = 10.0


@dataclass(frozen=True)
class Recorded:
    """The calls of a target in its newest recorded run."""

    command: str
    time: float
    records: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Result:
    """A probe's result as it was kept; ``content`` is a hash of all traced files."""

    file: str
    target: str
    time: float
    status: str
    content: str
    source: str
    device: str
    versions: dict[str, Any]
    result: dict[str, Any]


class Store:
    """An open store; ``notes`` says what happened to a file that could not be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._base = self._open()
        except sqlite3.DatabaseError as error:
            self._aside(f"{error}")
            self._base = self._open()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def keep_inputs(self, command: str, records: Sequence[dict[str, Any]]) -> None:
        """Keep what a run recorded; it takes the place of what earlier runs recorded of the same targets."""
        with self._base:
            for file, target in {(str(one["file"]), str(one["target"])) for one in records}:
                self._base.execute("DELETE FROM inputs WHERE file = ? AND target = ?", (file, target))
            self._base.executemany(
                "INSERT INTO inputs (file, target, time, command, record) VALUES (?, ?, ?, ?, ?)",
                [(one["file"], one["target"], one["time"], command, json.dumps(one)) for one in records],
            )

    def inputs_of(self, file: str, target: str) -> Optional[Recorded]:
        """What was recorded of a target, if anything."""
        rows = self._base.execute(
            "SELECT command, time, record FROM inputs WHERE file = ? AND target = ? ORDER BY id", (file, target)
        ).fetchall()
        if not rows:
            return None
        return Recorded(rows[-1][0], max(row[1] for row in rows), tuple(json.loads(row[2]) for row in rows))

    def recorded_targets(self) -> list[tuple[str, str, int, float]]:
        """(file, target, calls, time) of everything recorded."""
        return self._base.execute(
            "SELECT file, target, COUNT(*), MAX(time) FROM inputs GROUP BY file, target ORDER BY file, MIN(id)"
        ).fetchall()

    def keep_result(self, result: Result) -> None:
        """Keep a result; of the older ones of this target the newest stay."""
        key = (result.file, result.target)
        with self._base:
            self._base.execute(
                "INSERT INTO results (file, target, time, status, content, source, device, versions, result) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(*key, result.time, result.status, result.content, result.source, result.device),
                    json.dumps(result.versions),
                    json.dumps(result.result),
                ),
            )
            self._base.execute(
                "DELETE FROM results WHERE file = ? AND target = ? AND id NOT IN "
                "(SELECT id FROM results WHERE file = ? AND target = ? ORDER BY id DESC LIMIT ?)",
                (*key, *key, KEPT_RESULTS),
            )

    def results(self, file: Optional[str] = None, target: Optional[str] = None, limit: int = 50) -> list[Result]:
        """Results, newest first."""
        rows = self._base.execute(
            "SELECT file, target, time, status, content, source, device, versions, result FROM results "
            "WHERE (?1 IS NULL OR file = ?1) AND (?2 IS NULL OR target = ?2) ORDER BY id DESC LIMIT ?3",
            (file, target, limit),
        ).fetchall()
        return [
            Result(file, target, time, status, content, source, device, json.loads(versions), json.loads(result))
            for file, target, time, status, content, source, device, versions, result in rows
        ]

    def _open(self) -> sqlite3.Connection:
        base = sqlite3.connect(str(self.path), timeout=WAIT_S)
        try:
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA:
                raise sqlite3.DatabaseError(f"it was written by a newer version (schema {version})")
            if version == 0:
                base.executescript(_TABLES)
                base.execute(f"PRAGMA user_version = {SCHEMA}")
                base.commit()
            base.execute("SELECT COUNT(*) FROM inputs").fetchone()
            return base
        except sqlite3.DatabaseError:
            base.close()
            raise

    def _aside(self, why: str) -> None:
        kept = self.path.with_name(f"{self.path.name}.{clock.strftime('%Y%m%d-%H%M%S')}.aside")
        with contextlib.suppress(OSError):
            self.path.replace(kept)
        for end in ("-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + end).unlink()
        self.notes.append(f"{self.path} cannot be used ({why}); it is kept as {kept.name}, and a new one is begun")
