"""What people have in metadata, filters, ids and vectors, without a service."""

from __future__ import annotations

import json
import pickle
from array import array
from collections import OrderedDict, deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from quiver_client import InvalidValueError, Item, encode_vector
from quiver_client.batching import Batcher
from quiver_client.bodies import filters_body, item_body, items_body, json_bytes, metadata_body, moment, shown_item
from quiver_client.ids import CallIds, id_text
from quiver_client.values import shortest_float

np = pytest.importorskip("numpy")


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


EAST = timezone(timedelta(hours=5, minutes=30))
VALUES: list[tuple[Any, Any]] = [
    (np.int64(7), 7),
    (np.uint8(7), 7),
    (np.float32(0.5), 0.5),
    (np.float32(0.1), 0.1),
    (np.float32(1e-45), 1e-45),
    (np.float32(3.4028235e38), 3.4028235e38),
    (np.float32(16777216), 16777216.0),
    (np.float16(0.1), 0.0999755859375),
    (np.array([0.1, 2.7, np.nan], dtype=np.float32), [0.1, 2.7, None]),
    (np.array([[0.1], [0.3]], dtype=np.float32), [[0.1], [0.3]]),
    (array("f", [0.1, 0.7]), [0.1, 0.7]),
    (np.float64(0.1), 0.1),
    (np.float16(0.5), 0.5),
    (np.longdouble(1.5), 1.5),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.array([[1, 2], [3, 4]], dtype=np.int8), [[1, 2], [3, 4]]),
    (np.array(3.5), 3.5),
    (np.array([1, None, "a"], dtype=object), [1, None, "a"]),
    (np.array(["2024-01-02", "NaT"], dtype="datetime64[ns]"), ["2024-01-02T00:00:00.000Z", None]),
    (np.datetime64("2024-01-02T03:04:05.123456789"), "2024-01-02T03:04:05.123456789Z"),
    (np.datetime64("1969-12-31T23:59:59.5"), "1969-12-31T23:59:59.500Z"),
    (np.datetime64("2024-05"), "2024-05-01T00:00:00.000Z"),
    (np.timedelta64(90, "m"), "PT1H30M"),
    (np.datetime64("NaT"), None),
    (np.timedelta64("NaT"), None),
    (np.float32("nan"), None),
    (float("nan"), None),
    (float("-inf"), None),
    (Decimal("NaN"), None),
    ([float("nan"), None, 1], [None, None, 1]),
    (2**53 - 1, 2**53 - 1),
    (2**53, "9007199254740992"),
    (-(2**63), "-9223372036854775808"),
    (np.int64(2**63 - 1), "9223372036854775807"),
    (np.uint64(2**64 - 1), "18446744073709551615"),
    (datetime(2024, 1, 2, 3, 4, 5, 123456, tzinfo=timezone.utc), "2024-01-02T03:04:05.123456Z"),
    (datetime(2024, 1, 2, 3, 4, 5, tzinfo=EAST), "2024-01-01T21:34:05.000Z"),
    (datetime(2024, 1, 2), "2024-01-02T00:00:00.000Z"),
    (datetime(1, 1, 1, tzinfo=EAST), "0001-01-01T00:00:00+05:30"),
    (date(2024, 1, 2), "2024-01-02T00:00:00.000Z"),
    (time(1, 2, 3, 500_000), "01:02:03.500"),
    (timedelta(days=1, seconds=1.5), "PT24H1.5S"),
    (-timedelta(minutes=61), "PT-1H-1M"),
    (timedelta(0), "PT0S"),
    (Decimal("1.10"), 1.1),
    (Decimal("3"), 3),
    (Decimal("0.1234567890123456789"), "0.1234567890123456789"),
    (Decimal("12345678901234567890"), "12345678901234567890"),
    (Decimal("9007199254740993.00"), "9007199254740993.00"),
    (Decimal("9007199254740991.00"), 9007199254740991),
    (Decimal("1E+20"), "100000000000000000000"),
    (Decimal("1E+9999999"), "1E+9999999"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Color.RED, "red"),
    (Level.HIGH, 3),
    (b"\x00\xff", "AP8="),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset(["b", "a"]), ["a", "b"]),
    ((1, (2,)), [1, [2]]),
    (range(3), [0, 1, 2]),
    (deque([1]), [1]),
    ({"a": 1}.keys(), ["a"]),
    (array("d", [0.5]), [0.5]),
    (OrderedDict(a=np.int8(1)), {"a": 1}),
    (MappingProxyType({"a": None}), {"a": None}),
    (
        {np.int64(2): "b", True: "c", None: "n", 1.5: "f", Color.RED: "d", date(2024, 1, 2): "e"},
        {"2": "b", "true": "c", "null": "n", "1.5": "f", "red": "d", "2024-01-02T00:00:00.000Z": "e"},
    ),
    (PurePosixPath("/a/b"), "/a/b"),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=[repr(value) for value, _ in VALUES])
def test_a_value_becomes_one_of_json(value: Any, expected: Any) -> None:
    body = metadata_body({"x": value})
    assert body == {"x": expected}
    assert type(body["x"]) is type(expected)
    assert json.loads(json_bytes(body)) == {"x": expected}


def test_values_of_pandas_become_those_of_json() -> None:
    pd = pytest.importorskip("pandas")
    given = {
        "none": [pd.NA, pd.NaT],
        "moment": pd.Timestamp("2024-01-02T03:04:05.123456789", tz="Europe/Berlin"),
        "day": pd.Timestamp("2024-01-02"),
        "length": pd.Timedelta("1h 1ns"),
        "series": pd.Series([1, None], dtype="Int64"),
        "moments": pd.Series(pd.to_datetime(["2024-01-02", None])),
        "index": pd.Index(["a"]),
        "kinds": pd.Categorical(["a", None]),
        "month": pd.Period("2024-01"),
        "between": pd.Interval(0, 1),
    }
    assert metadata_body(given) == {
        "none": [None, None],
        "moment": "2024-01-02T02:04:05.123456789Z",
        "day": "2024-01-02T00:00:00.000Z",
        "length": "PT1H0.000000001S",
        "series": [1, None],
        "moments": ["2024-01-02T00:00:00.000Z", None],
        "index": ["a"],
        "kinds": ["a", None],
        "month": "2024-01",
        "between": "(0, 1]",
    }


def test_what_can_not_be_sent_is_named_with_its_item_and_place() -> None:
    good = {"external_id": "a", "text": "x"}
    cases: list[tuple[Any, str]] = [
        ({"metadata": {"tags": [{"deep": 1 + 2j}]}}, "metadata.tags[0].deep: is a complex"),
        ({"metadata": {"f": Fraction(1, 3)}}, "metadata.f: is a Fraction"),
        ({"metadata": {"f": object()}}, "metadata.f: is an object"),
        ({"metadata": {"f": (n for n in [1])}}, "metadata.f: is a generator"),
        ({"metadata": {("a", "b"): 1}}, "metadata: a tuple can't be a key"),
        ({"metadata": {1: 1, "1": 2}}, "metadata: two of its keys are '1'"),
        ({"metadata": {"f": "half \ud800"}}, "metadata.f: character 5"),
        ({"metadata": [1]}, "metadata: is a list, not an object"),
        ({"text": 5}, "text: is an int, not a text"),
        ({"text": "\udfff"}, "text: character 0"),
        ({"vector": [0.5, None]}, "vector: number 1 is None"),
        ({"vector": [0.5, float("nan")]}, "vector: number 1 is nan"),
        ({"vector": np.array([1, np.inf])}, "vector: number 1 is inf"),
        ({"vector": [1e39]}, "vector: number 0 is 1e+39, beyond what float32 holds"),
        ({"vector": np.array([0, -1e300])}, "vector: number 1 is -1e+300, beyond what float32 holds"),
        ({"vector": [10**400]}, "vector: number 0 is 1000"),
        ({"vector": [0.5, "a"]}, "vector: number 1 is 'a', a str"),
        ({"vector": [[0.5, 1]]}, "vector: is a list of lists"),
        ({"vector": np.zeros((1, 2))}, r"vector: a vector has one dimension, not the shape (1, 2)"),
        ({"vector": np.array(["a"])}, "vector: is an array of <U1"),
        ({"vector": np.array([1j])}, "vector: is an array of complex128"),
        ({"vector": {"a": 1}}, "vector: is a dict, not a list of numbers; metadata are given as metadata"),
        ({"vector": 0.5}, "vector: is a float, not a list of numbers"),
        ({"vector": b"abc"}, "vector: has 3 bytes"),
        ({"vector": "a text"}, "vector: is a text that is no base64"),
        ({"vector": "cats"}, "vector: is a text that is no base64 of float32 values; a text to be embedded is given as text"),
        ({"vector": "[0.5, 'a']"}, """vector: number 1 is "'a'", a str"""),
        ({"vector": "[0.5, nan]"}, "vector: number 1 is nan"),
        ({"vector": "[0.5, , 1]"}, "vector: number 1 is '', a str"),
        ({"vector": "[[0.5, 1]]"}, "vector: number 0 is '[0.5', a str"),
        ({"vector": "[0.5 1. ... 2.]"}, "vector: is a list that numpy has shortened"),
        ({"expires_at": datetime(2024, 1, 1)}, "expires_at: a moment needs a time zone"),
        ({"expires_at": 5}, "expires_at: is an int"),
        ({"unknown": object()}, "unknown: is an object"),
    ]
    for wrong, message in cases:
        with pytest.raises(InvalidValueError) as found:
            items_body([good, {"external_id": "b7", "text": "x", **wrong}])
        assert str(found.value).startswith(f"item 1 ('b7'), {message}"), str(found.value)
        assert (found.value.position, found.value.external_id, isinstance(found.value, ValueError)) == (1, "b7", True)
    copy = pickle.loads(pickle.dumps(found.value))
    assert (str(copy), copy.field, copy.position) == (str(found.value), "unknown", 1)


def test_what_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(InvalidValueError, match="metadata: is nested too deeply, or holds itself"):
        metadata_body(loop)


def test_fields_without_a_value_are_left_out_and_none_stays() -> None:
    given = {"external_id": "a", "vector": float("nan"), "text": np.nan, "metadata": np.nan, "expires_at": None}
    assert item_body(given) == {"external_id": "a", "expires_at": None}
    assert item_body(Item("a", text="x")) == {"external_id": "a", "text": "x"}
    assert item_body(Item("a", text="x", expires_at=None)) == {"external_id": "a", "text": "x", "expires_at": None}


def test_filters_take_the_same_values_but_none_that_is_no_value() -> None:
    after = datetime(2024, 1, 1, tzinfo=timezone.utc)
    given = {"year": {"$gte": np.int64(1900), "$in": {1, 2}}, "$and": [{"at": {"$gt": after}}, {"lent": None}], "id": 2**60}
    assert filters_body(given) == {
        "year": {"$gte": 1900, "$in": [1, 2]},
        "$and": [{"at": {"$gt": "2024-01-01T00:00:00.000Z"}}, {"lent": None}],
        "id": str(2**60),
    }
    with pytest.raises(InvalidValueError, match=r"filters\.\$or\[1\]\.year\.\$gt: nan is no value"):
        filters_body({"$or": [{"year": 1}, {"year": {"$gt": float("nan")}}]})
    with pytest.raises(InvalidValueError, match="filters: is a list, not an object"):
        filters_body([{"year": 1}])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("a", "a"),
        (7, "7"),
        (-7, "-7"),
        (np.int64(7), "7"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (2**100, str(2**100)),
        (7.0, "7"),
        (np.float64(7), "7"),
        (Decimal("7"), "7"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (np.str_("a"), "a"),
        (Color.RED, "red"),
        (Level.HIGH, "3"),
    ],
)
def test_an_id_becomes_a_text(given: Any, text: str) -> None:
    assert id_text(given) == text
    assert item_body({"external_id": given, "text": "x"})["external_id"] == text


@pytest.mark.parametrize("given", [None, float("nan"), 1.5, True, np.bool_(False), b"a", [1], object(), np.datetime64("NaT"), float("inf")])
def test_what_is_no_id_is_refused(given: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^item 1, external_id: "):
        items_body([{"external_id": "a", "text": "x"}, {"external_id": given, "text": "x"}])


def test_a_number_and_its_text_are_one_id_and_so_refused_in_one_call() -> None:
    def item(external_id: Any) -> dict[str, Any]:
        return {"external_id": external_id, "text": "x"}

    message = r"the number 1 of item {} and the text '1' of item {} are one id"
    with pytest.raises(InvalidValueError, match=message.format(0, 2)):
        items_body([item(1), item("a"), item("1")])
    with pytest.raises(InvalidValueError, match=message.format(1, 0)):
        items_body([item("1"), item(np.int8(1))])
    batcher = Batcher(batch_items=1, batch_bytes=100)
    batcher.add(item("1"))
    batcher.add(item("2"))
    with pytest.raises(InvalidValueError, match=message.format(2, 0)):
        batcher.add(item(1))
    # The same id again is a later write of it.
    assert [one["external_id"] for one in items_body([item(1), item(1.0), item(np.int64(1)), item("01"), item("a")])] == [
        "1",
        "1",
        "1",
        "01",
        "a",
    ]


def test_ids_of_both_kinds_that_are_too_many_to_remember_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiver_client.ids._REMEMBERED_MAX", 2)
    ids = CallIds()
    for n in range(5):
        ids.note(str(n), str(n), n)
    with pytest.raises(InvalidValueError, match="numbers and texts of digits"):
        ids.note(9, "9", 5)
    numbers = CallIds()
    for n in range(5):
        numbers.note(n, str(n), n)


def test_arrays_of_every_kind_of_number_are_vectors() -> None:
    expected = encode_vector([1.0, 0.0, 3.0])
    for kind in ("f2", "f4", "f8", ">f4", "g", "i1", "u1", "i2", "i4", "u4", "i8", "u8"):
        assert encode_vector(np.array([1, 0, 3], dtype=kind)) == expected, kind
    assert encode_vector(np.array([True, False, 3], dtype=object)) == expected
    assert encode_vector([np.float32(1), Decimal(0), np.int64(3)]) == expected  # type: ignore[list-item]
    assert encode_vector(n for n in (1, 0, 3)) == expected  # type: ignore[arg-type]
    values = np.array([0.1, 0.2], dtype=np.float32)
    assert encode_vector(values) == encode_vector(values.tobytes())


def test_items_that_are_none_are_told_from_items() -> None:
    with pytest.raises(InvalidValueError, match="this is one item, not several"):
        items_body({"external_id": "a"})  # type: ignore[dict-item]
    with pytest.raises(InvalidValueError, match="use upsert_arrays"):
        items_body(np.zeros((2, 2)))
    with pytest.raises(InvalidValueError, match="item 0: is a tuple, not an Item or a mapping"):
        items_body([("a", [1, 2])])  # type: ignore[list-item]
    with pytest.raises(InvalidValueError, match="item 0: an item needs an external_id"):
        items_body([{"id": "a"}])


def test_floats_that_several_ids_can_be_are_none() -> None:
    assert id_text(float(2**53 - 1)) == str(2**53 - 1)
    for one in (float(2**53), np.float64(2**60), -1e300):
        with pytest.raises(InvalidValueError, match="is a float, of which several ids can be the same"):
            id_text(one)
    assert id_text(Decimal(2**60)) == str(2**60)


def test_what_is_behind_a_mask_is_no_number() -> None:
    assert encode_vector(np.ma.masked_array([0.5, 1.0], [False, False])) == encode_vector([0.5, 1.0])
    with pytest.raises(InvalidValueError, match="number 1 is None"):
        encode_vector(np.ma.masked_array([0.5, 1.0], [False, True]))


def test_half_of_a_character_in_a_key_is_named() -> None:
    with pytest.raises(InvalidValueError, match=r"metadata\.a: character 1 of the text is half of one"):
        metadata_body({"a": {"b\ud800": 1}})


def test_numbers_of_numpy_are_numbers_in_every_body() -> None:
    assert json_bytes({"k": np.int64(3), "min_score": np.float32(0.5), "exact": np.bool_(True)}) == b'{"k":3,"min_score":0.5,"exact":true}'
    with pytest.raises(ValueError, match="nan is no value"):
        json_bytes({"min_score": np.float32("nan")})


def test_a_condition_without_a_value_is_no_write_without_a_condition() -> None:
    with pytest.raises(InvalidValueError, match=r"item 0 \('a'\), if_version: nan is no version"):
        items_body([{"external_id": "a", "text": "x", "if_version": float("nan")}])


def test_a_moment_to_restore_to_needs_a_zone() -> None:
    assert moment(datetime(2024, 1, 2, tzinfo=timezone.utc)) == "2024-01-02T00:00:00.000Z"
    with pytest.raises(InvalidValueError, match="until: a moment needs a time zone"):
        moment(datetime(2024, 1, 2))


def test_what_is_no_item_is_shown_as_it_is() -> None:
    assert (shown_item({"external_id": "a"}), shown_item(5)) == ({"external_id": "a"}, {"item": 5})
    assert shown_item(Item("a", text="x"))["text"] == "x"


def test_the_shortest_of_32_bits_is_what_numpy_prints() -> None:
    bits = np.random.default_rng(7).integers(0, 2**32, 20_000, dtype=np.uint32)
    values = bits.view(np.float32)
    for value in values[np.isfinite(values)]:
        assert shortest_float(float(value)) == float(str(value))
