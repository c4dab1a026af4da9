"""Writes the sync form of the client from the async one.

``python scripts/make_sync.py`` writes ``src/quiver_client/_sync``; with ``--check`` it only says whether that is up to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "quiver_client"
# Where the two forms differ, each is written by hand.
BY_HAND = {"__init__.py", "runtime.py"}

NOTE = "# Written from ../_async by scripts/make_sync.py: edit that.\n"
RULES = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsync(Iterator|Iterable)\b", r"\1"),
    (r"Callable\[(\[[^\]]*\]), Awaitable\[(\w+)\]\]", r"Callable[\1, \2]"),
    (r"\bAsync(Backups|Cluster|Collection|Jobs|Keys|Lanes|QuiverClient|Searches|Transport)\b", r"\1"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\baclose\b", "close"),
]


def sync_from(source: str) -> str:
    """The sync form of a module's text."""
    for pattern, replacement in RULES:
        source = re.sub(pattern, replacement, source)
    source = re.sub(r"(?<=^from collections\.abc import )(.*)$", sorted_once, source, flags=re.MULTILINE)
    return NOTE + source


def sorted_once(found: re.Match[str]) -> str:
    """The names of an import, of which two may have become one."""
    return ", ".join(sorted({name for name in found[0].split(", ") if name != "Awaitable"}))


def main() -> int:
    """Writes, or with --check compares."""
    stale = []
    for module in sorted((PACKAGE / "_async").glob("*.py")):
        if module.name in BY_HAND:
            continue
        target = PACKAGE / "_sync" / module.name
        text = sync_from(module.read_text())
        if not target.exists() or target.read_text() != text:
            stale.append(target.name)
            if "--check" not in sys.argv:
                target.write_text(text)
    if "--check" not in sys.argv:
        return 0
    for name in stale:
        print(f"_sync/{name} is not what _async/{name} gives: run scripts/make_sync.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
