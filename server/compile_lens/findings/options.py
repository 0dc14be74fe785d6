"""What a scan looks for, and for which environment."""

from __future__ import annotations

from dataclasses import dataclass

from ..knowledge.versions import NEWEST, Version

SCOPES = ("regions", "candidates", "all")


@dataclass(frozen=True)
class Options:
    """What to look for, and for which environment."""

    scope: str = "regions"
    torch_version: Version = NEWEST
    python_version: tuple[int, int] = (3, 11)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    locale: str = "en"
    torch_folder: str = ""
    """Where the torch of the chosen interpreter is installed; its files are read, never run."""
    with_offers: bool = False
    """Also compute targets and offers, which an editor shows."""

    def wants(self, code: str) -> bool:
        """Codes are chosen by prefix, as in ruff: ``CL1`` is every graph break."""
        chosen = not self.select or any(code.startswith(prefix.upper()) for prefix in self.select)
        return chosen and not any(code.startswith(prefix.upper()) for prefix in self.ignore)
