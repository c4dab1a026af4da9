"""What is sent and what comes back, as dataclasses.

Times are aware datetimes, sizes bytes, and ``*_ms`` milliseconds. What an answer leaves out is None, or empty.
"""

# Generated from the OpenAPI document: `UPDATE=1 npm test -- test/unit/clients/python` writes it anew.
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .behaviour import HasRows, HasVector, IsOver, ProfiledBulkSearch
from .search_query import BulkSearchQuery
from .sent import BulkSearchQueryLike, Filters, Item, ItemLike, KeyScopeLike, Metadata
from .tables import Table

__all__ = [
    "Activity",
    "ActivityProcess",
    "Adoption",
    "Aggregates",
    "Alias",
    "Answer",
    "AnswerCitation",
    "AnswerSentence",
    "AnswerSource",
    "AnswerTiming",
    "AnswerUsage",
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
    "CollectionEmbedding",
    "CollectionInfo",
    "CollectionStats",
    "Coordinator",
    "Counted",
    "Deleted",
    "Demo",
    "DescribedField",
    "DescribedItem",
    "DescribedValue",
    "Description",
    "DistanceMetric",
    "DocumentAdded",
    "DocumentDeleted",
    "DocumentPage",
    "DocumentUploaded",
    "EmbedAnswer",
    "EmbeddingState",
    "Endpoint",
    "Facet",
    "Filters",
    "FoundSynonyms",
    "Group",
    "Groups",
    "Health",
    "HealthCollection",
    "Highlight",
    "Hit",
    "HitContext",
    "HitGroup",
    "HybridAnswer",
    "HybridGroup",
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
    "JudgedQuery",
    "JudgedSet",
    "Judgements",
    "KeyDeleted",
    "KeyQuota",
    "KeyQuotaUse",
    "KeyScope",
    "KeyScopeLike",
    "KeyUsage",
    "KeywordField",
    "Learner",
    "LeftOutCollection",
    "LegPlace",
    "Metadata",
    "Move",
    "PlacedTerm",
    "ProfiledBulkSearch",
    "Projection",
    "ProjectionBounds",
    "Purge",
    "PurgedReplica",
    "PurgedShard",
    "QueryAnswer",
    "QueryGroup",
    "QueryHit",
    "QuotaPeriod",
    "Ranges",
    "Rates",
    "RecallReport",
    "RecommendAnswer",
    "RerankAnswer",
    "RerankStatus",
    "Reranked",
    "RerankedTexts",
    "Reshard",
    "RestorableCollection",
    "RestorableShard",
    "Restore",
    "RestoreCollection",
    "Role",
    "Sample",
    "SampleItem",
    "SampleVectors",
    "ScoredText",
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
    "StopWords",
    "StorageQuota",
    "StoredDocument",
    "StoredVector",
    "TextAnalysis",
    "UnavailableShard",
    "Upserted",
    "Usage",
    "UsageOfKey",
    "UsageSummary",
    "ValueCount",
    "Verification",
    "WhyCondition",
    "WhyLeg",
    "WhyReport",
    "WriteTiming",
]

DistanceMetric: TypeAlias = Literal["cosine", "l2", "ip"]
JobState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
QuotaPeriod: TypeAlias = Literal["day", "month", "total"]
Role: TypeAlias = Literal["admin", "readwrite", "readonly"]


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
    """search, keywordStatistics, keywordSearch, score or fetch."""
    shard: int
    place: Literal["inline", "shard", "node"]
    """inline: the thread that serves the request searched by itself; shard: that of the shard; node: another
    process."""
    attempts: int
    """How often it was sent: again where a node was lost, or another one leads."""
    start_ms: float
    """When it began, since the request came."""
    total_ms: float
    query: int | None = None
    """Of a bulk search: which query."""
    node: str | None = None
    """The node that was asked last, or its address; None: this process. Shown to admins alone; None to others."""
    role: Literal["primary", "follower"] | None = None
    """Of the replica that answered; shown to admins alone."""
    wait_ms: float | None = None
    """Until the shard began with it: for its thread, a lease, other work."""
    run_ms: float | None = None
    """From then on, where the shard is."""
    rpc_ms: float | None = None
    """The rest: on its way to the node and back."""
    results: int | None = None
    plan: str | None = None
    """scan, walk, exact, walk_then_scan (the walk found too few), cells, cells_then_scan (the same of cells), or
    empty."""
    candidates: int | None = None
    """Items that may be answers: those that pass the filter, or all."""
    scored: int | None = None
    """Rows scored by their codes."""
    rescored: int | None = None
    """Rows scored by their original vectors."""
    expanded: int | None = None
    """Rows that a walk kept and expanded: the effort, as ef counts it."""
    filter_ms: float | None = None
    """To find the items that pass the filter."""
    queue_ms: float | None = None
    """For a thread that searches."""
    vectors_ms: float | None = None
    """To search the vectors."""
    hits_ms: float | None = None
    """To make hits of what was found."""
    texts_ms: float | None = None
    """To read texts."""
    error: str | None = None


@dataclass(frozen=True)
class SearchProfile:
    """Where the time of a search went, step by step and shard by shard, in milliseconds."""

    request_id: str
    total_ms: float
    """Since the request came, without writing the answer: the sum of the nine below."""
    wait_ms: float
    """For the key, the limits and the bytes of the body."""
    parse_ms: float
    """To read and check the body."""
    route_ms: float
    """To find the collection."""
    embed_ms: float
    """To turn text into vectors."""
    queue_ms: float
    """For a place among large reads."""
    shards_ms: float
    """While any shard was asked. Calls of shards overlap, and each moment counts once."""
    merge_ms: float
    """To join their answers."""
    other_ms: float
    shards: list[ShardProfile]
    trace_id: str | None = None
    """Of the trace that it belongs to, if there is one."""
    rerank_ms: float | None = None
    """To have a model read hits."""


@dataclass(frozen=True)
class StorageQuota:
    """The most that a collection may hold."""

    items: int | None
    """None: any number."""
    bytes: int | None
    """On the disk, of one replica; None: any number."""


@dataclass(frozen=True)
class UnavailableShard:
    """A shard that did not answer, and why, for people. ``collection`` in ``Health`` alone."""

    shard: int
    reason: str
    collection: str | None = None


@dataclass(frozen=True)
class KeywordField:
    """What keyword search looks in, and how much its words count."""

    path: str
    weight: int
    analyser: str | None = None


@dataclass(frozen=True)
class StopWords:
    """Stop words of a collection besides those of its language."""

    add: list[str]
    remove: list[str]


@dataclass(frozen=True)
class CollectionEmbedding:
    """How texts of a collection become vectors, as it was made."""

    model: str
    dtype: Literal["auto", "q8", "fp32", "int8", "uint8", "fp16", "q4", "bnb4", "q4f16"] | None
    query_prefix: str | None
    passage_prefix: str | None
    truncate_dim: int | None
    template: str | None = None
    """Of a reembed; None: the text of an item."""


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
    """The language of its keyword text; None: none."""
    quantization: Literal["int8", "int4", "binary"] | None = None
    """How its vectors are held in memory."""
    metadata: Literal["memory", "disk"] | None = None
    """Where its ids and metadata are."""
    vectors: Literal["memory", "disk"] | None = None
    """Where the index of its vectors is."""
    shards: int | None = None
    replicas: int | None = None
    min_in_sync: int | None = None
    embedding_model: str | None = None
    """The model of its embedding, or of its first text; None before."""
    ttl_seconds: int | None = None
    """How long after their last write items without an expires_at of their own expire; None: never."""
    quota: StorageQuota | None = None
    """The most that it may hold; None: as much as there is room for."""
    unavailable_shards: list[UnavailableShard] = field(default_factory=list)
    """Shards that did not answer within some seconds, and why, for people; nearly always none."""
    keyword_fields: list[KeywordField] | None = None
    """What its keyword search looks in, with the analysers that are not its language; None: the text and all strings
    of the metadata."""
    keyword_positions: bool = True
    """Whether positions of words are kept for phrases."""
    job_id: str | None = None
    """Of a PATCH that changes keyword_fields: the job that brings them. They are the present ones until then."""
    synonyms: list[list[str] | dict[str, list[str]]] | None = None
    """What words of its queries mean besides; None: nothing."""
    stop_words: StopWords | None = None
    """Its stop words besides those of the language; None: none."""
    embedding: CollectionEmbedding | None = None
    """How its texts become vectors, as it was made; None: by embedding_model."""


@dataclass(frozen=True)
class Alias:
    """Another name of a collection."""

    alias: str
    collection: str
    """The own name of the collection."""
    created_at: datetime
    switched_at: datetime | None
    """When it was last moved; None: never."""


@dataclass(frozen=True)
class IndexState:
    """How far an index is built."""

    state: Literal["indexing", "compacting", "refining", "measuring", "ready"]
    """What is done in the background. indexing: rows are added to the graph, and scanned until then; compacting:
    dead rows are removed; refining: the links of rows that were added quickly are chosen anew, after which searches
    are quicker; measuring: the effort of searches is calibrated. Searches keep their recall in all states."""
    rows: int
    """Rows of all shards, including those of deleted and replaced vectors that were not removed yet."""
    rows_indexed: int
    """Rows in the graph. The others are scanned; a shard with few rows needs no graph."""
    rows_refined: int
    fraction: float
    """Share of the work that is done, by rows indexed and refined."""
    seconds_left: float | None
    """Until the state is ready, by the pace so far; None when it is not known yet."""
    optimizing: bool
    """Whether an optimize is under way."""


@dataclass(frozen=True)
class CollectionStats:
    """What a collection takes, and the state of its index."""

    name: str
    quantization: Literal["int8", "int4", "binary"]
    vector_count: int
    disk_bytes: int
    memory_bytes: int
    index: IndexState
    quota: StorageQuota | None = None
    """The most that it may hold; None: as much as there is room for."""


@dataclass(frozen=True)
class PurgedReplica:
    """How far the purge of a replica is."""

    node: str
    """The node that holds the replica; empty where there is only one."""
    state: Literal["none", "running", "done", "failed", "unknown"]
    """none: none was begun since the replica was opened; unknown: its node did not answer."""
    step: str
    """expired: expired items are removed; log: the replicated log is trimmed; vectors, directory, checkpoint: the
    indexes are rewritten; records: the store is rewritten; backups: the next backup will name nothing of earlier
    ones. Of a purge that failed, where it did."""
    bytes_before: int
    """What all files of the replica took when it began."""
    bytes_after: int
    error: str
    unshipped_writes: int = 0
    """Where logs are shipped (``BACKUP_LOG``): writes, with their contents, that the purge waits for in the step
    log, because they are kept until they are in the backup target. Of a purge that failed there, those that are
    still kept."""


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
    """done: every replica is; failed: one failed or did not answer, and none is running. Purge again then."""
    bytes_reclaimed: int
    """Of the replicas that are done; what was written meanwhile counts against it."""
    shards: list[PurgedShard]


@dataclass(frozen=True)
class Reshard:
    """A change of the number of shards that is under way."""

    collection: str
    from_shards: int = field(metadata={"name": "from"})
    """Shards that the collection had."""
    to_shards: int = field(metadata={"name": "to"})
    """Shards that it gets."""
    state: Literal["filling", "sealing", "opening", "retiring", "cancelling", "failed", "stuck"]
    """filling: the new shards are filled, and the old ones used; sealing, opening: the new ones take over, and calls
    wait for that; retiring: they have taken over, and the old ones go in a moment; cancelling: it is being undone;
    failed: it was undone, because of the error; stuck: the cluster store was put back from a backup, and it is not
    clear which shards count."""
    fraction: float
    """Share of the vectors that are copied."""
    copied: int
    total: int
    """Vectors when it began."""
    behind: int
    """Changes that the new shards do not have yet."""
    started_at: datetime
    error: str | None
    waits_for: str | None = None
    """What keeps it from getting on, for people; it goes on by itself when that is over. None: nothing."""


@dataclass(frozen=True)
class Deleted:
    """What was deleted, by its name or external_id."""

    deleted: str


@dataclass(frozen=True)
class StoredVector(HasVector):
    """An item as it is stored."""

    external_id: str
    encoded: list[float] | str | None = field(default=None, metadata={"name": "vector"}, repr=False)
    """Numbers, or with vector_format base64 the base64 of little-endian float32 values."""
    metadata: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""
    expires_at: datetime | None = None
    """When the item expires; absent if it never does."""


@dataclass(frozen=True)
class Upserted:
    """What became of one item."""

    external_id: str
    status: Literal["inserted", "updated"]
    timing_ms: WriteTiming | None = None
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""


@dataclass(frozen=True)
class ItemChanged:
    """An item of which parts were changed."""

    external_id: str
    status: Literal["updated"]
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""


@dataclass(frozen=True)
class ItemError:
    """Why an item was skipped."""

    code: int
    message: str


@dataclass(frozen=True)
class BulkUpsertResult:
    """What became of one item of several. ``conflict`` and ``invalid`` were skipped (``on_error="skip"``)."""

    external_id: str | None
    """None for a skipped item that has none."""
    status: Literal["inserted", "updated", "conflict", "invalid"]
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""
    index: int | None = None
    """The place in items; present for an item that was skipped."""
    error: ItemError | None = None
    """Why the item was skipped. version is then that of the vector that is there, of a conflict."""


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


@dataclass(frozen=True)
class HitContext:
    """Neighbouring chunks of a document as one text (``expand``)."""

    text: str
    from_chunk: int
    to_chunk: int


@dataclass(frozen=True)
class Highlight:
    """A fragment of a field with words of the query (``highlight``)."""

    field: str
    text: str
    """The fragment, with pre and post around the words if they are given."""
    start: int
    """Where the fragment begins in the text of the field."""
    spans: list[list[int]]
    index: int | None = None
    """Of a list of texts, which of them."""


@dataclass(frozen=True)
class Hit:
    """Something found. Scores are always "higher is better"."""

    external_id: str
    score: float
    metadata: dict[str, Any]
    text: str | None = None
    """Present if include_text is True; '' where the item has none."""
    context: HitContext | None = None
    """Present if expand is given: the chunks around the result. None where its metadata have no document_id or no
    chunk_index."""
    highlights: list[Highlight] | None = None
    """Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the whole
    text of the field as it is stored, not of the fragment; so is start."""
    first_rank: int | None = None
    """The same of its rank, from 1; with explain and diversity, the place among its candidates."""
    diversity_score: float | None = None
    """By which it was chosen for its place."""
    first_score: float | None = None
    """Present if rerank is given and the model has read it: its score before."""
    boosts: list[float] | None = None
    """With explain and boosts: what each of them gave, in their order; None: the item is gone meanwhile."""
    reranked_rank: int | None = None
    """The same with rerank: the place that the model gave it, from 1."""
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""


@dataclass(frozen=True)
class HitGroup:
    """Hits with the same value under ``group_by``, best first."""

    key: str | float | bool | None
    """What its hits have under group_by; None: a hit without a value there."""
    score: float
    """That of its best hit."""
    hits: list[Hit]


@dataclass(frozen=True)
class SearchAnswer(Table[Hit]):
    """Hits, best first. ``total_count`` counts the collection, whatever the filters say."""

    results: list[Hit] = field(metadata={"absent": list})
    """Best first; absent if group_by is given."""
    total_count: int
    """Vectors in the collection, before filtering."""
    k: int
    offset: int
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; present if total is True."""
    within: Literal["hits"] | None = None
    """With order_by: it ordered the hits of the page."""
    groups: list[HitGroup] | None = None
    """Present, and then instead of results, if group_by is given; best first."""
    rerank: Reranked | None = None
    next_cursor: str | None = None
    """The cursor of the next page, None at the end; present if the request has one."""
    boost_depth: int | None = None
    """Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard."""


@dataclass(frozen=True)
class BulkSearchAnswer:
    """A list of hits for each query of one request."""

    results: list[list[Hit]]
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: list[int | None] | None = None
    """For each query how many items pass its filters, None where its total is not True; present if one is."""
    within: Literal["hits"] | None = None
    """With order_by: it ordered the hits of the page."""
    groups: list[list[HitGroup] | None] | None = None
    """For each query its groups, None where it has no group_by; present if one has. Its results are empty."""
    rerank: list[Reranked | None] | None = None
    """For each query what was reranked, None where it has no rerank; present if one has."""
    next_cursor: list[str | None] | None = None
    """For each query the cursor of its next page, None at the end or where it has none; present if one has."""
    boost_depth: list[int | None] | None = None
    """For each query as in a search, None where all items were reached; present if one has it."""


@dataclass(frozen=True)
class LegPlace:
    """A hit in one of the lists of ``legs``."""

    rank: int | None
    score: float | None
    part: float


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
    """Present if include_text is True; '' where the item has none."""
    context: HitContext | None = None
    """Present if expand is given: the chunks around the result. None where its metadata have no document_id or no
    chunk_index."""
    highlights: list[Highlight] | None = None
    """Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the whole
    text of the field as it is stored, not of the fragment; so is start."""
    vector_part: float | None = None
    keyword_part: float | None = None
    first_rank: int | None = None
    """The same of its rank, from 1; with explain and diversity, the place among its candidates."""
    diversity_score: float | None = None
    """By which it was chosen for its place."""
    first_score: float | None = None
    """Present if rerank is given and the model has read it: its score before."""
    legs: list[LegPlace] | None = None
    """With legs and explain, in the place of those: the same of each leg."""
    boosts: list[float] | None = None
    """With explain and boosts: what each of them gave, in their order; None: the item is gone meanwhile."""
    reranked_rank: int | None = None
    """The same with rerank: the place that the model gave it, from 1."""
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""


@dataclass(frozen=True)
class HybridGroup:
    """Hits with the same value under ``group_by``, best first."""

    key: str | float | bool | None
    """What its hits have under group_by; None: a hit without a value there."""
    score: float
    """That of its best hit."""
    hits: list[HybridHit]


@dataclass(frozen=True)
class HybridAnswer(Table[HybridHit]):
    """Hits of both lists, fused by rank, best first."""

    results: list[HybridHit] = field(metadata={"absent": list})
    """Best first; absent if group_by is given."""
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; present if total is True."""
    within: Literal["hits"] | None = None
    """With order_by: it ordered the hits of the page."""
    groups: list[HybridGroup] | None = None
    """Present, and then instead of results, if group_by is given; best first."""
    rerank: Reranked | None = None
    next_cursor: str | None = None
    """The cursor of the next page, None at the end; present if the request has one."""
    boost_depth: int | None = None
    """Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard."""


@dataclass(frozen=True)
class RerankAnswer(Table[Hit]):
    """Exact scores of the candidates that exist, best first."""

    results: list[Hit] = field(metadata={"absent": list})
    """Best first; absent if group_by is given."""
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    groups: list[HitGroup] | None = None
    """Present, and then instead of results, if group_by is given; best first."""


@dataclass(frozen=True)
class RecommendAnswer(Table[Hit]):
    """What is like a stored vector, best first, without itself."""

    results: list[Hit] = field(metadata={"absent": list})
    """Best first; absent if group_by is given."""
    collection: str
    source_id: str
    k: int
    offset: int = 0
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; present if total is True."""
    within: Literal["hits"] | None = None
    """With order_by: it ordered the hits of the page."""
    groups: list[HitGroup] | None = None
    """Present, and then instead of results, if group_by is given; best first."""
    rerank: Reranked | None = None
    next_cursor: str | None = None
    """The cursor of the next page, None at the end; present if the request has one."""
    boost_depth: int | None = None
    """Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard."""


@dataclass(frozen=True)
class QueryHit:
    """A text found; "" with ``include_text=False``."""

    score: float
    metadata: dict[str, Any]
    external_id: str
    text: str = ""
    """Present if include_text is True; '' where the item has none."""
    context: HitContext | None = None
    """Present if expand is given: the chunks around the result. None where its metadata have no document_id or no
    chunk_index."""
    highlights: list[Highlight] | None = None
    """Present if highlight is given. spans are the words: first code unit, and first behind, in UTF-16 of the whole
    text of the field as it is stored, not of the fragment; so is start."""
    vector_rank: int | None = None
    vector_score: float | None = None
    keyword_rank: int | None = None
    keyword_score: float | None = None
    vector_part: float | None = None
    keyword_part: float | None = None
    first_rank: int | None = None
    """The same of its rank, from 1; with explain and diversity, the place among its candidates."""
    diversity_score: float | None = None
    """By which it was chosen for its place."""
    first_score: float | None = None
    """Present if rerank is given and the model has read it: its score before."""
    boosts: list[float] | None = None
    """With explain and boosts: what each of them gave, in their order; None: the item is gone meanwhile."""
    reranked_rank: int | None = None
    """The same with rerank: the place that the model gave it, from 1."""
    version: int | None = None
    """Rises with each change of the item, and is never given to another item of the same id. For if_version."""


@dataclass(frozen=True)
class QueryGroup:
    """Texts with the same value under ``group_by``, best first."""

    key: str | float | bool | None
    """What its hits have under group_by; None: a hit without a value there."""
    score: float
    """That of its best hit."""
    hits: list[QueryHit]


@dataclass(frozen=True)
class QueryAnswer(Table[QueryHit]):
    """Texts that answer a question, best first."""

    query: str
    collection: str
    results: list[QueryHit] = field(metadata={"absent": list})
    """Best first; absent if group_by is given."""
    timing_ms: SearchTiming | None = None
    profile: SearchProfile | None = None
    total_matches: int | None = None
    """Items that pass the filters; present if total is True."""
    within: Literal["hits"] | None = None
    """With order_by: it ordered the hits of the page."""
    groups: list[QueryGroup] | None = None
    """Present, and then instead of results, if group_by is given; best first."""
    rerank: Reranked | None = None
    next_cursor: str | None = None
    """The cursor of the next page, None at the end; present if the request has one."""
    boost_depth: int | None = None
    """Present if boosts could not reach all items: how many of the best without boosts were looked at, by shard."""


@dataclass(frozen=True)
class DescribedValue:
    """A value of a field, and how many of the items have it."""

    value: str | float | bool
    count: int


@dataclass(frozen=True)
class DescribedField:
    """A path of the metadata of a collection."""

    path: str
    kinds: list[Literal["text", "date", "number", "boolean", "list", "object", "null"]]
    """Of its values, and of the elements of its lists."""
    items: int
    """How many of the items have it."""
    values: list[DescribedValue]
    """The most frequent ones, each with how many of the items have it; no long texts."""
    more: bool
    """Whether it has other values, too."""
    least: float | None = None
    """Of its numbers."""
    greatest: float | None = None


@dataclass(frozen=True)
class DescribedItem:
    """An item that is shown."""

    external_id: str
    metadata: dict[str, Any]
    text: str | None


@dataclass(frozen=True)
class Description:
    """What is in a collection, by a sample of its items."""

    name: str
    description: str | None
    dim: int
    distance_metric: str
    language: str | None
    embedding_model: str | None
    """The model of its texts; None before the first."""
    items: int
    """Items that pass the filters; without these, all."""
    looked_at: int
    """Items that were looked at: counts are of these."""
    fields: list[DescribedField]
    """Paths of the metadata, those of most items first."""
    samples: list[DescribedItem]


@dataclass(frozen=True)
class AnswerCitation:
    """Words of a source; ``source.text[start:end]`` in UTF-16 code units."""

    number: int
    """The number of the source, from 1."""
    external_id: str
    start: int
    """Where the quote begins in the text of the source, in UTF-16 code units."""
    end: int
    quote: str
    """As it stands there."""
    document_id: str | float | None = None
    page: float | None = None


@dataclass(frozen=True)
class AnswerSentence:
    """A sentence of an answer, and what supports it."""

    text: str
    citations: list[AnswerCitation]
    unsupported: Literal[True] | None = None
    """Present where no quote was found."""


@dataclass(frozen=True)
class AnswerSource:
    """A passage that the model has read."""

    number: int
    """The number of the source, from 1."""
    external_id: str
    score: float
    text: str
    """What the model read."""
    document_id: str | float | None = None
    page: float | None = None
    document_key: str | None = None
    """As it was given, such as its path in a folder."""
    chunk_index: int | None = None
    start: float | None = None
    """Where the chunk begins in its document, by its metadata."""
    end: float | None = None
    headings: list[str] | None = None
    source: str | None = None
    """The file, by its metadata."""


@dataclass(frozen=True)
class AnswerUsage:
    """Tokens of an answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    estimated: Literal[True] | None = None
    """Present where the provider does not say it."""


@dataclass(frozen=True)
class AnswerTiming:
    """Where the time of an answer went, in milliseconds."""

    embedding_ms: float
    retrieval_ms: float
    """Until the passages were there, with embedding and reranking."""
    first_token_ms: float | None
    model_ms: float
    checking_ms: float
    total_ms: float


@dataclass(frozen=True)
class Answer:
    """What a language model answers, with checked citations."""

    answer: str
    """What the model wrote, without its citations."""
    sentences: list[AnswerSentence]
    """In their order. Every quote was found in the source that the model named."""
    sources: list[AnswerSource]
    """The passages that the model read, best first."""
    refused: bool
    """True: nothing relevant was found, and no model was asked."""
    model: str | None
    finish: Literal["stop", "length", "content_filter", "deadline"] | None
    """Why the model stopped: by itself, at max_tokens, by a filter, at LLM_TIMEOUT_MS; None: it was not asked."""
    dropped_quotes: int
    """Quotes of the model that are not in the source that it named."""
    usage: AnswerUsage
    timing_ms: AnswerTiming


@dataclass(frozen=True)
class Reranked:
    """What a model has read of the results of a search."""

    model: str
    scored: int
    """Results that the model has read."""
    of: int
    """Results that there were, at most top_n."""
    truncated: bool
    """Whether budget_ms was not enough for all that have a text."""


@dataclass(frozen=True)
class ScoredText:
    """The place of a text among those that were given, and its score."""

    index: int
    """The place of the text among documents, from 0."""
    score: float
    """0 to 1, higher is better."""


@dataclass(frozen=True)
class RerankedTexts(Table[ScoredText]):
    """Texts by how well they answer a query, best first."""

    model: str
    results: list[ScoredText]
    """Best first; equal scores by index."""


@dataclass(frozen=True)
class DocumentUploaded:
    """A document that was stored as chunks, named ``<document_id>-chunk-<n>``."""

    document_id: str
    chunks_created: int
    timing_ms: WriteTiming | None = None


@dataclass(frozen=True)
class DocumentAdded:
    """The job of a document, and how far it is."""

    job_id: str
    """GET /v1/jobs/{id} says how far it is."""
    document_id: str
    state: JobState
    error: str | None
    """Why the job failed; None: it has not."""
    result: dict[str, Any] | None
    """Once the job is done: ``outcome``, ``chunks``, and how many texts were ``embedded``."""


@dataclass(frozen=True)
class StoredDocument:
    """What is stored of a document."""

    document_id: str
    document_key: str | None
    source: str
    """The name of its file."""
    type: str | None
    title: str | None
    pages: int | None
    """None for formats without pages."""
    chunks: int | None
    """None for documents of /v1/documents/upload."""
    bytes: int | None
    """Of the file; None for documents of /v1/documents/upload."""
    sha256: str | None
    """Of the file; None for documents of /v1/documents/upload."""
    updated_at: datetime | None
    fingerprint: str | None = None
    """As it was given; None: it was not."""


@dataclass(frozen=True)
class DocumentPage:
    """Some documents; ``next_cursor`` is None at the end."""

    documents: list[StoredDocument]
    next_cursor: str | None


@dataclass(frozen=True)
class DocumentDeleted:
    """A document that was deleted, and how many chunks it had."""

    document_id: str
    deleted_chunks: int


@dataclass(frozen=True)
class RecallReport:
    """How many of the exact neighbours calibrated searches find, with what it costs."""

    collection: str
    k: int
    queries: int
    """How many were asked: fewer than were to be, when time ran out."""
    recall: float | None
    """The share of the exact k nearest that calibrated searches found; None when there was nothing to find."""
    standard_error: float | None
    """Of the recall; None for fewer than two queries."""
    rows_scored: float | None
    """Of a query, on average, over all shards: rows scored by what is held of them in memory. None: a node of an
    earlier version did not say it."""
    rows_rescored: float | None
    """Of a query, on average, over all shards: rows scored by their original vectors."""
    calibrated_ms: float
    """Of a query, on average, over all shards."""
    exact_ms: float
    """Of a query, on average, over all shards."""


@dataclass(frozen=True)
class FoundSynonyms:
    """Words of a query, from start to end in UTF-16 code units, and what they mean besides."""

    start: int
    end: int
    meanings: list[str]


@dataclass(frozen=True)
class PlacedTerm:
    """A term, and where it is in the text: UTF-16 code units, ``end`` the first behind it."""

    term: str
    start: int
    end: int
    stop_word: bool
    """Queries leave it out if they have other words."""


@dataclass(frozen=True)
class TextAnalysis:
    """The terms of a text, in its order."""

    analyser: str
    version: int
    """Rises when some text gives other terms than before."""
    language: str | None
    terms: list[PlacedTerm]
    """In the order of the text. start and end are UTF-16 code units of the text as it was sent, end the first behind
    the word. Terms may overlap."""
    synonyms: list[FoundSynonyms] | None = None
    """Of a query of a collection with synonyms: words that mean others, too."""


@dataclass(frozen=True)
class Judgements:
    """Queries that people judged, by name, without the queries."""

    name: str
    queries: int
    grades: int
    """Of all queries."""
    updated_at: datetime


@dataclass(frozen=True)
class JudgedQuery:
    """A query, and how good items are as its answer: grades by external_id."""

    query: str
    relevant: dict[str, float]


@dataclass(frozen=True)
class JudgedSet:
    """Queries that people judged."""

    name: str
    queries: int
    grades: int
    """Of all queries."""
    updated_at: datetime
    judged: list[JudgedQuery]


@dataclass(frozen=True)
class WhyCondition:
    """What a search asks of items, and whether one passes."""

    condition: dict[str, Any]
    passes: bool


@dataclass(frozen=True)
class WhyLeg:
    """An item in one of the lists that a search is made of."""

    leg: Literal["vector", "keyword"]
    score: float | None
    """With boosts, where the search has them."""
    exact_rank: int | None
    """Its place, from 1, by an exact search of the items that pass; None: not among the first MAX_K."""
    rank: int | None
    """Its place in the list that the search made; None: it is not in that, or scores too little."""
    depth: int
    """Hits that the search takes of the list."""
    index: int | None = None
    """With legs: which of them, from 0; those of weight 0 are left out."""
    conditions: list[WhyCondition] | None = None
    """What its own filters ask for; absent where it has none."""


@dataclass(frozen=True)
class WhyReport:
    """Why a search does not find an item."""

    external_id: str
    lost_at: str | None
    """None: the search finds it. item: there is none. filter: ``conditions`` say which. rerank, score, diversity,
    groups, boosts: without the model, without the least score, without these, it is on the page. approximation: an
    exact search has it on the page. rank: others are better. lists: it is not among the first MAX_K of any."""
    because: str
    """The same for people."""
    place: int | None
    """Its place in the ranked list, before a model reads it, from 1, or of an item that is found with group_by that
    of its group; None: not among the first MAX_K."""
    conditions: list[WhyCondition]
    """What filters, and signs in query_text, ask for, and whether the item passes."""
    legs: list[WhyLeg]
    """The lists that the search is made of."""
    effort: int | None = None
    """Of approximation: the least of the efforts 16, 32, 64 and so on that finds it."""


@dataclass(frozen=True)
class Similarity:
    """The cosine of two stored vectors."""

    id1: str
    id2: str
    similarity: float


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
    """Whether there are more values."""
    missing: int
    """Items without the field."""


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
    """Without rounding on the way; None beyond 1.8e308."""
    avg: float | None = None
    count: int | None = None
    distinct: int | None = None
    distinct_error: float | None = None
    """Of more than 100,000 distinct values these are an estimate with this standard error."""
    p50: float | None = None
    p99: float | None = None
    not_numbers: int | None = None
    """Values that only count and distinct count."""


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
    """Whether there are more values."""
    missing: int
    """Items without the field."""


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
    """Whether there are more values."""
    missing: int
    """Items without the field."""


@dataclass(frozen=True)
class Aggregates:
    """What was counted; ``hits`` and ``approximate`` with ``over`` alone."""

    facets: list[Facet] = field(default_factory=list)
    ranges: list[Ranges] = field(default_factory=list)
    stats: list[Statistics] = field(default_factory=list)
    by: Groups | None = None
    approximate: bool | None = None
    """True: with over, whose hits are counted."""
    hits: int | None = None
    """With over: how many hits were counted."""


@dataclass(frozen=True)
class Counted:
    """How many items pass filters, exactly."""

    count: int
    """Items that pass the filters, exactly; without filters, all."""


@dataclass(frozen=True)
class SampleItem:
    """One item of a sample."""

    external_id: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class SampleVectors(HasRows):
    """The vectors of a sample, in the order of its items, as one text of base64."""

    count: int
    dimensions: int
    data: str = field(repr=False)
    """Little-endian float32 values, row-major, in the order of items."""


@dataclass(frozen=True)
class ProjectionBounds:
    """The least and the greatest value of each dimension."""

    minimum: list[float]
    maximum: list[float]


@dataclass(frozen=True)
class Projection(HasRows):
    """The vectors of a sample in few dimensions, in the order of its items, as one text of base64."""

    method: Literal["pca"]
    dimensions: int
    explained_variance: list[float]
    """Share of the variance along each axis, 0 to 1, falling."""
    bounds: ProjectionBounds
    """Of the coordinates along each axis; empty without items."""
    data: str = field(repr=False)
    """Little-endian float32 values, row-major, in the order of items."""


@dataclass(frozen=True)
class Sample(Table[SampleItem], rows="items"):
    """A uniform sample of what matches; the same seed draws the same one."""

    size: int
    population: int
    """Items that match."""
    seed: int
    items: list[SampleItem]
    vectors: SampleVectors | None = None
    projection: Projection | None = None


@dataclass(frozen=True)
class KeyScope:
    """Collections that a key is limited to: one by its ``name``, or all whose names begin with ``prefix``."""

    name: str | None = None
    prefix: str | None = None
    role: Role | None = None
    """The role for them."""


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
    """Requests in any 60 seconds; 0: no limit; None: RATE_LIMIT_PER_MINUTE."""
    quota: KeyQuota | None = None
    """The most that it may store; None: as much as there is room for."""
    previous_expires_at: datetime | None = None
    """Until when the secret before the last rotation works; None: it does not."""


@dataclass(frozen=True)
class ApiKeyWithSecret(ApiKey):
    """An API key with its secret, which is shown this once."""

    key: str = field(default="", repr=False)
    """The secret; shown this once."""


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
    """What it has stored of its quota in this period, and when that counts anew; None: it has none."""


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
    """The most that it may store; None: as much as there is room for."""
    subject: str | None = None
    """Whom the bearer token speaks for; None for a key."""
    quota_used: KeyQuotaUse | None = None
    """What it has stored of its quota in this period, and when that counts anew; None: it has none, or that can not
    be told while the cluster store can not be reached."""


@dataclass(frozen=True)
class SignedIn:
    """The admin key that a first start's link stands for."""

    api_key: str = field(repr=False)
    role: Role
    key_id: int


@dataclass(frozen=True)
class Job(IsOver):
    """Long work that goes on by itself."""

    id: str
    kind: str
    """Such as ``backup``, ``restore``, ``reshard`` or ``drain``; later versions have others."""
    state: JobState
    step: str | None
    """What it is at, in the words of its kind."""
    collection: str | None
    """The collection that it works on; None: it is about the service as a whole."""
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


@dataclass(frozen=True)
class JobPage:
    """Some jobs, the newest first; ``next_cursor`` is None at the end."""

    jobs: list[Job]
    next_cursor: str | None


@dataclass(frozen=True)
class BackupShard:
    """How far a shard is in a backup."""

    shard: int
    state: Literal["waiting", "running", "done"]
    items: int
    copied_bytes: int | None
    total_bytes: int
    position: int | None = None
    """The last entry of the shard's log that is in it; None: not known."""


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
    """The last one, or the one under way."""
    sealed: bool | None = None
    """Whether it is sealed by this service, so that nobody else has made or changed it; None: it is not finished."""
    warnings: list[str] = field(default_factory=list)
    """What it lacks, in words."""
    left_out: list[LeftOutCollection] = field(default_factory=list)
    """Collections that it was to have and lacks: a shard was damaged, or did not answer."""
    waits_for: str | None = None
    """Of one under way: a shard that did not answer the last time, and why; it is asked again. None: there is none."""


@dataclass(frozen=True)
class RestorableShard:
    """How far the log of a shard is in the backup target."""

    shard: int
    position: int | None
    """The last entry of its log that is in the target."""
    gaps: int
    """How often entries were given up that are not in the target, since its primary began."""
    error: str | None


@dataclass(frozen=True)
class RestorableCollection:
    """From when to when a collection can be restored to any moment; None where it can't."""

    name: str
    deleted_at: datetime | None
    from_time: datetime | None = field(metadata={"name": "from"})
    """None: it can't be restored to a moment before there is a backup that its log goes on from."""
    until: datetime | None
    shards: list[RestorableShard]


@dataclass(frozen=True)
class BackupList:
    """All backups, the newest first, and what can be restored to any moment."""

    backups: list[Backup]
    restorable: list[RestorableCollection] = field(default_factory=list)
    """With ``BACKUP_LOG=True``: from when to when collections can be restored to any moment."""


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
    """Empty: it is restored from the log alone."""
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
    """The moment that was asked for; None: that of the backup."""
    warnings: list[str] = field(default_factory=list)
    """What to look at afterwards."""


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
    """-1 while a shard does not answer, so that nobody can count them."""
    dim: int | None = None


@dataclass(frozen=True)
class EmbeddingState:
    """Which model turns text into vectors."""

    configured: str
    active: str
    fallback_reason: str | None
    dim: int | None = None
    """Dimension of the model in use; None when it fits any."""
    models: list[str] = field(default_factory=list)
    """What the embedding of a collection may name."""


@dataclass(frozen=True)
class RerankStatus:
    """The rerank models that searches may name, the default first."""

    models: list[str]


@dataclass(frozen=True)
class Health:
    """Whether the service is well, and what it holds."""

    status: Literal["ok", "degraded"]
    """degraded: a shard does not answer; all others serve."""
    total_vectors: int
    """Of the collections that can be counted."""
    total_collections: int
    uptime_seconds: float
    collections: list[HealthCollection]
    embedding: EmbeddingState | None = None
    unavailable: list[UnavailableShard] = field(default_factory=list)
    """Shards that did not answer within some seconds, and why, for people."""
    rerank: RerankStatus | None = None
    """Those that searches may name, the default first."""


@dataclass(frozen=True)
class Demo:
    """The collection of texts to try things with."""

    collection: str
    count: int
    """Texts of the demo."""
    loaded: bool
    """Whether this call stored them; False: they were there."""
    dim: int
    embedding_model: str | None


@dataclass(frozen=True)
class Rates:
    """How often something happens, and how long it takes."""

    per_second: float
    errors_per_second: float
    p50_ms: float | None
    """None: there was none."""
    p99_ms: float | None
    total: int
    """Since the process started."""
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
    """None unless the key is an admin's; pid, too."""
    pid: int | None
    uptime_seconds: float
    memory_bytes: int
    heap_bytes: int
    processors: float
    """How many are busy with it."""


@dataclass(frozen=True)
class Activity:
    """What a process does at present."""

    process: ActivityProcess
    rate_seconds: float
    """The time that rates are over, up to now."""
    quantile_seconds: float
    """The time that p50_ms and p99_ms are over."""
    requests: Rates
    operations: list[Rates]
    """Those that were called since the start, the busiest first."""
    embedding: list[Rates]
    """Calls of the model for queries and for passages to store."""
    in_flight: int
    body_bytes: int
    shed_total: int
    """Requests refused because the process was busy, since it started."""
    slow_ms: float
    """LOG_SLOW_MS."""
    slow_requests: list[SlowRequest] | None
    """The last hundred that took slow_ms or longer, the latest first; None unless the key is an admin's."""


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
    """When a node that is down was last a member; None if it is not down, or nobody saw it go."""


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
    """Operations each replica is behind, by node id."""
    later_epoch: int | None = None
    """The latest epoch that a node knows, when the shard map is earlier: etcd was put back from a backup."""


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
    """Collections that change their number of shards, or failed to."""
    new_shards: list[ClusterShard] | None = None
    """Shards that are to take the place of those of a collection that changes their number."""


@dataclass(frozen=True)
class Adoption:
    """A replica that was made what counts."""

    collection: str
    shard: int
    primary: str
    epoch: int
    earlier_epoch: int


@dataclass(frozen=True)
class EmbedAnswer:
    """Make vectors of texts, as the collection does: the answer."""

    embedding_model: str | None
    """The collection's; None: no text of it was stored yet, and the default model made them."""
    vectors: list[list[float]]
    """In the order of the texts."""
