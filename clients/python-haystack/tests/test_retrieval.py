"""Retrievers, pipelines that are stored, and what Haystack's test classes leave out."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils import Secret
from haystack_integrations.components.retrievers.quiver import QuiverEmbeddingRetriever, QuiverHybridRetriever, QuiverKeywordRetriever
from haystack_integrations.document_stores.quiver import QuiverDocumentStore, filters_from_haystack

from quiver_client import AsyncCollection, Collection, QuiverClient

DOCUMENTS = [
    Document(id="whale", content="a whale swims", embedding=[1, 0], meta={"year": 1851}),
    Document(id="castle", content="a castle stands", embedding=[0, 1], meta={"year": 1926}),
    Document(id="bare", content="a whale without an embedding"),
]


@pytest.fixture
def store(server, monkeypatch: pytest.MonkeyPatch) -> Iterator[QuiverDocumentStore]:
    monkeypatch.setenv("QUIVER_TEST_KEY", server.api_key)
    name = f"haystack-{uuid.uuid4().hex[:12]}"
    # Under l2, a vector of zeros is near to much.
    store = QuiverDocumentStore(
        url=server.url, api_key=Secret.from_env_var("QUIVER_TEST_KEY"), collection_name=name, embedding_dim=2, distance_metric="l2"
    )
    store.write_documents(DOCUMENTS)
    yield store
    with QuiverClient(server.url, server.api_key) as client:
        client.collection(name).drop()


def ids(found: dict[str, list[Document]]) -> list[str]:
    return [document.id for document in found["documents"]]


def test_the_nearest_documents_are_found_without_those_that_have_no_embedding(store: QuiverDocumentStore) -> None:
    retriever = QuiverEmbeddingRetriever(store, top_k=2, return_embedding=True)
    found = retriever.run([0.1, 0.2])
    assert ids(found) == ["castle", "whale"]
    assert found["documents"][0].content == "a castle stands"
    assert found["documents"][0].embedding == [0, 1]
    assert found["documents"][0].score > found["documents"][1].score
    assert asyncio.run(retriever.run_async([0.1, 0.2])) == found
    early = {"field": "meta.year", "operator": "<", "value": 1900}
    assert ids(retriever.run([0, 1], filters=early)) == ["whale"]
    assert ids(retriever.run([0, 1], top_k=1)) == ["castle"]


def test_words_are_found_alone_and_with_meaning(store: QuiverDocumentStore) -> None:
    keywords = QuiverKeywordRetriever(store)
    assert sorted(ids(keywords.run("whale"))) == ["bare", "whale"]
    assert asyncio.run(keywords.run_async("whale")) == keywords.run("whale")
    hybrid = QuiverHybridRetriever(store, alpha=0.5, top_k=1)
    assert ids(hybrid.run("whale", [1, 0])) == ["whale"]
    assert asyncio.run(hybrid.run_async("whale", [1, 0])) == hybrid.run("whale", [1, 0])


def test_texts_come_with_the_search_itself(store: QuiverDocumentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for collection in (Collection, AsyncCollection):
        monkeypatch.delattr(collection, "fetch")
    assert [one.content for one in store.embedding_retrieval([0, 1], top_k=1)] == ["a castle stands"]
    assert [one.content for one in asyncio.run(store.embedding_retrieval_async([0, 1], top_k=1))] == ["a castle stands"]
    assert [one.content for one in store.hybrid_retrieval("castle", top_k=1)] == ["a castle stands"]
    assert [one.content for one in asyncio.run(store.hybrid_retrieval_async("castle", top_k=1))] == ["a castle stands"]


def test_what_is_counted_is_not_gone_through(store: QuiverDocumentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for collection in (Collection, AsyncCollection):
        monkeypatch.delattr(collection, "scroll")
    early = {"field": "meta.year", "operator": "<", "value": 1900}
    assert (store.count_documents(), store.count_documents_by_filter(early)) == (3, 1)
    assert store.count_unique_metadata_by_filter({}, ["year", "meta.none"]) == {"year": 2, "meta.none": 0}
    assert store.get_metadata_field_min_max("year") == {"min": 1851, "max": 1926}
    assert store.get_metadata_field_unique_values("year") == ([1851, 1926], 2)
    assert store.update_by_filter(early, {"year": 1852}) == 1
    assert asyncio.run(store.get_metadata_field_min_max_async("year")) == {"min": 1852, "max": 1926}


def test_a_stored_pipeline_is_the_same_one(store: QuiverDocumentStore) -> None:
    pipeline = Pipeline()
    pipeline.add_component("hybrid", QuiverHybridRetriever(store, alpha=0.3, top_k=2, filter_policy="merge"))
    pipeline.add_component("embedding", QuiverEmbeddingRetriever(store))
    text = pipeline.dumps()
    again = Pipeline.loads(text)
    assert again.to_dict() == pipeline.to_dict()
    asked = {"hybrid": {"query": "castle", "query_embedding": [0, 1]}, "embedding": {"query_embedding": [1, 0]}}
    assert again.run(asked) == pipeline.run(asked)


def test_documents_of_every_kind_come_back_as_they_were(store: QuiverDocumentStore) -> None:
    store.delete_all_documents(recreate_collection=True)
    given = [
        Document(id="a", blob=ByteStream(b"\x00\xff", {"k": 1}, "image/png"), meta={"deep": {"list": [1, None]}}),
        Document(id="b", content="", embedding=[0, 0]),
        Document(id="c", content="sparse", sparse_embedding=SparseEmbedding([1, 5], [0.5, 0.25])),
    ]
    store.write_documents(given)
    assert store.filter_documents() == given


def test_policies_count_what_they_wrote(store: QuiverDocumentStore) -> None:
    twice = [Document(id="x", content="first"), Document(id="x", content="second")]
    assert store.write_documents(twice, DuplicatePolicy.OVERWRITE) == 1
    assert store.filter_documents({"field": "meta.no", "operator": "==", "value": None})[-1].content == "second"
    assert store.write_documents([*twice, Document(id="y", content="new")], DuplicatePolicy.SKIP) == 1
    assert store.write_documents([]) == 0


@pytest.mark.parametrize(
    "filters",
    [
        {"field": "content", "operator": "==", "value": "x"},
        {"field": "meta.x", "operator": "like", "value": "x"},
        {"field": "meta.x", "operator": ">", "value": True},
        {"operator": "XOR", "conditions": [{"field": "meta.x", "operator": "==", "value": 1}]},
        {"operator": "AND", "conditions": []},
    ],
)
def test_what_has_no_counterpart_is_refused(filters: dict) -> None:
    with pytest.raises(FilterError):
        filters_from_haystack(filters)


@pytest.mark.parametrize("nothing", [{}, None, {"operator": "AND", "conditions": []}, {"operator": "OR", "conditions": [{}]}])
def test_filters_that_restrict_nothing_delete_nothing(store: QuiverDocumentStore, nothing: Any) -> None:
    with pytest.raises(FilterError):
        store.delete_by_filter(nothing)
    with pytest.raises(FilterError):
        asyncio.run(store.delete_by_filter_async(nothing))
    assert store.count_documents() == 3


def test_before_the_first_write_nothing_is_found(server) -> None:
    name = f"haystack-{uuid.uuid4().hex[:12]}"
    store = QuiverDocumentStore(url=server.url, api_key=Secret.from_token(server.api_key), collection_name=name, embedding_dim=2)
    assert store.embedding_retrieval([1, 0]) == store.hybrid_retrieval("x") == store.filter_documents() == []
    store.collection.drop()


@pytest.mark.parametrize(
    ("operator", "value"),
    [(operator, value) for operator in ("in", "not in") for value in ([None], [1, None], [None, "a"], [1], [])]
    + [("==", None), ("!=", None)],
)
def test_none_in_a_list_means_what_it_means_to_haystacks_own_store(store: QuiverDocumentStore, operator: str, value: Any) -> None:
    metas: list[dict] = [{"x": 1}, {"x": None}, {}, {"x": "a"}, {"x": 2}]
    documents = [Document(id=f"d{i}", content="x", meta=meta) for i, meta in enumerate(metas)]
    own = InMemoryDocumentStore()
    own.write_documents(documents)
    store.delete_all_documents()
    store.write_documents(documents)
    asked = {"field": "meta.x", "operator": operator, "value": value}
    assert sorted(one.id for one in store.filter_documents(asked)) == sorted(one.id for one in own.filter_documents(asked))


def test_moments_of_filters_are_written_as_those_of_documents(store: QuiverDocumentStore) -> None:
    store.write_documents([Document(id="dated", content="x", meta={"at": datetime(2024, 1, 2, 3)})])
    for operator in ("==", ">=", "in"):
        value = datetime(2024, 1, 2, 5, tzinfo=timezone(timedelta(hours=2)))
        found = store.filter_documents({"field": "meta.at", "operator": operator, "value": [value] if operator == "in" else value})
        assert [one.id for one in found] == ["dated"]
    store.write_documents([Document(id="zoned", content="x", meta={"when": "2024-01-02T05:00:00+02:00"})])
    for operator, bound, found in (
        (">", "2024-01-02T02:59:59Z", ["zoned"]),
        ("<=", "2024-01-02", []),
        (">=", "2024-01-02T03:00:00", ["zoned"]),
    ):
        asked = {"field": "meta.when", "operator": operator, "value": bound}
        assert [one.id for one in store.filter_documents(asked)] == found
    with pytest.raises(FilterError, match="nan is no value"):
        filters_from_haystack({"field": "meta.at", "operator": "==", "value": float("nan")})
