# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""The client: the service as a whole, and the way to collections, keys and the cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import httpx

from .. import operations
from .._version import __version__
from ..bodies import embedding_body, given
from ..credentials import credential, shown_address
from ..errors import ConflictError, NotFoundError
from ..models import (
    Activity,
    Alias,
    Caller,
    CollectionEmbedding,
    CollectionInfo,
    Demo,
    DistanceMetric,
    Health,
    KeywordField,
    RerankedTexts,
    ServiceInfo,
    SignedIn,
)
from ..notices import Notices, WarningMode
from ..retries import RetryPolicy
from ..tables import Rows
from ..vectors import VectorFormat
from .backups import Backups
from .cluster import Cluster
from .collection import Collection
from .jobs import Jobs
from .keys import Keys
from .runtime import HttpClient, TokenProvider, TokenSource
from .transport import Transport, Settings

DEFAULT_URL = "http://localhost:8000"
DEFAULT_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10.0


class QuiverClient:
    """A client of one service. Any number of tasks or threads may use it at once; ``close`` it, or use it in a ``with`` block.

    ``url`` and ``api_key`` are taken from ``QUIVER_URL`` and ``QUIVER_API_KEY`` where they are left out; a key that looks
    like a JSON Web Token is sent as a bearer token. ``token`` is such a token, or what gives one: it is asked before each
    request, with ``True`` when the service refused the token before, and that request is then sent once more. ``timeout`` is for
    the connection (10 seconds at most) and for each wait for a piece of the answer. ``http_client`` brings one's own client
    of httpx, with proxies, certificates or limits; it is not closed here. ``vector_format`` is how vectors are sent back:
    as base64 of float32 values, or with ``"array"`` as JSON numbers, which are slower and have the fewest digits
    (0.1, where base64 gives 0.10000000149011612, the float32 nearest to it). With ``strict``, the service refuses what it
    would else warn of as a likely mistake: a field that it does not know, a filter by a field that no item has. ``warnings``:
    each kind of them is given ``"once"`` by Python's ``warnings``, or ``"always"``, or ``"never"``.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        token: str | TokenProvider | None = None,
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT_S,
        retries: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
        vector_format: VectorFormat = "base64",
        idempotency_keys: bool = False,
        strict: bool = False,
        warnings: WarningMode = "once",
        http_client: HttpClient | None = None,
    ) -> None:
        address = url or os.environ.get("QUIVER_URL") or DEFAULT_URL
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"the address of a service begins with http:// or https://: {shown_address(address)!r}")
        fixed = None if callable(token) else token
        key = None if token is not None else api_key if api_key is not None else os.environ.get("QUIVER_API_KEY")
        sent = {
            "user-agent": f"quiver-client-python/{__version__}",
            **credential(key, fixed),
            **({"x-strict": "true"} if strict else {}),
            **(headers or {}),
        }
        self._owns_http = http_client is None
        self._transport = Transport(
            http=HttpClient() if http_client is None else http_client,
            settings=Settings(
                url=address.rstrip("/"),
                headers=sent,
                tokens=TokenSource(token) if callable(token) else None,
                timeout=_timeout(timeout),
                retries=RetryPolicy() if retries is None else retries,
                vector_format=vector_format,
                idempotency_keys=idempotency_keys,
                notices=Notices(warnings),
            ),
        )

    def with_options(
        self,
        *,
        timeout: float | httpx.Timeout | None = None,
        retries: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
        vector_format: VectorFormat | None = None,
    ) -> QuiverClient:
        """The same client with other options, over the same connections; for one call, say. Close the first one only."""
        old = self._transport.settings
        other = object.__new__(type(self))
        other._owns_http = False
        other._transport = replace(
            self._transport,
            settings=replace(
                old,
                timeout=old.timeout if timeout is None else _timeout(timeout),
                retries=retries or old.retries,
                headers={**old.headers, **(headers or {})},
                vector_format=vector_format or old.vector_format,
            ),
        )
        return other

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._transport.http.close()

    def __enter__(self) -> QuiverClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shown_address(self._transport.settings.url)!r})"

    def collection(self, name: str) -> Collection:
        """The way to one collection, which need not exist yet. Asks the service nothing."""
        return Collection(self._transport, name)

    @property
    def keys(self) -> Keys:
        """API keys; needs an admin key."""
        return Keys(self._transport)

    @property
    def jobs(self) -> Jobs:
        """Long work, which goes on by itself."""
        return Jobs(self._transport)

    @property
    def backups(self) -> Backups:
        """Backups and restores; needs an admin key."""
        return Backups(self._transport)

    @property
    def cluster(self) -> Cluster:
        """Nodes, shards and moves; needs an admin key."""
        return Cluster(self._transport)

    # Collections

    def create_collection(
        self,
        name: str,
        dim: int | None = None,
        *,
        distance_metric: DistanceMetric = "cosine",
        description: str | None = None,
        language: str | None = None,
        keyword_fields: Sequence[Mapping[str, Any]] | None = None,
        synonyms: Sequence[Sequence[str] | Mapping[str, Any]] | None = None,
        stop_words: Mapping[str, Sequence[str]] | None = None,
        keyword_positions: bool | None = None,
        quantization: str | None = None,
        metadata: str | None = None,
        vectors: str | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        min_in_sync: int | None = None,
        ttl_seconds: int | None = None,
        quota: Mapping[str, int] | None = None,
        embedding: Mapping[str, Any] | str | None = None,
    ) -> CollectionInfo:
        """Creates a collection; ``ConflictError`` where there is one of that name.

        ``language`` (``en`` and others) finds words in all their forms; ``keyword_fields`` (``[{"path": "title", "weight": 3},
        {"path": "text"}]``) is what keyword search looks in; ``synonyms`` (``[["car", "automobile"], {"from": "pump", "to": ["compressor"]}]``) are what
        words of queries mean besides, ``stop_words`` (``{"add": ["item"], "remove": ["the"]}``) which of them don't count; with ``keyword_positions=False``, phrases read texts;
        ``quantization`` (``int8``, ``int4``, ``binary``) trades memory for speed at the same recall; ``metadata="disk"`` keeps ids and
        metadata out of memory. With ``ttl_seconds``, items without an expires_at expire so long after their last write.
        ``embedding`` is the model of its texts, by its name (``"local:builtin"``, ``"openai:text-embedding-3-small"``) or with ``dtype``,
        ``query_prefix``, ``passage_prefix`` and ``truncate_dim`` (``{"model": …}``); then ``dim`` may be left out.
        """
        body = given(
            name=name,
            dim=dim,
            distance_metric=distance_metric,
            description=description,
            language=language,
            keyword_fields=None if keyword_fields is None else list(keyword_fields),
            synonyms=None if synonyms is None else list(synonyms),
            stop_words=None if stop_words is None else dict(stop_words),
            keyword_positions=keyword_positions,
            quantization=quantization,
            metadata=metadata,
            vectors=vectors,
            shards=shards,
            replicas=replicas,
            min_in_sync=min_in_sync,
            ttl_seconds=ttl_seconds,
            quota=None if quota is None else dict(quota),
            embedding=embedding_body(embedding),
        )
        return self._transport.call(operations.CREATE_COLLECTION, CollectionInfo, body=body)

    def get_or_create(
        self,
        name: str,
        dim: int | None = None,
        *,
        distance_metric: DistanceMetric = "cosine",
        description: str | None = None,
        language: str | None = None,
        keyword_fields: Sequence[Mapping[str, Any]] | None = None,
        synonyms: Sequence[Sequence[str] | Mapping[str, Any]] | None = None,
        stop_words: Mapping[str, Sequence[str]] | None = None,
        keyword_positions: bool | None = None,
        quantization: str | None = None,
        metadata: str | None = None,
        vectors: str | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        min_in_sync: int | None = None,
        ttl_seconds: int | None = None,
        quota: Mapping[str, int] | None = None,
        embedding: Mapping[str, Any] | str | None = None,
    ) -> Collection:
        """The way to a collection, which is created as ``create_collection`` does it where there is none.

        ``ConflictError`` where there is one with other dimensions or another metric, or where one of ``language``,
        ``keyword_fields``, ``keyword_positions``, ``quantization``, ``metadata``, ``vectors`` and ``embedding`` is given and differs: these
        can't be changed. What else is given is for a new collection only.
        """
        fixed: dict[str, object] = given(dim=dim, distance_metric=distance_metric, language=language) | given(
            keyword_positions=keyword_positions, quantization=quantization, metadata=metadata, vectors=vectors
        )
        collection = self.collection(name)
        try:
            found = collection.info()
        except NotFoundError:
            try:
                self.create_collection(
                    name,
                    dim,
                    distance_metric=distance_metric,
                    description=description,
                    language=language,
                    keyword_fields=keyword_fields,
                    synonyms=synonyms,
                    stop_words=stop_words,
                    keyword_positions=keyword_positions,
                    quantization=quantization,
                    metadata=metadata,
                    vectors=vectors,
                    shards=shards,
                    replicas=replicas,
                    min_in_sync=min_in_sync,
                    ttl_seconds=ttl_seconds,
                    quota=quota,
                    embedding=embedding,
                )
                return collection
            except ConflictError:
                # Somebody else was first.
                found = collection.info()
        if keyword_fields is not None:
            # An analyser that is the collection's language is none of a field's own.
            own = (None, found.language or "unicode")
            fixed["keyword_fields"] = [
                KeywordField(one["path"], one.get("weight", 1), None if one.get("analyser") in own else one["analyser"])
                for one in keyword_fields
            ]
        if embedding is not None:
            fixed["embedding"] = _embedding_of(embedding)
        differences = [
            f"its {field} is {getattr(found, field)}, not {wanted}" for field, wanted in fixed.items() if getattr(found, field) != wanted
        ]
        if differences:
            raise ConflictError(409, f'collection "{name}" is there, but {"; ".join(differences)}')
        return collection

    def list_collections(self) -> Rows[CollectionInfo]:
        """All collections."""
        data = self._transport.call(operations.LIST_COLLECTIONS, dict[str, list[CollectionInfo]])
        return Rows(data["collections"])

    def list_aliases(self) -> Rows[Alias]:
        """The aliases of collections that the key may use, by name."""
        data = self._transport.call(operations.LIST_ALIASES, dict[str, list[Alias]])
        return Rows(data["aliases"])

    def change_aliases(self, actions: Sequence[Mapping[str, Mapping[str, str]]]) -> Rows[Alias]:
        """Creates, switches and deletes aliases: all of it, or nothing.

        ``[{"switch": {"alias": "current", "collection": "articles-2"}}]``; ``create`` has the same, ``delete`` the alias alone.
        What begins after the answer sees it, through any coordinator. Answers the aliases that are named, as they are then.
        """
        body = {"actions": list(actions)}
        data = self._transport.call(operations.CHANGE_ALIASES, dict[str, list[Alias]], body=body)
        return Rows(data["aliases"])

    # The service

    def health(self) -> Health:
        """Whether the service is well, and what it holds."""
        return self._transport.call(operations.HEALTH, Health)

    def rerank(self, query: str, documents: Sequence[str], *, model: str | None = None, top_n: int | None = None) -> RerankedTexts:
        """Texts by how well they answer a query, as a model of the service reads them: the best ``top_n``, default all."""
        body = given(query=query, documents=list(documents), model=model, top_n=top_n)
        return self._transport.call(operations.RERANK_TEXTS, RerankedTexts, body=body)

    def me(self) -> Caller:
        """Which key this client sends, and what it may do."""
        return self._transport.call(operations.ME, Caller)

    def service_info(self) -> ServiceInfo:
        """What this service is, and its endpoints; needs no key."""
        return self._transport.call(operations.SERVICE_INFO, ServiceInfo)

    def metrics(self) -> str:
        """Metrics in Prometheus' text format; needs no key."""
        return self._transport.text(operations.METRICS)

    def activity(self) -> Activity:
        """What the process that answers does at present: rates, times, and slow requests."""
        return self._transport.call(operations.METRICS_SUMMARY, Activity)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of the service; needs no key."""
        return self._transport.document(operations.OPENAPI)

    def load_demo(self) -> Demo:
        """Loads some 250 texts into the collection ``demo``, to try things with."""
        return self._transport.call(operations.LOAD_DEMO, Demo)

    def sign_in(self, token: str) -> SignedIn:
        """The admin key for the token of the link that a first start printed; it works once."""
        return self._transport.call(operations.SIGN_IN, SignedIn, body={"token": token})

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | None] | None = None,
        body: object = None,
        is_safe: bool | None = None,
    ) -> Any:
        """Calls an endpoint that this version has no method for, such as ``/v1/health``; answers the envelope's data.

        ``is_safe``: whether a call whose answer was lost may be sent again; by default only those with GET.
        """
        return self._transport.data(method, path, method == "GET" if is_safe is None else is_safe, query=query, body=body)


def _timeout(timeout: float | httpx.Timeout) -> httpx.Timeout:
    return timeout if isinstance(timeout, httpx.Timeout) else httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT_S))


def _embedding_of(given_embedding: Mapping[str, Any] | str) -> CollectionEmbedding:
    """As a collection shows it."""
    body = embedding_body(given_embedding) or {}
    return CollectionEmbedding(
        body.get("model", ""), body.get("dtype"), body.get("query_prefix"), body.get("passage_prefix"), body.get("truncate_dim")
    )
