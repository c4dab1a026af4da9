"""Answers as dataclasses: which fields they have is read off their annotations, once for each class."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .errors import BadAnswerError

T = TypeVar("T")
_Decoder = Callable[[Any], Any]
_ABSENT: Any = object()


def decode(kind: type[T], data: object) -> T:
    """An answer's data as ``kind``. Fields that it does not know are left out, so newer services can be asked, too."""
    return cast(T, _decoder(cast(Hashable, kind))(data))


@functools.cache
def _decoder(kind: Any) -> _Decoder:
    if dataclasses.is_dataclass(kind):
        return _dataclass_decoder(cast(type, kind))
    if kind is datetime:
        return _moment
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        inner = _decoder(next(argument for argument in arguments if argument is not type(None)))
        return inner if inner is _plain else lambda value: None if value is None else inner(value)
    if origin is list:
        element = _decoder(arguments[0])
        return _plain if element is _plain else lambda value: [element(one) for one in value]
    if origin is dict:
        member = _decoder(arguments[1])
        return _plain if member is _plain else lambda value: {key: member(one) for key, one in value.items()}
    if origin is None or origin in (Literal, Union, types.UnionType):
        return _plain
    raise TypeError(f"no answer holds a {kind}")


def _dataclass_decoder(kind: type) -> _Decoder:
    hints = get_type_hints(kind)
    fields = []
    for field in dataclasses.fields(kind):
        default = field.default if field.default is not dataclasses.MISSING else _ABSENT
        made = field.default_factory if field.default_factory is not dataclasses.MISSING else lambda default=default: default
        make = field.metadata.get("absent", made)
        fields.append((field.metadata.get("name", field.name), _decoder(hints[field.name]), make))

    def decode_object(data: Any) -> Any:
        if not isinstance(data, dict):
            raise BadAnswerError(f"the answer has {type(data).__name__} where {kind.__name__} belongs")
        values = []
        for name, decoder, make in fields:
            value = data.get(name, _ABSENT)
            if value is _ABSENT:
                default = make()
                if default is _ABSENT:
                    raise BadAnswerError(f"the answer lacks {name} of {kind.__name__}")
                values.append(default)
            else:
                values.append(decoder(value))
        return kind(*values)

    return decode_object


def _plain(value: Any) -> Any:
    return value


def _moment(value: Any) -> datetime:
    # Python 3.10 does not know the Z.
    return datetime.fromisoformat(value.replace("Z", "+00:00"))
