"""Repetitions, errors and streams, against a service that answers as it is told."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

import quiver_client._async.transport as async_transport
import quiver_client._sync.transport as sync_transport
from quiver_client import (
    AsyncQuiverClient,
    BadAnswerError,
    BulkWriteError,
    ConflictError,
    InvalidValueError,
    Item,
    NotFoundError,
    QuiverClient,
    QuiverConnectionError,
    QuiverTimeoutError,
    QuiverWarning,
    RateLimitError,
    RetryPolicy,
    ServerError,
    UnauthorizedError,
    ValidationError,
    VersionConflictError,
)
from quiver_client.credentials import credential

from .conftest import got, listed

pytestmark = pytest.mark.anyio
Handler = Callable[[httpx.Request], httpx.Response]


def success(data: Any) -> httpx.Response:
    return httpx.Response(200, json={"status": "success", "data": data, "error": None})


def failure(code: int, message: str = "no", headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(200, json={"status": "error", "data": None, "error": {"code": code, "message": message}}, headers=headers)


class Played:
    """A client of either form over a handler, and what it asked and waited for."""

    def __init__(self, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.form = form
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []
        monkeypatch.setattr(sync_transport, "sleep", self.waits.append)
        monkeypatch.setattr(async_transport, "sleep", self._wait)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def client(self, answer: Handler, **options: Any) -> Any:
        def handle(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            return answer(request)

        transport = httpx.MockTransport(handle)
        http: Any = httpx.Client(transport=transport) if self.form == "sync" else httpx.AsyncClient(transport=transport)
        kind: Any = QuiverClient if self.form == "sync" else AsyncQuiverClient
        address = options.pop("url", "http://quiver.test/prefix/")
        return kind(address, "secret-key", http_client=http, **options)

    def script(self, *answers: httpx.Response | Exception, **options: Any) -> Any:
        rest = list(answers)

        def answer(request: httpx.Request) -> httpx.Response:
            one = rest.pop(0)
            if isinstance(one, Exception):
                raise one
            return one

        return self.client(answer, **options)


@pytest.fixture(params=["sync", "async"])
def played(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(request.param, monkeypatch)


ME = {"key_id": 1, "name": "n", "role": "admin", "expires_at": None}


async def test_a_request_has_the_key_and_goes_below_the_given_address(played: Played) -> None:
    quiver = played.script(success(ME), headers={"x-request-id": "mine"})
    assert (await got(quiver.me())).role == "admin"
    request = played.requests[0]
    assert str(request.url) == "http://quiver.test/prefix/v1/me"
    assert (request.headers["x-api-key"], request.headers["x-request-id"]) == ("secret-key", "mine")
    assert request.headers["user-agent"].startswith("quiver-client-python/")
    assert "secret-key" not in repr(quiver) + repr(quiver._transport)


async def test_a_read_is_repeated_until_it_succeeds(played: Played) -> None:
    quiver = played.script(failure(500), httpx.ReadError("reset"), httpx.Response(502, text="<html>"), success(ME))
    assert (await got(quiver.me())).key_id == 1
    assert len(played.requests) == 4
    assert 0.1 <= played.waits[0] <= 0.2 < played.waits[1] * 2 <= 0.8


async def test_what_the_service_doubts_is_a_warning(played: Played) -> None:
    answer = httpx.Response(200, json={"status": "success", "data": ME, "error": None, "warnings": ["unknown field vecotr"]})
    with pytest.warns(QuiverWarning, match="vecotr"):
        await got(played.script(answer).me())


@pytest.mark.parametrize(("mode", "told"), [("once", ["items[0] is long", "unknown field"]), ("never", []), ("always", None)])
async def test_each_kind_of_warning_is_given_as_often_as_the_client_says(played: Played, mode: str, told: list[str] | None) -> None:
    texts = ["items[0] is long", "unknown field", "items[1], items[12] is long", "unknown field"]
    answers = [httpx.Response(200, json={"status": "success", "data": ME, "error": None, "warnings": [text]}) for text in texts]
    quiver = played.script(*answers, warnings=mode)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in texts:
            await got(quiver.me())
    assert [str(one.message) for one in given] == (texts if told is None else told)
    with pytest.raises(ValueError, match="once"):
        QuiverClient("http://x", "k", warnings="often")  # type: ignore[arg-type]


async def test_an_item_that_the_service_names_by_its_place_is_named_by_its_id(played: Played) -> None:
    items = played.script(failure(422, "items[1].vector: has 3 numbers")).collection("c")
    with pytest.raises(BulkWriteError, match=r"items\[1\] is 'b', item 1 of the call"):
        await got(items.upsert_many([Item("a", [1, 2]), Item("b", [1, 2, 3])]))


async def test_nothing_is_sent_of_items_of_which_one_can_not_be(played: Played) -> None:
    items = played.script().collection("c")
    bad = [Item("a", [1, 2]), Item("b", [1, float("nan")])]
    with pytest.raises(InvalidValueError, match=r"item 1 \('b'\), vector: number 1 is nan"):
        await got(items.bulk_upsert(bad))
    with pytest.raises(InvalidValueError, match=r"item 1 \('b'\), vector: number 1 is nan"):
        await got(items.upsert_many(bad))
    with pytest.raises(InvalidValueError, match=r"'a', metadata.x: is a complex"):
        await got(items.upsert("a", [1], metadata={"x": 1j}))
    with pytest.raises(InvalidValueError, match=r"filters\.x: nan is no value"):
        await got(items.search([1, 2], filters={"x": float("nan")}))
    with pytest.raises(InvalidValueError, match=r"ids\[1\]: there is none"):
        await got(items.fetch(["a", None]))
    assert played.requests == []


async def test_a_retry_after_is_honoured(played: Played) -> None:
    quiver = played.script(failure(429, headers={"retry-after": "7"}), success(ME))
    await got(quiver.me())
    assert 7 < played.waits[0] < 7.3


async def test_attempts_are_bounded_and_counted(played: Played) -> None:
    quiver = played.script(*[failure(500, "down")] * 3, retries=RetryPolicy(attempts_max=3))
    with pytest.raises(ServerError, match="down") as caught:
        await got(quiver.me())
    assert (caught.value.attempts, len(played.requests)) == (3, 3)


async def test_a_creation_is_sent_again_only_if_it_was_not_carried_out(played: Played) -> None:
    quiver = played.script(httpx.ConnectError("refused"), failure(429), failure(409, "exists"))
    with pytest.raises(ConflictError):
        await got(quiver.create_collection("c", 2))
    assert len(played.requests) == 3
    for lost in (failure(500), httpx.ReadTimeout("late")):
        played.requests.clear()
        with pytest.raises((ServerError, QuiverTimeoutError)):
            await got(played.script(lost).create_collection("c", 2))
        assert len(played.requests) == 1


async def test_a_deletion_whose_answer_was_lost_may_find_nothing_the_next_time(played: Played) -> None:
    await got(played.script(httpx.ReadError("reset"), failure(404)).collection("c").delete("a"))
    for before in ([], [failure(429)]):
        with pytest.raises(NotFoundError):
            await got(played.script(*before, failure(404)).collection("c").delete("a"))


CONFLICT = {"code": 409, "message": "it has version 9", "conflicts": [{"external_id": "a", "version": 9}]}


@pytest.mark.parametrize(
    ("trouble", "is_lost"),
    [
        (lambda: httpx.ReadError("reset"), True),
        (lambda: failure(500), True),
        (lambda: failure(429), False),
        (lambda: httpx.ConnectError("no"), False),
    ],
)
async def test_a_conditional_write_is_repeated_and_its_conflict_says_whether_it_may_be_its_own(
    played: Played, trouble: Any, is_lost: bool
) -> None:
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda items: items.upsert("a", [1, 2], if_version=7),
        lambda items: items.patch("a", text="x", if_version=7),
        lambda items: items.delete("a", if_version=7),
        lambda items: items.delete_batch(["a"], if_versions=[7]),
        lambda items: items.bulk_upsert([Item("a", [1, 2], only_if="absent")]),
    )
    for call in calls:
        played.requests.clear()
        conflict = httpx.Response(200, json={"status": "error", "data": None, "error": CONFLICT})
        with pytest.raises(VersionConflictError) as caught:
            await got(call(played.script(trouble(), conflict).collection("c")))
        assert (caught.value.conflicts[0].version, caught.value.after_lost_answer) == (9, is_lost)
        assert len(played.requests) == 2


async def test_a_repetition_that_would_tell_of_conflicts_with_itself_is_not_made(played: Played) -> None:
    with pytest.raises(ServerError):
        await got(played.script(failure(500)).collection("c").bulk_upsert([Item("a", [1, 2], if_version=7)], on_error="skip"))
    answer = success({"results": [{"external_id": "a", "status": "updated"}]})
    await got(played.script(failure(500), answer).collection("c").bulk_upsert([Item("a", [1, 2])], on_error="skip"))


async def test_backups_are_not_begun_or_deleted_twice(played: Played) -> None:
    for name, given in (("create", []), ("restore", ["b"]), ("delete", ["b"]), ("cancel_restore", ["r"])):
        with pytest.raises(ServerError):
            await got(getattr(played.script(failure(500)).backups, name)(*given))


async def test_errors_name_the_request_and_what_the_service_asks_for(played: Played) -> None:
    quiver = played.script(failure(422, "dim is missing", {"x-request-id": "r-1"}))
    with pytest.raises(ValidationError, match=r"422: dim is missing \(request r-1\)") as caught:
        await got(quiver.request("POST", "/v1/collections", body={}))
    assert (caught.value.code, caught.value.request_id, caught.value.message) == (422, "r-1", "dim is missing")
    with pytest.raises(RateLimitError) as refused:
        await got(played.script(failure(429, "later", {"retry-after": "500"})).me())
    assert refused.value.retry_after == 500


async def test_a_password_in_the_address_is_never_shown(played: Played) -> None:
    quiver = played.script(
        httpx.ConnectError("refused"), url="http://user:my-secret@quiver.test/prefix", retries=RetryPolicy(attempts_max=1)
    )
    assert "my-secret" not in repr(quiver) + repr(quiver._transport)
    with pytest.raises(QuiverConnectionError, match=r"GET http://quiver\.test/prefix/v1/me: no connection") as caught:
        await got(quiver.me())
    assert "my-secret" not in repr(caught.value)
    with pytest.raises(ValueError, match="begins with") as refused:
        played.script(url="ftp://user:my-secret@quiver.test")
    assert "my-secret" not in repr(refused.value)


async def test_an_answer_of_something_else_is_told_from_quiver(played: Played) -> None:
    for other in (httpx.Response(200, text="<html>hello"), httpx.Response(404, text=""), httpx.Response(200, json=[1])):
        with pytest.raises(BadAnswerError, match="no answer of Quiver"):
            await got(played.script(other).me())


async def test_an_error_is_the_same_with_its_code_as_http_status(played: Played) -> None:
    answer = httpx.Response(
        404, json={"status": "error", "data": None, "error": {"code": 404, "message": "no such"}}, headers={"x-request-id": "r"}
    )
    with pytest.raises(NotFoundError, match="no such") as refused:
        await got(played.script(answer).me())
    assert refused.value.request_id == "r"


async def test_a_connection_that_never_was_says_so(played: Played) -> None:
    quiver = played.script(httpx.ConnectError("refused"), retries=RetryPolicy(attempts_max=1))
    with pytest.raises(QuiverConnectionError, match=r"GET http://quiver\.test/prefix/v1/me: no connection: refused") as caught:
        await got(quiver.me())
    assert caught.value.may_have_arrived is False


async def test_options_change_for_one_call_over_the_same_connections(played: Played) -> None:
    quiver = played.script(success(ME), failure(500))
    other = quiver.with_options(retries=RetryPolicy(attempts_max=1), headers={"x-request-id": "once"}, timeout=3)
    await got(quiver.me())
    with pytest.raises(ServerError):
        await got(other.me())
    assert "x-request-id" not in played.requests[0].headers
    assert played.requests[1].headers["x-request-id"] == "once"
    assert played.requests[1].extensions["timeout"]["read"] == 3


async def test_a_bulk_write_stops_at_a_batch_that_fails_and_says_which(played: Played) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        ids = [item["external_id"] for item in json.loads(request.content)["items"]]
        return failure(400, "bad") if "5" in ids else success({"results": [{"external_id": i, "status": "inserted"} for i in ids]})

    taken = []

    def items() -> Any:
        for i in range(1000):
            taken.append(i)
            yield {"external_id": str(i), "text": "x"}

    with pytest.raises(BulkWriteError, match="'4' the first of them, was not stored: 400: bad") as caught:
        await got(played.client(answer).collection("c").upsert_many(items(), batch_items=2, in_flight=2))
    assert caught.value.failed_ids == ["4", "5"]
    # The third request began when one of the two before it had been answered.
    assert caught.value.written >= 2
    assert len(taken) < 20


async def test_a_bulk_write_whose_source_fails_ends_with_that_error(played: Played) -> None:
    def items() -> Any:
        yield {"external_id": "a", "text": "x"}
        raise KeyError("source")

    quiver = played.client(lambda request: success({"results": []}))
    with pytest.raises(KeyError, match="source"):
        await got(quiver.collection("c").upsert_many(items(), batch_items=1))


async def test_an_error_in_the_place_of_an_export_is_raised(played: Played) -> None:
    with pytest.raises(ServerError, match="busy disk"):
        await listed(played.script(failure(500, "busy disk"), retries=RetryPolicy(attempts_max=1)).collection("c").export())


def export(ids: str) -> httpx.Response:
    vectors = ",".join(f'{{"external_id":"{one}","vector":[1,2],"metadata":{{}}}}' for one in ids)
    return httpx.Response(200, text=f'{{"status":"success","data":{{"vectors":[{vectors}],"count":{len(ids)}}},"error":null}}')


async def test_the_beginning_of_an_export_is_repeated_like_any_read(played: Played) -> None:
    answers = (failure(429, headers={"retry-after": "7"}), httpx.Response(503, text="<html>"), failure(500), export("ab"))
    items = await listed(played.script(*answers).collection("c").export())
    assert [one.external_id for one in items] == ["a", "b"]
    assert (len(played.requests), len(played.waits)) == (4, 3)
    assert 7 < played.waits[0] < 7.3
    with pytest.raises(ServerError, match="down") as caught:
        await listed(played.script(*[failure(500, "down")] * 2, retries=RetryPolicy(attempts_max=2)).collection("c").export())
    assert caught.value.attempts == 2


async def test_an_export_whose_token_was_refused_is_sent_once_more_with_a_new_one(played: Played) -> None:
    asked: list[bool] = []

    def token(refused: bool) -> str:
        asked.append(refused)
        return f"token-{len(asked)}"

    client = played.script(failure(401), export("a"), token=token, retries=RetryPolicy(attempts_max=1))
    assert [one.external_id for one in await listed(client.collection("c").export())] == ["a"]
    assert asked == [False, True]
    assert [request.headers["authorization"] for request in played.requests] == ["Bearer token-1", "Bearer token-2"]


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection breaks after some bytes."""

    def __init__(self, sent: bytes) -> None:
        self._sent = sent

    def __iter__(self) -> Iterator[bytes]:
        yield self._sent
        raise httpx.ReadError("reset")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


async def test_an_export_that_breaks_is_repeated_only_before_it_has_begun(played: Played) -> None:
    begun = b'{"status":"success","data":{"vectors":[{"external_id":"a","vector":[1,2],"metadata":{}},'
    answers = (httpx.Response(200, stream=Broken(b'{"status":')), httpx.Response(200, stream=Broken(begun)))
    with pytest.raises(QuiverConnectionError, match="broke: reset"):
        await listed(played.script(*answers).collection("c").export())
    assert len(played.requests) == 2


def test_an_address_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="http://"):
        QuiverClient("localhost:8000")


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIVER_URL", "https://quiver.test")
    monkeypatch.setenv("QUIVER_API_KEY", "from-environment")
    with QuiverClient() as quiver:
        assert quiver._transport.settings.url == "https://quiver.test"
        assert quiver._transport.settings.headers["x-api-key"] == "from-environment"


async def test_a_token_is_asked_for_before_each_request_and_again_when_it_was_refused(played: Played) -> None:
    asked: list[bool] = []

    def token(refused: bool) -> str:
        asked.append(refused)
        return f"token-{len(asked)}"

    answers = [success({"collections": []}), failure(401), success({"collections": []}), failure(401), failure(401)]
    client = played.client(lambda _: answers.pop(0), token=token, retries=RetryPolicy(attempts_max=1))
    await got(client.list_collections())
    await got(client.list_collections())
    with pytest.raises(UnauthorizedError):
        await got(client.list_collections())
    assert asked == [False, False, True, False, True]
    assert [request.headers["authorization"] for request in played.requests] == [f"Bearer token-{i}" for i in range(1, 6)]
    assert all("x-api-key" not in request.headers for request in played.requests)


@pytest.mark.parametrize("secret", ["my-secret\nkey", "my-secret-key\x00", "my-secret-ключ", "my-secret-clé"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(secret: str) -> None:
    for key, token in ((secret, None), (None, secret)):
        with pytest.raises(ValueError, match="has a character that it can't have") as caught:
            credential(key, token)
        assert "my-secret" not in repr(caught.value)
    assert credential(" a-key-from-a-file\n", None) == {"x-api-key": "a-key-from-a-file"}


@pytest.mark.parametrize("secret", ["my-secret\ntoken", "my-secret-token\x00", "my-secret-жетон", "my-secret-clé"])
async def test_a_token_of_a_provider_that_no_header_can_hold_is_refused_without_being_shown(secret: str) -> None:
    with (
        QuiverClient("http://localhost:1", token=lambda _: secret) as client,
        pytest.raises(ValueError, match="the token has a character") as caught,
    ):
        client.health()
    assert "my-secret" not in repr(caught.value)
    async with AsyncQuiverClient("http://localhost:1", token=lambda _: secret) as other:
        with pytest.raises(ValueError, match="the token has a character") as caught:
            await other.health()
    assert "my-secret" not in repr(caught.value)


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_client_does_not_show_its_key(form: str) -> None:
    client = (QuiverClient if form == "sync" else AsyncQuiverClient)("http://localhost:1", api_key="my-secret-key")
    for part in (client, client._transport, client.keys, client.backups, client.cluster, client.collection("a")):
        assert "my-secret-key" not in repr(part)


def test_a_key_that_looks_like_a_token_is_sent_as_one() -> None:
    token = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"
    assert credential(token, None) == {"authorization": f"Bearer {token}"}
    assert credential("qv_key", "opaque") == {"authorization": "Bearer opaque"}
    assert credential("qv_key", None) == {"x-api-key": "qv_key"}
    assert credential(None, None) == {}
