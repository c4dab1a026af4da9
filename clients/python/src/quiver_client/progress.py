"""How far a bulk write is, shown to a person: by tqdm where it is installed, else in a line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .batching import BulkProgress


@contextmanager
def shown_progress(
    total: int, on_progress: Callable[[BulkProgress], None] | None, *, is_shown: bool
) -> Iterator[Callable[[BulkProgress], None] | None]:
    """What to tell of progress: ``on_progress``, and with ``is_shown`` a bar of so many items."""
    if not is_shown:
        yield on_progress
        return
    bar = _bar(total)

    def tell(progress: BulkProgress) -> None:
        bar.update(progress.items + progress.rejected - bar.n)
        if on_progress is not None:
            on_progress(progress)

    try:
        yield tell
    finally:
        bar.close()


def _bar(total: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(total)
    return tqdm(total=total, unit=" items", unit_scale=True)


class _Line:
    """A line on standard error that is written anew."""

    def __init__(self, total: int) -> None:
        self.n = 0
        self._total = total

    def update(self, count: int) -> None:
        self.n += count
        print(f"\r{self.n:,} of {self._total:,} items", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(file=sys.stderr)
