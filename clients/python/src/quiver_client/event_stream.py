"""Reading an answer while a language model writes it, event by event."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .answers import envelope_data
from .decoding import decode
from .errors import BadAnswerError
from .models import Answer, AnswerSource
from .notices import Notices


@dataclass(frozen=True)
class AnswerEvent:
    """A step of an answer: first its ``sources``, then more of its ``text``, each time, and last the whole ``answer``."""

    sources: list[AnswerSource] | None = None
    text: str | None = None
    answer: Answer | None = None


class EventReader:
    """Takes the pieces of a stream of events in their order, and gives the events that they complete."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._is_over = False

    def feed(self, piece: bytes, headers: Mapping[str, str]) -> Iterator[AnswerEvent]:
        """Events that end in this piece. Raises the error of an envelope."""
        *blocks, self._text = (self._text + self._utf8.decode(piece)).split("\n\n")
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            name, data = fields.get("event"), fields.get("data", "")
            if name == "sources":
                yield AnswerEvent(sources=decode(list[AnswerSource], json.loads(data)["sources"]))
            elif name == "text":
                yield AnswerEvent(text=json.loads(data)["text"])
            elif name == "envelope":
                self._is_over = True
                yield AnswerEvent(answer=decode(Answer, envelope_data(data, self._notices, status=200, headers=headers)))

    def end(self) -> None:
        """To be called after the last piece. ``BadAnswerError`` where the envelope is missing."""
        if not self._is_over:
            raise BadAnswerError("the answer broke off")
