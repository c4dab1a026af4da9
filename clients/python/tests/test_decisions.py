"""What is decided without a service: vectors, batches, repetitions, errors, answers."""

from __future__ import annotations

import base64
import json
import pickle
import struct
from array import array
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pytest

from quiver_client import (
    ApiError,
    BadAnswerError,
    ConflictError,
    Item,
    NotFoundError,
    QuiverConnectionError,
    RateLimitError,
    RetryPolicy,
    ServerError,
    VersionConflict,
    VersionConflictError,
    decode_array,
    decode_vector,
    encode_vector,
    models,
    operations,
)
from quiver_client.batching import Batcher
from quiver_client.bodies import json_bytes
from quiver_client.decoding import decode
from quiver_client.errors import api_error
from quiver_client.export_stream import ExportReader

np = pytest.importorskip("numpy")

BYTES = struct.pack("<3f", 0.5, -1, 3)
TEXT = base64.b64encode(BYTES).decode()


@pytest.mark.parametrize(
    "vector",
    [
        [0.5, -1, 3],
        (0.5, -1, 3),
        array("d", [0.5, -1, 3]),
        np.array([0.5, -1, 3]),
        np.array([0.5, -1, 3], dtype=np.float16),
        np.array([0.5, -1, 3], dtype=">f4"),
        np.array([0.5, 0, -1, 0, 3])[::2],
        BYTES,
        bytearray(BYTES),
        memoryview(BYTES),
        TEXT,
    ],
)
def test_a_vector_of_any_kind_becomes_base64_of_little_endian_float32(vector: Any) -> None:
    assert encode_vector(vector) == TEXT


def test_a_vector_comes_back_as_numbers_and_as_an_array() -> None:
    for answered in (TEXT, [0.5, -1.0, 3.0]):
        assert decode_vector(answered) == [0.5, -1, 3]
        assert decode_array(answered).dtype == np.float32
        assert decode_array(answered).tolist() == [0.5, -1, 3]


def test_a_matrix_is_no_vector() -> None:
    with pytest.raises(ValueError, match=r"not the shape \(2, 2\)"):
        encode_vector(np.zeros((2, 2)))


def test_what_json_has_not_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_bytes({"metadata": {"x": float("nan")}})


def test_batches_hold_at_most_so_many_items_and_bytes() -> None:
    batcher = Batcher(batch_items=3, batch_bytes=200)
    batches = [full for i in range(7) if (full := batcher.add(Item(f"i{i}", text="x"))) is not None]
    batches.append(batcher.rest())  # type: ignore[arg-type]
    assert [batch.ids for batch in batches] == [["i0", "i1", "i2"], ["i3", "i4", "i5"], ["i6"]]
    assert json.loads(batches[0].body())["items"][2] == {"external_id": "i2", "text": "x"}
    assert len(batches[0].body()) <= batches[0].size

    by_bytes = Batcher(batch_items=100, batch_bytes=200)
    cut = [full for i in range(4) if (full := by_bytes.add({"external_id": str(i), "text": "x" * 90})) is not None]
    assert [batch.ids for batch in cut] == [["0"], ["1"], ["2"]]
    # Larger than a batch: alone.
    assert by_bytes.add({"external_id": "large", "text": "x" * 1000}).ids == ["3"]  # type: ignore[union-attr]
    assert by_bytes.rest().ids == ["large"]  # type: ignore[union-attr]
    assert by_bytes.rest() is None


POLICY = RetryPolicy(attempts_max=4, delay_s=1, delay_max_s=3, elapsed_max_s=60)


def delay(error: Any, *, attempt: int = 1, is_safe: bool = True, elapsed_s: float = 0, chance: float = 1) -> float | None:
    return POLICY.delay_before_next(error, attempt=attempt, is_safe=is_safe, elapsed_s=elapsed_s, chance=chance)


def test_delays_double_up_to_a_bound_and_are_spread() -> None:
    error = ServerError(500, "down")
    assert [delay(error, attempt=attempt) for attempt in (1, 2, 3, 4)] == [1, 2, 3, None]
    assert delay(error, chance=0) == 0.5
    assert delay(error, elapsed_s=59.5) is None


@pytest.mark.parametrize(
    ("error", "safe", "unsafe"),
    [
        (RateLimitError(429, "busy"), True, True),
        (ServerError(500, "lost"), True, False),
        (QuiverConnectionError("refused"), True, True),
        (QuiverConnectionError("broke", may_have_arrived=True), True, False),
        (BadAnswerError("proxy", http_status=503), True, False),
        (BadAnswerError("proxy", http_status=502), True, False),
        (BadAnswerError("a page", http_status=200), False, False),
        (NotFoundError(404, "none"), False, False),
        (ApiError(400, "wrong"), False, False),
    ],
)
def test_what_may_be_sent_again(error: Any, safe: bool, unsafe: bool) -> None:
    assert (delay(error, is_safe=True) is not None, delay(error, is_safe=False) is not None) == (safe, unsafe)


def test_a_retry_after_is_waited_for_where_it_is_not_too_long() -> None:
    assert delay(RateLimitError(429, "busy", retry_after=20)) == 21
    assert delay(RateLimitError(429, "busy", retry_after=80)) is None


def test_errors_survive_a_pickle() -> None:
    error = api_error(429, "slow down", request_id="r1", retry_after=2)
    error.attempts = 3
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.retry_after, copy.attempts) == (RateLimitError, "429: slow down (request r1)", 2, 3)


def test_a_conflict_of_versions_keeps_what_it_knows_in_a_pickle() -> None:
    error = api_error(409, "changed", conflicts=[{"external_id": "a", "version": 7}, {"external_id": "b", "version": None}], written=["c"])
    error.after_lost_answer = True
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is VersionConflictError
    assert copy.conflicts == [VersionConflict("a", 7), VersionConflict("b", None)]
    assert (copy.written, copy.after_lost_answer) == (["c"], True)
    assert type(api_error(409, "exists")) is ConflictError


def test_a_code_without_a_class_is_an_api_error() -> None:
    assert type(api_error(418, "teapot")) is ApiError


@pytest.mark.parametrize(
    ("external_id", "path"),
    [
        ("a/b c", "/v1/collections/n/delete/a%2Fb%20c"),
        ("..", "/v1/collections/n/delete/%2E%2E"),
        ("ü😀%", "/v1/collections/n/delete/%C3%BC%F0%9F%98%80%25"),
        ("{name}", "/v1/collections/n/delete/%7Bname%7D"),
    ],
)
def test_ids_are_encoded_in_paths(external_id: str, path: str) -> None:
    assert operations.DELETE.path(name="n", id=external_id) == path


def test_answers_of_later_services_are_read_and_those_that_lack_something_are_refused() -> None:
    hit = {"external_id": "a", "score": 0.5, "metadata": {"x": 1}, "unknown": True}
    assert decode(models.Hit, hit) == models.Hit("a", 0.5, {"x": 1})
    with pytest.raises(BadAnswerError, match="lacks score of Hit"):
        decode(models.Hit, {"external_id": "a", "metadata": {}})
    with pytest.raises(BadAnswerError, match="list where Hit belongs"):
        decode(models.Hit, [])


def test_answers_are_decoded_by_their_annotations() -> None:
    @dataclass
    class Inner:
        at: datetime

    key = {"id": 1, "name": "n", "role": "admin", "created_at": "2026-01-02T03:04:05.678Z", "expires_at": None}
    decoded = decode(dict[str, list[models.ApiKey]], {"keys": [key]})["keys"][0]
    assert decoded.created_at == datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)
    assert decoded.expires_at is None
    moved = decode(models.Move, {"collection": "c", "shard": 0, "from": "a", "to": "b", "phase": "copy", "progress": 0.5})
    assert (moved.from_node, moved.to_node) == ("a", "b")


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_an_export_is_read_whatever_pieces_it_comes_in(size: int) -> None:
    vectors = [{"external_id": f'"]}},ü{i}', "vector": [0.1, i], "metadata": {"a": {"vectors": []}}} for i in range(5)]
    envelope = {"status": "success", "data": {"collection": "c", "dim": 2, "vectors": vectors, "count": 5}, "error": None}
    text = json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()
    reader = ExportReader()
    items = [item for start in range(0, len(text), size) for item in reader.feed(text[start : start + size])]
    assert [(item.external_id, item.vector, item.metadata) for item in items] == [
        (one["external_id"], one["vector"], one["metadata"]) for one in vectors
    ]
    reader.end()


def test_an_export_that_breaks_off_is_an_error() -> None:
    reader = ExportReader()
    assert list(reader.feed(b'{"status":"success","data":{"vectors":[{"external_id":"a","met')) == []
    with pytest.raises(BadAnswerError, match="broke off"):
        reader.end()
