"""A record in the words of the event stream: on the files at hand where those are the traced ones."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Optional

from ..trace.facts import Break, Frame, Recompile, Skip
from ..trace.folder import Folder
from ..trace.record import Record
from ..trace.sources import Place, Sources


class Summary:
    """Tells of one record; places of files are looked for once and again when more of them was quoted."""

    def __init__(self, record: Record, sources: Sources) -> None:
        self._record = record
        self._sources = sources
        self._places: dict[str, tuple[int, Place]] = {}

    def place(self, file: str) -> Place:
        quoted = self._record.quoted.get(file, {})
        known = self._places.get(file)
        if known is None or known[0] != len(quoted):
            known = self._places[file] = len(quoted), self._sources.find(file, quoted)
        return known[1]

    def at(self, file: str, line: int) -> dict[str, Any]:
        """Keys that say where a traced line is here; ``line`` is null where it is gone."""
        place = self.place(file)
        here = place.line(line)
        moved = (place.path, here) != (file, line)
        return {
            "file": place.path if here is not None and place.path else file,
            "line": here if place.path else line,
            "found": place.state if here is not None else ("gone" if place.path else place.state),
            **({"traced_file": file, "traced_line": line} if moved else {}),
        }

    def a_break(self, one: Break, count: int, processes: list[str]) -> dict[str, Any]:
        """A graph break with the keys of a probe's, and where it was seen."""
        here = self.at(one.file, one.line)
        return {
            **here,
            "end_line": here["line"],
            "gb_id": one.gb_id,
            "gb_type": one.gb_type,
            "reason": one.reason,
            "rule": None,
            "hints": list(one.hints),
            "effect": one.effect,
            "frame_skipped": one.effect == "skip-frame",
            "count": count,
            "function": one.stack[0].function if one.stack else "",
            "code": one.stack[0].code if one.stack else "",
            "stack": [self._frame(frame) for frame in one.stack],
            "processes": processes,
        }

    def _frame(self, frame: Frame) -> dict[str, Any]:
        here = self.at(frame.file, frame.line)
        return {"file": here["file"], "line": here["line"] or frame.line, "function": frame.function}

    def a_recompile(self, one: Recompile, count: int, examples: list[str], processes: list[str]) -> dict[str, Any]:
        return {
            **self.at(one.file, one.line),
            "function": one.function,
            "reason": one.reason,
            "count": count,
            "examples": examples,
            "processes": processes,
        }

    def a_skip(self, one: Skip, count: int) -> dict[str, Any]:
        return {**self.at(one.file, one.line), "function": one.function, "reason": one.reason, "count": count}

    def result(self, folder: Folder) -> dict[str, Any]:
        """All that is known, as the ``result`` of the ``done`` event."""
        record = self._record
        breaks = [self.a_break(s.fact, s.count, record.label(s.processes)) for s in record.breaks.values()]
        breaks += [self.a_break(one, 1, []) for one in record.guessed_breaks()]
        recompiles = [
            self.a_recompile(s.fact, s.count, s.examples, record.label(s.processes)) for s in record.recompiles.values()
        ]
        functions = [
            {
                **self.at(f.file, f.line),
                "function": f.function,
                "compiles": f.compiles,
                "graphs": f.graphs,
                "ops": f.ops,
                "seconds": round(f.seconds, 3),
                "dynamo_s": round(f.dynamo_s, 3),
                "aot_s": round(f.aot_s, 3),
                "inductor_s": round(f.inductor_s, 3),
            }
            for f in sorted(record.functions.values(), key=lambda f: -f.seconds)
            if f.file
        ]
        return {
            "folder": str(folder.path),
            "torch": record.torch,
            "graphs": sum(f.graphs for f in record.functions.values()),
            "compiles": sum(p.compiles for p in record.processes.values()),
            "seconds": record.seconds(),
            "processes": [
                {"pid": p.pid, "rank": p.rank, "torch": p.torch, "compiles": p.compiles, "seconds": round(p.seconds, 3)}
                for p in record.processes.values()
            ],
            "breaks": breaks,
            "recompiles": recompiles,
            "functions": functions,
            "skipped": [self.a_skip(Skip(*key), count) for key, count in record.skipped.items()],
            "cudagraph_skips": [{"reason": reason, "count": n} for reason, n in record.cudagraph_skips.most_common()],
            "traced": self._traced(),
            "sources": self._found(),
            "notes": self._notes(folder),
        }

    def _traced(self) -> dict[str, list[list[int]]]:
        traced: dict[str, list[list[int]]] = {}
        for file, lines in self._record.traced.items():
            place = self.place(file)
            here = sorted({moved for line in lines if (moved := place.line(line)) is not None})
            if place.path and here:
                traced[place.path] = _ranges(here)
        return traced

    def _found(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for file in self._record.files():
            place = self.place(file)
            found[file] = {
                "path": place.path,
                "state": place.state,
                "quoted": place.quoted,
                "agreeing": place.agreeing,
                "sha256": _hash(place.path),
            }
        return found

    def _notes(self, folder: Folder) -> list[str]:
        record, notes = self._record, list[str]()
        if not record.processes:
            notes.append("no process of the run wrote a trace: nothing was compiled, or its torch is older than 2.1")
        elif not any(p.compiles for p in record.processes.values()) and not record.breaks:
            notes.append("no compilation came to its end")
        if record.guessed_breaks():
            notes.append("this torch's trace tells no graph breaks; their lines are taken from where functions go on")
        for file in self._record.files():
            state = self.place(file).state
            if state in ("missing", "other"):
                why = "no file here has its lines" if state == "missing" else "the file of that name here is another"
                notes.append(f"{file}: {why}")
            elif state == "changed":
                notes.append(f"{file} changed since the run; lines were found again by their text")
        if folder.malformed:
            notes.append(f"{folder.malformed} lines of the trace could not be read")
        notes += [f"{name} ends in the middle of a line" for name in folder.cut]
        notes += folder.unreadable
        if record.dropped:
            notes.append(f"{record.dropped} more facts of kinds that are already many were left out")
        return notes


def _ranges(lines: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def _hash(path: Optional[str]) -> Optional[str]:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else None
    except OSError:
        return None
