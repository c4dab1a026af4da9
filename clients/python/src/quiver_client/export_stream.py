"""Reading an export while it comes, item by item, so that its size does not matter."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator

from .decoding import decode
from .errors import BadAnswerError
from .models import StoredVector

_LIST = '"vectors":['


class ExportReader:
    """Takes the pieces of an export's answer in their order, and gives the items that they complete."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder()
        self._text = ""
        self._in_list = False
        self._is_over = False

    def feed(self, piece: bytes) -> Iterator[StoredVector]:
        """Items that end in this piece."""
        self._text += self._utf8.decode(piece)
        if not self._in_list:
            # Inside of strings, quotes are escaped, so this is the list itself.
            start = self._text.find(_LIST)
            if start < 0:
                return
            self._text = self._text[start + len(_LIST) :]
            self._in_list = True
        place = 0
        while not self._is_over:
            while place < len(self._text) and self._text[place] in ", \n":
                place += 1
            if place == len(self._text):
                break
            if self._text[place] == "]":
                self._is_over = True
                break
            try:
                item, place = self._json.raw_decode(self._text, place)
            except ValueError:
                break
            yield decode(StoredVector, item)
        self._text = self._text[place:]

    def end(self) -> None:
        """To be called after the last piece. ``BadAnswerError`` where the list is not whole."""
        if not self._is_over:
            raise BadAnswerError("the export broke off")
