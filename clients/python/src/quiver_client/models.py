"""What is sent and what comes back, as dataclasses. Times are aware datetimes, sizes bytes, and ``*_ms`` milliseconds."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .ids import ExternalId
from .search_query import BulkSearchQuery
from .tables import Table
from .vectors import VectorLike, decode_array, decode_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Activity",
    "Adoption",
    "Aggregates",
    "ApiKey",
    "ApiKeyWithSecret",
    "Backup",
    "BackupCollection",
    "BackupList",
    "BackupShard",
    "BatchDeleted",
    "Bucket",
    "BulkSearchAnswer",
    "BulkSearchQuery",
    "BulkSearchQueryLike",
    "BulkUpsertAnswer",
    "BulkUpsertResult",
    "Caller",
    "ClusterNode",
    "ClusterShard",
    "ClusterState",
    "CollectionInfo",
    "CollectionStats",
    "Coordinator",
    "Counted",
    "Deleted",
    "Demo",
    "DistanceMetric",
    "DocumentUploaded",
    "EmbeddingState",
    "Endpoint",
    "Facet",
    "Filters",
    "Group",
    "Groups",
    "Health",
    "HealthCollection",
    "Hit",
    "HybridAnswer",
    "HybridHit",
    "IndexState",
    "InnerGroup",
    "InnerGroups",
    "Item",
    "ItemChanged",
    "ItemError",
    "ItemLike",
    "Job",
    "JobPage",
    "JobState",
    "KeyDeleted",
    "KeyQuota",
    "KeyQuotaUse",
    "KeyScope",
    "KeyScopeLike",
    "KeyUsage",
    "LeftOutCollection",
    "Metadata",
    "Move",
    "ProfiledBulkSearch",
    "Projection",
    "QueryAnswer",
    "QueryHit",
    "QuotaPeriod",
    "Ranges",
    "Rates",
    "RecallReport",
    "RecommendAnswer",
    "RerankAnswer",
    "Reshard",
    "RestorableCollection",
    "RestorableShard",
    "Restore",
    "RestoreCollection",
    "Role",
    "Sample",
    "SampleItem",
    "ScrollPage",
    "SearchAnswer",
    "SearchProfile",
    "SearchTiming",
    "ServiceInfo",
    "ShardProfile",
    "SignedIn",
    "Similarity",
    "SlowRequest",
    "Statistics",
    "StorageQuota",
    "StoredVector",
    "Upserted",
    "Usage",
    "UsageOfKey",
    "UsageSummary",
    "ValueCount",
    "Verification",
    "WriteTiming",
]

Metadata: TypeAlias = Mapping[Any, Any]
"""An object of names and values. Values of numpy and pandas, dates, decimals, sets and the like become those of JSON."""

Filters: TypeAlias = Mapping[str, Any]
"""Pairs that must all match. A scalar matches an equal one, or an array that contains it; an object of operators
(``$eq $ne $gt $gte $lt $lte $in $nin $exists $between $prefix $contains $like $all $any $size $elem_match``,
``$geo_radius $geo_box $geo_polygon``;
``$prefix $contains $like`` with ``"case": "fold"`` beside them, too) compares; ``{"$date": ...}`` in place of a value
asks for a time; ``$and``, ``$or`` and ``$not`` take filters; ``$id`` takes external ids, ``$expires_at`` bounds, ``$text``
``{"query": ..., "match": "any" or "all", "fields": [...]}``; a dotted key reaches into nested objects."""

DistanceMetric: TypeAlias = Literal["cosine", "l2", "ip"]
JobState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
Role: TypeAlias = Literal["admin", "readwrite", "readonly"]
QuotaPeriod: TypeAlias = Literal["day", "month", "total"]


KEPT: Any = "KEPT"
"""In the place of a value that None would clear: what is stored stays."""


@dataclass(frozen=True)
class Item:
    """Something to store. Needs a vector or a text; where it has both, the text serves keyword search."""

    external_id: ExternalId
    vector: VectorLike | None = None
    text: str | None = None
    metadata: Metadata | None = None
    """Left out at an update, what is stored stays; ``{}`` clears it."""
    expires_at: datetime | str | None = KEPT
    """From then on the item is gone; None: at no time of its own. Left out, what is stored stays."""
    if_version: int | None = None
    """Only if the stored item has this version."""
    only_if: Literal["absent", "present"] | None = None
    """Only if there is no such item, or only if there is one."""


ItemLike: TypeAlias = Item | Mapping[str, Any]
"""An item, or a mapping with its fields as the API names them."""


@dataclass(frozen=True)
class WriteTiming:
    """Where the time of a write went."""

    embedding_ms: float
    storage_ms: float
    total_ms: float


@dataclass(frozen=True)
class SearchTiming:
    """Where the time of a search went."""

    embedding_ms: float
    search_ms: float
    total_ms: float


@dataclass(frozen=True)
class ShardProfile:
    """One call of a shard, as a profile has it. None: there is none, or a node of an earlier version does not say it."""

    read: str
    shard: int
    place: str
    attempts: int
    start_ms: float
    total_ms: float
    query: int | None = None
    node: str | None = None
    role: str | None = None
    wait_ms: float | None = None
    run_ms: float | None = None
    rpc_ms: float | None = None
    results: int | None = None
    plan: str | None = None
    candidates: int | None = None
    scored: int | None = None
    rescored: int | None = None
    expanded: int | None = None
    filter_ms: float | None = None
    queue_ms: float | None = None
    vectors_ms: float | None = None
    hits_ms: float | None = None
    texts_ms: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class SearchProfile:
    """Where the time of a search went, step by step and shard by shard, in milliseconds."""

    request_id: str
    total_ms: float
    wait_ms: float
    parse_ms: float
    route_ms: float
    embed_ms: float
    queue_ms: float
    shards_ms: float
    merge_ms: float
    other_ms: float
    shards: list[ShardProfile]
    trace_id: str | None = None


# Collections


@dataclass(frozen=True)
class StorageQuota:
    """The most that a collection may hold."""

    items: int | None
    """None: any number."""
    bytes: int | None
    """On the disk, of one replica; None: any number."""


@dataclass(frozen=True)
class UnavailableShard:
    """A shard that did not answer, and why, for people."""

    shard: int
    reason: str
    collection: str | None = None
    """In ``Health`` alone."""


@dataclass(frozen=True)
class CollectionInfo:
    """A collection as it was made, and how many vectors it has."""

    name: str
    dim: int
    distance_metric: DistanceMetric
    vector_count: int
    """-1 while a shard does not answer, so that nobody can count them."""
    created_at: datetime
    description: str | None = None
    language: str | None = None
    quantization: str | None = None
    metadata: str | None = None
    """Where its ids and metadata are: ``memory`` or ``disk``."""
    vectors: str | None = None
    """Where the index of its vectors is: ``memory`` or ``disk``."""
    shards: int | None = None
    replicas: int | None = None
    min_in_sync: int | None = None
    embedding_model: str | None = None
    """Model of its first text; None while it had none."""
    ttl_seconds: int | None = None
    """How long after their last write items without a time of their own expire; None: never."""
    quota: StorageQuota | None = None
    """None: as much as there is room for."""
    unavailable_shards: list[UnavailableShard] = field(default_factory=list)
    """Nearly always none."""


@dataclass(frozen=True)
class IndexState:
    """How far an index is built."""

    state: Literal["indexing", "compacting", "refining", "measuring", "ready"]
    rows: int
    rows_indexed: int
    rows_refined: int
    fraction: float
    seconds_left: float | None
    optimizing: bool


@dataclass(frozen=True)
class CollectionStats:
    """What a collection takes, and the state of its index."""

    name: str
    quantization: str
    vector_count: int
    disk_bytes: int
    memory_bytes: int
    index: IndexState
    quota: StorageQuota | None = None
    """None: as much as there is room for."""


@dataclass(frozen=True)
class PurgedReplica:
    """How far the purge of a replica is."""

    node: str
    state: Literal["none", "running", "done", "failed", "unknown"]
    step: str
    bytes_before: int
    bytes_after: int
    error: str
    unshipped_writes: int = 0
    """Writes that it waits for, because they are kept until they are in the backup target."""


@dataclass(frozen=True)
class PurgedShard:
    """The replicas of a shard."""

    shard: int
    replicas: list[PurgedReplica]


@dataclass(frozen=True)
class Purge:
    """How far the purge of a collection is."""

    collection: str
    state: Literal["none", "running", "done", "failed"]
    bytes_reclaimed: int
    shards: list[PurgedShard]


@dataclass(frozen=True)
class Reshard:
    """A change of the number of shards that is under way."""

    collection: str
    from_shards: int = field(metadata={"name": "from"})
    to_shards: int = field(metadata={"name": "to"})
    state: Literal["filling", "sealing", "opening", "retiring", "cancelling", "failed", "stuck"]
    fraction: float
    copied: int
    total: int
    behind: int
    started_at: datetime
    error: str | None
    waits_for: str | None = None
    """What keeps it from getting on; it goes on by itself when that is over."""


@dataclass(frozen=True)
class Deleted:
    """What was deleted, by its name or external_id."""

    deleted: str


# Vectors


@dataclass(frozen=True)
class StoredVector:
    """An item as it is stored."""

    external_id: str
    encoded: str | list[float] | None = field(default=None, metadata={"name": "vector"}, repr=False)
    """The vector as it came: base64 of little-endian float32 values, or numbers."""
    metadata: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id; None from services before it."""
    expires_at: datetime | None = None
    """None: it never expires."""

    @property
    def vector(self) -> list[float] | None:
        """The vector as numbers; None where none was asked for."""
        return None if self.encoded is None else decode_vector(self.encoded)

    @property
    def array(self) -> NDArray[np.float32]:
        """The vector as a numpy array; ``ValueError`` where none was asked for."""
        if self.encoded is None:
            raise ValueError(f"{self.external_id!r} came without its vector: ask with include_vectors=True")
        return decode_array(self.encoded)


@dataclass(frozen=True)
class Upserted:
    """What became of one item."""

    external_id: str
    status: Literal["inserted", "updated"]
    timing_ms: WriteTiming | None = None
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id; None from services before it."""


@dataclass(frozen=True)
class ItemChanged:
    """An item of which parts were changed."""

    external_id: str
    status: Literal["updated"]
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id; None from services before it."""


@dataclass(frozen=True)
class ItemError:
    """Why an item was skipped."""

    code: int
    message: str


@dataclass(frozen=True)
class BulkUpsertResult:
    """What became of one item of several. ``conflict`` and ``invalid`` were skipped (``on_error="skip"``)."""

    external_id: str | None
    """None of a skipped item that has none."""
    status: Literal["inserted", "updated", "conflict", "invalid"]
    version: int | None = None
    """The version that it got; of a conflict, that of the item that is there."""
    index: int | None = None
    """Of a skipped item: its place among those given."""
    error: ItemError | None = None
    """Of a skipped item: why."""


@dataclass(frozen=True)
class BulkUpsertAnswer(Table[BulkUpsertResult]):
    """What became of each item, in the order given."""

    results: list[BulkUpsertResult]
    timing_ms: WriteTiming | None = None


@dataclass(frozen=True)
class BatchDeleted:
    """What was deleted of the ids given, and which were not there."""

    deleted_count: int
    deleted_ids: list[str]
    not_found: list[str]


@dataclass(frozen=True)
class ScrollPage(Table[StoredVector], rows="vectors"):
    """One page of a collection; ``next_cursor`` is None at the end."""

    vectors: list[StoredVector]
    next_cursor: str | None


# Search


@dataclass(frozen=True)
class HitContext:
    """Neighbouring chunks of a document as one text (``expand``)."""

    text: str
    from_chunk: int
    to_chunk: int


@dataclass(frozen=True)
class Hit:
    """Something found. Scores are always "higher is better"."""

    external_id: str
    score: float
    metadata: dict[str, Any]
    text: str | None = None
    """None: it was not asked for (``include_text``)."""
    context: HitContext | None = None
    """None: it was not asked for (``expand``), or this is no chunk of a document."""


@dataclass(frozen=True)
class HitGroup:
    """Hits with the same value under ``group_by``, best first."""

    key: str | float | bool | None
    """The value; None: a hit without one (``group_missing="each"``)."""
    score: float
    """That of its best hit."""
    hits: list[Hit]


@dataclass(frozen=True)
class SearchAnswer(Table[Hit]):
    """Hits, best first. ``total_count`` counts the collection, whatever the filters say."""

    results: list[Hit] = field(metadata={"absent": list})
    total_count: int
    k: int
    offset: int
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; None: it was not asked for (``total``)."""
    within: str | None = None
    """"hits": ``order_by`` ordered the hits of the page."""
    groups: list[HitGroup] | None = None
    """Instead of results; None: it was not asked for (``group_by``)."""


@dataclass(frozen=True)
class BulkSearchAnswer:
    """A list of hits for each query of one request."""

    results: list[list[Hit]]
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: list[int | None] | None = None
    within: str | None = None
    """"hits": ``order_by`` ordered the hits of a query."""
    groups: list[list[HitGroup] | None] | None = None


@dataclass(frozen=True)
class ProfiledBulkSearch:
    """A list of hits for each query, and where the time of each request went that it took."""

    results: list[list[Hit]]
    profiles: list[SearchProfile]


BulkSearchQueryLike: TypeAlias = BulkSearchQuery | Mapping[str, Any] | VectorLike
"""One of several searches, or only its vector or text."""


@dataclass(frozen=True)
class HybridHit:
    """Something found by meaning, by words, or both; the ranks come with ``explain``."""

    external_id: str
    score: float
    metadata: dict[str, Any]
    vector_rank: int | None = None
    vector_score: float | None = None
    keyword_rank: int | None = None
    keyword_score: float | None = None
    text: str | None = None
    """None: it was not asked for (``include_text``)."""
    context: HitContext | None = None
    """None: it was not asked for (``expand``), or this is no chunk of a document."""


@dataclass(frozen=True)
class HybridGroup:
    """Hits with the same value under ``group_by``, best first."""

    key: str | float | bool | None
    score: float
    hits: list[HybridHit]


@dataclass(frozen=True)
class HybridAnswer(Table[HybridHit]):
    """Hits of both lists, fused by rank, best first."""

    results: list[HybridHit] = field(metadata={"absent": list})
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; None: it was not asked for (``total``)."""
    within: str | None = None
    """"hits": ``order_by`` ordered the hits of the page."""
    groups: list[HybridGroup] | None = None
    """Instead of results; None: it was not asked for (``group_by``)."""


@dataclass(frozen=True)
class RerankAnswer(Table[Hit]):
    """Exact scores of the candidates that exist, best first."""

    results: list[Hit] = field(metadata={"absent": list})
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    groups: list[HitGroup] | None = None
    """Instead of results; None: it was not asked for (``group_by``)."""


@dataclass(frozen=True)
class RecommendAnswer(Table[Hit]):
    """What is like a stored vector, best first, without itself."""

    results: list[Hit] = field(metadata={"absent": list})
    collection: str
    source_id: str
    k: int
    offset: int = 0
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; None: it was not asked for (``total``)."""
    within: str | None = None
    """"hits": ``order_by`` ordered the hits of the page."""
    groups: list[HitGroup] | None = None
    """Instead of results; None: it was not asked for (``group_by``)."""


@dataclass(frozen=True)
class ValueCount:
    """How many items have a value."""

    value: Any
    count: int


@dataclass(frozen=True)
class Facet:
    """The values of a field; ``missing`` counts the items without it."""

    field: str
    values: list[ValueCount]
    more: bool
    missing: int


@dataclass(frozen=True)
class Bucket:
    """How many items are from ``start`` to below ``end``: numbers, or times as texts."""

    start: Any = field(metadata={"name": "from"})
    end: Any = field(metadata={"name": "to"})
    count: int = 0


@dataclass(frozen=True)
class Ranges:
    """The buckets of a field."""

    field: str
    buckets: list[Bucket]


@dataclass(frozen=True)
class Statistics:
    """What was asked of the numbers of a field; None: not asked for, or there is no number."""

    field: str
    min: float | None = None
    max: float | None = None
    sum: float | None = None
    avg: float | None = None
    count: int | None = None
    distinct: int | None = None
    distinct_error: float | None = None
    p50: float | None = None
    p99: float | None = None
    not_numbers: int | None = None


@dataclass(frozen=True)
class InnerGroup:
    """What was counted of the items that have a value of each of two fields."""

    value: Any
    count: int
    facets: list[Facet] = field(default_factory=list)
    ranges: list[Ranges] = field(default_factory=list)
    stats: list[Statistics] = field(default_factory=list)


@dataclass(frozen=True)
class InnerGroups:
    """The items of a group by the most frequent values of another field."""

    field: str
    groups: list[InnerGroup]
    more: bool
    missing: int


@dataclass(frozen=True)
class Group:
    """What was counted of the items that have a value."""

    value: Any
    count: int
    facets: list[Facet] = field(default_factory=list)
    ranges: list[Ranges] = field(default_factory=list)
    stats: list[Statistics] = field(default_factory=list)
    by: InnerGroups | None = None


@dataclass(frozen=True)
class Groups:
    """Items by the most frequent values of a field."""

    field: str
    groups: list[Group]
    more: bool
    missing: int


@dataclass(frozen=True)
class Aggregates:
    """What was counted; ``hits`` and ``approximate`` with ``over`` alone."""

    facets: list[Facet] = field(default_factory=list)
    ranges: list[Ranges] = field(default_factory=list)
    stats: list[Statistics] = field(default_factory=list)
    by: Groups | None = None
    approximate: bool | None = None
    hits: int | None = None


@dataclass(frozen=True)
class Counted:
    """How many items pass filters, exactly."""

    count: int


@dataclass(frozen=True)
class Similarity:
    """The cosine of two stored vectors."""

    id1: str
    id2: str
    similarity: float


@dataclass(frozen=True)
class QueryHit:
    """A text found; "" with ``include_text=False``."""

    score: float
    metadata: dict[str, Any]
    external_id: str
    text: str = ""
    context: HitContext | None = None


@dataclass(frozen=True)
class QueryGroup:
    """Texts with the same value under ``group_by``, best first."""

    key: str | float | bool | None
    score: float
    hits: list[QueryHit]


@dataclass(frozen=True)
class QueryAnswer(Table[QueryHit]):
    """Texts that answer a question, best first."""

    query: str
    collection: str
    results: list[QueryHit] = field(metadata={"absent": list})
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; None: it was not asked for (``total``)."""
    within: str | None = None
    """"hits": ``order_by`` ordered the hits of the page."""
    groups: list[QueryGroup] | None = None
    """Instead of results; None: it was not asked for (``group_by``)."""


@dataclass(frozen=True)
class DocumentUploaded:
    """A document that was stored as chunks, named ``<document_id>-chunk-<n>``."""

    document_id: str
    chunks_created: int
    timing_ms: WriteTiming | None = None


@dataclass(frozen=True)
class RecallReport:
    """How many of the exact neighbours calibrated searches find, with what it costs."""

    collection: str
    k: int
    queries: int
    recall: float | None
    standard_error: float | None
    rows_scored: float | None
    rows_rescored: float | None
    calibrated_ms: float
    exact_ms: float


@dataclass(frozen=True)
class SampleItem:
    """One item of a sample."""

    external_id: str
    metadata: dict[str, Any]


def _rows(data: str, count: int, dimensions: int) -> list[list[float]]:
    numbers = decode_vector(data)
    return [numbers[i * dimensions : (i + 1) * dimensions] for i in range(count)]


@dataclass(frozen=True)
class SampleVectors:
    """The vectors of a sample, in the order of its items, as one text of base64."""

    count: int
    dimensions: int
    data: str = field(repr=False)

    @property
    def array(self) -> NDArray[np.float32]:
        """A row for each item."""
        return decode_array(self.data).reshape(self.count, self.dimensions)

    @property
    def rows(self) -> list[list[float]]:
        """The same as lists."""
        return _rows(self.data, self.count, self.dimensions)


@dataclass(frozen=True)
class ProjectionBounds:
    """The least and the greatest value of each dimension."""

    minimum: list[float]
    maximum: list[float]


@dataclass(frozen=True)
class Projection:
    """The vectors of a sample in few dimensions, in the order of its items, as one text of base64."""

    method: str
    dimensions: int
    explained_variance: list[float]
    bounds: ProjectionBounds
    data: str = field(repr=False)

    @property
    def array(self) -> NDArray[np.float32]:
        """A row for each item."""
        return decode_array(self.data).reshape(-1, self.dimensions)

    @property
    def rows(self) -> list[list[float]]:
        """The same as lists."""
        return _rows(self.data, len(base64.b64decode(self.data)) // (array("f").itemsize * self.dimensions), self.dimensions)


@dataclass(frozen=True)
class Sample(Table[SampleItem], rows="items"):
    """A uniform sample of what matches; the same seed draws the same one."""

    size: int
    population: int
    seed: int
    items: list[SampleItem]
    vectors: SampleVectors | None = None
    projection: Projection | None = None


# Keys


@dataclass(frozen=True)
class KeyScope:
    """Collections that a key is limited to: one by its ``name``, or all whose names begin with ``prefix``."""

    name: str | None = None
    prefix: str | None = None
    role: Role | None = None
    """The role for them; None: the key's."""


KeyScopeLike: TypeAlias = KeyScope | Mapping[str, Any]
"""A scope, or a mapping with its fields as the API names them."""


@dataclass(frozen=True)
class KeyQuota:
    """The most that a key may store in a period."""

    items: int | None
    """None: any number."""
    bytes: int | None
    """Of vectors, metadata, texts and ids; None: any number."""
    period: QuotaPeriod
    """A day or month of UTC, or in all."""


@dataclass(frozen=True)
class KeyQuotaUse(KeyQuota):
    """What a key has stored of its quota in the present period; None: it is not bounded."""

    resets_at: datetime | None = None
    """When it counts anew; None: never."""


@dataclass(frozen=True)
class ApiKey:
    """An API key without its secret."""

    id: int
    name: str
    role: Role
    created_at: datetime
    is_active: bool = True
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    collections: list[KeyScope] | None = None
    """Collections that the key is limited to; None: all."""
    allowed_networks: list[str] | None = None
    """Networks that it may be used from; None: all."""
    rate_limit_per_minute: int | None = None
    """Requests in any 60 seconds; 0: no limit; None: the service's."""
    quota: KeyQuota | None = None
    """The most that it may store; None: as much as there is room for."""
    previous_expires_at: datetime | None = None
    """Until when the secret before the last rotation works; None: it does not."""


@dataclass(frozen=True)
class ApiKeyWithSecret(ApiKey):
    """An API key with its secret, which is shown this once."""

    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class KeyDeleted:
    """A key that was deleted."""

    deleted: int
    name: str | None = None


@dataclass(frozen=True)
class Usage:
    """Requests of one key, or of all."""

    total_requests: int
    last_24h: int
    last_7d: int
    last_30d: int
    by_endpoint: dict[str, int]
    last_request_at: datetime | None


@dataclass(frozen=True)
class UsageOfKey(Usage):
    """Requests of one key, and what it has stored of its quota."""

    quota_used: KeyQuotaUse | None = None
    """None: it has no quota."""


@dataclass(frozen=True)
class KeyUsage(Usage):
    """Requests of one key among all."""

    key_id: int | None = None
    key_name: str | None = None


@dataclass(frozen=True)
class UsageSummary(Usage):
    """Requests of all keys together, and of each."""

    overall: Usage | None = None
    by_key: list[KeyUsage] | None = None


@dataclass(frozen=True)
class Caller:
    """The key or the bearer token that a client sends."""

    key_id: int | None
    """None for a bearer token."""
    name: str
    role: Role
    expires_at: datetime | None
    collections: list[KeyScope] | None = None
    """Collections that the key is limited to; None: all."""
    quota: KeyQuota | None = None
    """The most that the key may store; None: as much as there is room for."""
    subject: str | None = None
    """Whom the bearer token speaks for; None for a key."""
    quota_used: KeyQuotaUse | None = None
    """What it has stored of its quota; None: it has none, or that can not be told at present."""


@dataclass(frozen=True)
class SignedIn:
    """The admin key that a first start's link stands for."""

    api_key: str = field(repr=False)
    role: Role
    key_id: int


# Jobs


@dataclass(frozen=True)
class Job:
    """Long work that goes on by itself."""

    id: str
    kind: str
    state: JobState
    step: str | None
    """What it is at, in the words of its kind."""
    collection: str | None
    """The collection that it works on; ``None``: it is about the service as a whole."""
    subject: str
    """What else it works on, such as the id of a backup or a node."""
    progress: float
    """Share of the work that is done, 0 to 1."""
    done: float
    """In ``unit``."""
    total: float
    """0: not known yet."""
    unit: str
    per_second: float | None
    seconds_left: float | None
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    error: str | None
    """Why it failed."""
    waits_for: str | None
    """What keeps it from getting on; it goes on by itself when that is over."""
    result: dict[str, Any] | None
    """What came of it, by its kind."""

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.state in ("done", "failed", "cancelled")


@dataclass(frozen=True)
class JobPage:
    """Some jobs, the newest first."""

    jobs: list[Job]
    next_cursor: str | None
    """Of the next page; ``None``: there is none."""


# Backups


@dataclass(frozen=True)
class BackupShard:
    """How far a shard is in a backup."""

    shard: int
    state: Literal["waiting", "running", "done"]
    items: int
    copied_bytes: int | None
    total_bytes: int
    position: int | None = None
    """The last entry of the shard's log that is in it; ``None``: not known."""


@dataclass(frozen=True)
class BackupCollection:
    """A collection in a backup."""

    name: str
    shards: list[BackupShard]


@dataclass(frozen=True)
class Verification:
    """What was found when the objects of a backup were read."""

    state: Literal["running", "done"]
    objects: int
    of: int
    bytes: int
    damaged: list[str]
    """Objects that are missing or differ from what was written; at most 100."""
    checked_at: datetime | None


@dataclass(frozen=True)
class LeftOutCollection:
    """A collection that a backup was to have and lacks."""

    name: str
    reason: str


@dataclass(frozen=True)
class Backup:
    """A backup: how far it is, and what is in it."""

    id: str
    target: str
    state: Literal["running", "cancelling", "done", "failed", "deleting", "unreadable"]
    started_at: datetime | None
    ended_at: datetime | None
    error: str | None
    progress: float
    """Share of the shards that are done."""
    copied_bytes: int
    """What this backup wrote itself."""
    total_bytes: int
    """All that it consists of, with what earlier backups wrote."""
    items: int
    collections: list[BackupCollection]
    verification: Verification | None = None
    sealed: bool | None = None
    """Whether it is sealed by this service; ``None``: it is not finished, or the service is of an earlier version."""
    warnings: list[str] = field(default_factory=list)
    """What it lacks, in words."""
    left_out: list[LeftOutCollection] = field(default_factory=list)
    """Collections that it was to have and lacks: a shard was damaged, or did not answer."""
    waits_for: str | None = None
    """Of one under way: a shard that did not answer the last time, and why; it is asked again."""


@dataclass(frozen=True)
class RestorableShard:
    """How far the log of a shard is in the backup target."""

    shard: int
    position: int | None
    """The last entry that is there."""
    gaps: int
    error: str | None


@dataclass(frozen=True)
class RestorableCollection:
    """From when to when a collection can be restored to any moment; ``None`` where it can't."""

    name: str
    deleted_at: datetime | None
    from_time: datetime | None = field(metadata={"name": "from"})
    until: datetime | None
    shards: list[RestorableShard]


@dataclass(frozen=True)
class BackupList:
    """All backups, the newest first, and what can be restored to any moment."""

    backups: list[Backup]
    restorable: list[RestorableCollection] = field(default_factory=list)


@dataclass(frozen=True)
class RestoreCollection:
    """A collection that is restored, by its name in the backup and its new one."""

    from_name: str = field(metadata={"name": "from"})
    name: str
    shards: int
    shards_ready: int


@dataclass(frozen=True)
class Restore:
    """A restore: how far it is."""

    id: str
    backup: str
    target: str
    state: Literal["running", "cancelling", "failed", "done"]
    keys: bool
    started_at: datetime
    ended_at: datetime | None
    error: str | None
    progress: float
    """Share of the shards that serve."""
    collections: list[RestoreCollection]
    until: str | None = None
    """The moment that was asked for; ``None``: that of the backup."""
    warnings: list[str] = field(default_factory=list)
    """What whoever asked for it should know."""


# The service


@dataclass(frozen=True)
class Endpoint:
    """One of the service's operations."""

    method: str
    path: str
    summary: str


@dataclass(frozen=True)
class ServiceInfo:
    """What answers at ``/``."""

    message: str
    docs: str | None
    endpoints: list[Endpoint]
    ui: str | None = None


@dataclass(frozen=True)
class HealthCollection:
    """A collection in ``Health``."""

    name: str
    vector_count: int
    dim: int | None = None


@dataclass(frozen=True)
class EmbeddingState:
    """Which model turns text into vectors."""

    configured: str
    active: str
    fallback_reason: str | None
    dim: int | None = None
    """Dimension of the model; None where it fits any."""


@dataclass(frozen=True)
class Health:
    """Whether the service is well, and what it holds."""

    status: str
    """``ok``, or ``degraded`` while a shard does not answer."""
    total_vectors: int
    """Of the collections that can be counted."""
    total_collections: int
    uptime_seconds: float
    collections: list[HealthCollection]
    embedding: EmbeddingState | None = None
    unavailable: list[UnavailableShard] = field(default_factory=list)
    """Shards that did not answer."""


@dataclass(frozen=True)
class Demo:
    """The collection of texts to try things with."""

    collection: str
    count: int
    loaded: bool
    dim: int
    embedding_model: str | None


@dataclass(frozen=True)
class Rates:
    """How often something happens, and how long it takes."""

    per_second: float
    errors_per_second: float
    p50_ms: float | None
    p99_ms: float | None
    total: int
    errors: int
    endpoint: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class SlowRequest:
    """A request that took long."""

    at: datetime
    method: str
    endpoint: str
    collection: str | None
    code: int
    ms: float
    key_id: int | None
    request_id: str


@dataclass(frozen=True)
class ActivityProcess:
    """The process that answered; ``id`` and ``pid`` are for admins."""

    id: str | None
    pid: int | None
    uptime_seconds: float
    memory_bytes: int
    heap_bytes: int
    processors: float


@dataclass(frozen=True)
class Activity:
    """What a process does at present."""

    process: ActivityProcess
    rate_seconds: float
    quantile_seconds: float
    requests: Rates
    operations: list[Rates]
    embedding: list[Rates]
    in_flight: int
    body_bytes: int
    shed_total: int
    slow_ms: float
    slow_requests: list[SlowRequest] | None


# The cluster


@dataclass(frozen=True)
class Coordinator:
    """A process that serves the API."""

    id: str
    address: str
    pid: int
    started_at: datetime


@dataclass(frozen=True)
class ClusterNode:
    """A process that stores shards."""

    id: str
    address: str
    zone: str
    pid: int
    state: Literal["up", "draining", "drained", "down"]
    primaries: int
    replicas: int
    vectors: int
    disk_bytes: int
    down_since: datetime | None = None


@dataclass(frozen=True)
class Learner:
    """A replica that is being filled."""

    node: str
    progress: float


@dataclass(frozen=True)
class ClusterShard:
    """A part of a collection, and who has it."""

    collection: str
    shard: int
    epoch: int
    primary: str | None
    in_sync: list[str]
    learners: list[Learner]
    state: Literal["ok", "degraded", "unavailable"]
    vectors: int
    last_op: int
    lag_ops: dict[str, int]
    later_epoch: int | None = None


@dataclass(frozen=True)
class Move:
    """A shard on its way to another node."""

    collection: str
    shard: int
    from_node: str = field(metadata={"name": "from"})
    to_node: str = field(metadata={"name": "to"})
    phase: str
    progress: float


@dataclass(frozen=True)
class ClusterState:
    """Members, shards, and what moves."""

    mode: Literal["embedded", "cluster"]
    controller: str | None
    coordinators: list[Coordinator]
    nodes: list[ClusterNode]
    shards: list[ClusterShard]
    moves: list[Move]
    reshards: list[Reshard] | None = None
    new_shards: list[ClusterShard] | None = None


@dataclass(frozen=True)
class Adoption:
    """A replica that was made what counts."""

    collection: str
    shard: int
    primary: str
    epoch: int
    earlier_epoch: int
