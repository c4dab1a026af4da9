"""Ids as texts: whole numbers and UUIDs are taken, too."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias, Union
from uuid import UUID

from .errors import InvalidValueError
from .values import EXACT_MAX, checked_text, is_nothing, named

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ExternalId"]

ExternalId: TypeAlias = Union[str, int, UUID, "np.integer[Any]"]
"""An id: a text, or a whole number or UUID, which becomes one (1 is "1")."""

FIELD = "external_id"
_REMEMBERED_MAX = 1_000_000


def id_text(given: object, field: str = FIELD) -> str:
    """The text of an id. ``InvalidValueError`` for what is none."""
    try:
        return given if type(given) is str and given.isascii() else _text(given)
    except InvalidValueError as error:
        raise error.below(field) from None


def id_texts(given: Iterable[object], field: str = "ids") -> list[str]:
    """The texts of several ids; the error names the place of one that is none."""
    if isinstance(given, (str, bytes)):
        raise InvalidValueError(f"is one {'text' if isinstance(given, str) else 'value'}, not a list of ids", field=field)
    return [one if type(one) is str and one.isascii() else id_text(one, f"{field}[{i}]") for i, one in enumerate(given)]


def _text(given: Any) -> str:
    if isinstance(given, Enum):
        return _text(given.value)
    if isinstance(given, str):
        return checked_text(str(given))
    if is_nothing(given):
        raise InvalidValueError(f"there is none: it is {given}" if given is not None else "there is none")
    if isinstance(given, bool) or getattr(getattr(given, "dtype", None), "kind", None) == "b":
        raise InvalidValueError(f"a truth value ({given}) is no id")
    if isinstance(given, UUID):
        return str(given)
    # Columns of whole numbers of which some are missing are floats in pandas, and of databases decimals.
    if isinstance(given, (float, Decimal)) or getattr(getattr(given, "dtype", None), "kind", None) == "f":
        whole = int(given)
        if given != whole:
            raise InvalidValueError(f"{given} is no whole number and no text")
        if abs(whole) > EXACT_MAX and not isinstance(given, Decimal):
            raise InvalidValueError(f"{given} is a float, of which several ids can be the same: read ids as whole numbers or texts")
        return str(whole)
    try:
        return str(operator.index(given))
    except TypeError:
        raise InvalidValueError(f"is {named(given)}, not a text, a whole number or a UUID") from None


class CallIds:
    """The ids of one call, of which no two that are different there may be the same text: 1 and "1"."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._digits: dict[str, int] = {}
        self._is_full = False

    def note(self, given: object, text: str, position: int) -> None:
        """Takes the id of the item at a position, and its text. ``InvalidValueError`` where another kind of id has that text."""
        is_text = isinstance(given, (str, Enum))
        if is_text and not _is_number(text):
            return
        own, other = (self._digits, self._numbers) if is_text else (self._numbers, self._digits)
        if text in other:
            number, words = (position, other[text]) if not is_text else (other[text], position)
            raise InvalidValueError(
                f"the number {text} of item {number} and the text {text!r} of item {words} are one id: write all ids as texts",
                field=FIELD,
            )
        if len(own) < _REMEMBERED_MAX:
            own[text] = position
        elif text not in own:
            self._is_full = True
        if self._is_full and self._numbers and self._digits:
            # Too many to tell whether they meet.
            raise InvalidValueError("ids are both numbers and texts of digits, and many: write all ids as texts", field=FIELD)


def _is_number(text: str) -> bool:
    return text[:1] in "-0123456789" and text.removeprefix("-").isdecimal() and text.isascii()
