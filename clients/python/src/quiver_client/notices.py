"""What the service says about requests that it carried out, as warnings of Python."""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Literal, TypeAlias

from .errors import QuiverWarning

__all__ = ["WarningMode"]

WarningMode: TypeAlias = Literal["once", "always", "never"]
"""How often a client gives warnings of one kind; those that differ in numbers alone are of one kind."""

_REMEMBERED_MAX = 1_000


class Notices:
    """Gives the warnings of one client."""

    def __init__(self, mode: WarningMode) -> None:
        if mode not in ("once", "always", "never"):
            raise ValueError(f'warnings are given "once", "always" or "never", not {mode!r}')
        self._mode = mode
        self._told: set[str] = set()

    def tell(self, text: str) -> None:
        """Warns, where that is to be done."""
        if self._mode == "never":
            return
        if self._mode == "once":
            # "items[3], items[9] are …" is "items[1] is …" again.
            kind = re.sub(r"(\w*\[#\])(?:, \1)+", r"\1", re.sub(r"\d+", "#", text))
            if kind in self._told:
                return
            if len(self._told) >= _REMEMBERED_MAX:
                self._told.clear()
            self._told.add(kind)
        # At the line that called the client, where Python can tell.
        if sys.version_info >= (3, 12):
            warnings.warn(text, QuiverWarning, skip_file_prefixes=(os.path.dirname(__file__),))
        else:
            warnings.warn(text, QuiverWarning, stacklevel=2)
