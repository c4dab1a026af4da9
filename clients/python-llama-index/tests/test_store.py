"""The store by LlamaIndex's protocol, against a real service; its filters beside those of LlamaIndex's own store."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import BaseNode, ImageNode, IndexNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn
from llama_index.vector_stores.quiver import QuiverVectorStore, filters_from_llama_index

from quiver_client import AsyncCollection, Collection, NotFoundError, QuiverClient, ValidationError


def node(node_id: str, text: str, vector: list[float], document: str = "doc-0", **metadata: Any) -> TextNode:
    return TextNode(
        id_=node_id,
        text=text,
        embedding=vector,
        metadata=metadata,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document, metadata={"page": 1})},
        excluded_llm_metadata_keys=["year"],
        start_char_idx=3,
        end_char_idx=9,
    )


def nodes() -> list[BaseNode]:
    return [
        node("whale", "a whale swims at sea", [1, 0], "doc-0", year=1851, tags=["sea", "animal"], title="Moby Dick"),
        node("dream", "a dream of night", [0.6, 0.8], "doc-1", year=1900, tags=["night"], title="Dreams"),
        node("castle", "a castle on a hill", [0, 1], "doc-1", year=1926, title=None),
    ]


@pytest.fixture
def store(server) -> Iterator[QuiverVectorStore]:
    name = f"llama-{uuid.uuid4().hex[:12]}"
    with QuiverClient(server.url, server.api_key) as client:
        store = QuiverVectorStore(name, url=server.url, api_key=server.api_key, client=client)
        assert store.add(nodes()) == ["whale", "dream", "castle"]
        yield store
        client.collection(name).drop()


def query(vector: list[float] | None, k: int = 3, **more: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=vector, similarity_top_k=k, **more)


class Both:
    """Calls the sync and the async form, which must agree."""

    def __init__(self, store: QuiverVectorStore) -> None:
        self.store = store

    def query(self, asked: VectorStoreQuery, **options: Any) -> list[str]:
        result = self.store.query(asked, **options)
        other = asyncio.run(self.store.aquery(asked, **options))
        assert (other.ids, other.similarities, other.nodes) == (result.ids, result.similarities, result.nodes)
        return list(result.ids or [])

    def get_nodes(self, *given: Any) -> list[BaseNode]:
        result = self.store.get_nodes(*given)
        assert asyncio.run(self.store.aget_nodes(*given)) == result
        return result


@pytest.fixture
def both(store: QuiverVectorStore) -> Both:
    return Both(store)


def test_it_is_a_vector_store_of_llama_index(store: QuiverVectorStore) -> None:
    assert isinstance(store, BasePydanticVectorStore)
    assert store.to_dict()["collection_name"] == store.collection_name
    assert "api_key" not in store.to_json()


def test_nodes_come_back_whole(both: Both) -> None:
    back = {one.node_id: one for one in both.get_nodes(["castle", "whale", "dream", "none"])}
    for given in nodes():
        found = back[given.node_id]
        assert found.embedding == pytest.approx(given.embedding)
        found.embedding = given.embedding
        assert found == given


@pytest.mark.parametrize(
    "given",
    [
        IndexNode(id_="i", text="points on", index_id="other", embedding=[1.0, 0.0], metadata={"a": {"b": [1, None]}}),
        ImageNode(id_="p", text="a picture", image_url="https://pictures.test/1.png", embedding=[1.0, 0.0]),
        TextNode(id_="e", text="", embedding=[1.0, 0.0]),
    ],
)
def test_nodes_of_other_kinds_come_back_too(both: Both, given: BaseNode) -> None:
    both.store.add([given])
    assert both.get_nodes([given.node_id]) == [given]


def test_queries_give_nodes_by_their_nearness(both: Both) -> None:
    result = both.store.query(query([1, 0.1], 2))
    assert (result.ids, [one.get_content() for one in result.nodes or []]) == (
        ["whale", "dream"],
        ["a whale swims at sea", "a dream of night"],
    )
    assert (result.similarities or [])[0] > (result.similarities or [])[1]
    assert both.query(query([0, 1], 1)) == ["castle"]


def test_texts_come_with_the_search_itself(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    for collection in (Collection, AsyncCollection):
        monkeypatch.delattr(collection, "fetch")
    assert both.query(query([1, 0], 1)) == ["whale"]
    words = query(None, 1, query_str="castle", mode=VectorStoreQueryMode.TEXT_SEARCH)
    assert both.query(words) == ["castle"]
    assert both.store.query(words).nodes[0].get_content() == "a castle on a hill"


def test_queries_keep_to_documents_and_nodes(both: Both) -> None:
    assert both.query(query([1, 0], doc_ids=["doc-1"])) == ["dream", "castle"]
    assert both.query(query([1, 0], node_ids=["castle", "whale"])) == ["whale", "castle"]
    year = MetadataFilters(filters=[MetadataFilter(key="year", value=1900, operator=FilterOperator.GT)])
    assert both.query(query([1, 0], node_ids=["castle", "whale"], filters=year)) == ["castle"]


def test_modes_find_by_words_by_both_and_diversely(both: Both) -> None:
    for mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE):
        assert both.query(query(None, query_str="castle", mode=mode)) == ["castle"]
    hybrid = query([1, 0], query_str="castle", mode=VectorStoreQueryMode.HYBRID, alpha=0.2)
    assert both.query(hybrid)[0] == "castle"
    both.store.add([node("whale2", "another whale", [1, 0.01])])
    assert both.query(query([1, 0], 2)) == ["whale", "whale2"]
    assert both.query(query([1, 0], 2, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.1))[1] == "castle"


def test_what_has_no_counterpart_is_refused(both: Both) -> None:
    with pytest.raises(ValueError, match="svm"):
        both.store.query(query([1, 0], mode=VectorStoreQueryMode.SVM))
    with pytest.raises(ValueError, match="query_str"):
        both.store.query(query([1, 0], mode=VectorStoreQueryMode.HYBRID))
    with pytest.raises(ValueError, match="query_embedding"):
        both.store.query(query(None))
    with pytest.raises(ValueError, match="needs a text"):
        filters_from_llama_index(MetadataFilters(filters=[MetadataFilter(key="title", value=1, operator=FilterOperator.TEXT_MATCH)]))
    with pytest.raises(ValueError, match="needs a list"):
        filters_from_llama_index(MetadataFilters(filters=[MetadataFilter(key="year", value=1, operator=FilterOperator.IN)]))
    with pytest.raises(ValueError, match=r"\$or"):
        filters_from_llama_index(MetadataFilters(filters=[MetadataFilter(key="$or", value=1)]))
    with pytest.raises(ValueError, match="_node"):
        both.store.add([TextNode(text="x", embedding=[1, 0], metadata={"_node": 1})])


def test_nodes_are_deleted_by_document_by_id_and_by_filter(both: Both) -> None:
    store = both.store
    everything = lambda: {one.node_id for one in both.get_nodes()}  # noqa: E731
    store.delete("doc-1")
    assert everything() == {"whale"}
    store.add(nodes())
    year = MetadataFilters(filters=[MetadataFilter(key="year", value=1900, operator=FilterOperator.GTE)])
    store.delete_nodes(["whale", "dream"], year)
    assert everything() == {"whale", "castle"}
    asyncio.run(store.adelete_nodes(None, year))
    assert everything() == {"whale"}
    asyncio.run(store.async_add(nodes()))
    asyncio.run(store.adelete("doc-0"))
    store.delete_nodes(["dream", "none"])
    assert everything() == {"castle"}
    store.clear()
    assert everything() == set()


# What LlamaIndex's own store compares without an error: values of the same types as the metadata's.
VALUES: dict[str, list[Any]] = {"number": [1, 2, 3.5], "word": ["a", "b", "ab"], "tags": [["a"], ["a", "b"], []], "absent": []}
WORDS = ["a", "b", "zz"]


def random_filter(drawn: random.Random) -> MetadataFilter:
    key = drawn.choice(list(VALUES))
    if key == "tags":
        operator = drawn.choice([FilterOperator.CONTAINS, FilterOperator.ANY, FilterOperator.ALL, FilterOperator.IS_EMPTY])
        value: Any = drawn.choice(WORDS) if operator == FilterOperator.CONTAINS else drawn.sample(WORDS, 2)
        return MetadataFilter(key=key, value=None if operator == FilterOperator.IS_EMPTY else value, operator=operator)
    ordered = [FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE]
    operator = drawn.choice(
        [*ordered, FilterOperator.EQ, FilterOperator.NE, FilterOperator.IN, FilterOperator.NIN, FilterOperator.IS_EMPTY]
    )
    if key == "word" and drawn.random() < 0.3:
        within = [FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE]
        return MetadataFilter(key=key, value=drawn.choice(["a", "A", "b", "aB", ""]), operator=drawn.choice(within))
    values = VALUES[key] or [1, 2]
    if operator == FilterOperator.IS_EMPTY:
        return MetadataFilter(key=key, value=None, operator=operator)
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        values = [one for one in values if isinstance(one, type(values[0]))]
        return MetadataFilter(key=key, value=drawn.sample(values, 2), operator=operator)
    return MetadataFilter(key=key, value=drawn.choice(values), operator=operator)


def test_filters_mean_what_they_mean_to_llama_indexs_own_store(store: QuiverVectorStore) -> None:
    drawn = random.Random(11)
    store.clear()
    metadata: dict[str, dict[str, Any]] = {}
    for i in range(60):
        metadata[f"n{i}"] = {key: drawn.choice(values) for key, values in VALUES.items() if values and drawn.random() < 0.8}
    store.add([TextNode(id_=one, text=one, embedding=[1, 0], metadata=fields) for one, fields in metadata.items()])
    sizes = []
    for _ in range(150):
        filters = MetadataFilters(
            filters=[random_filter(drawn) for _ in range(drawn.randint(1, 3))], condition=drawn.choice(list(FilterCondition))
        )
        passes = build_metadata_filter_fn(lambda one: metadata[one], filters)
        expected = sorted(one for one in metadata if passes(one))
        assert sorted(one.node_id for one in store.get_nodes(filters=filters)) == expected, filters
        sizes.append(len(expected))
    assert min(sizes) == 0 < max(sizes)
    nested = MetadataFilters(
        filters=[MetadataFilter(key="number", value=1), MetadataFilters(filters=[MetadataFilter(key="word", value="a")])]
    )
    assert {one.node_id for one in store.get_nodes(filters=nested)} == {
        one for one, fields in metadata.items() if fields.get("number") == 1 and fields.get("word") == "a"
    }


def test_an_index_is_built_and_asked(server) -> None:
    name = f"index-{uuid.uuid4().hex[:12]}"
    with QuiverClient(server.url, server.api_key) as client:
        store = QuiverVectorStore(name, client=client, collection_options={"language": "en"})
        context = StorageContext.from_defaults(vector_store=store)
        documents = [Document(text="Whales swim.", metadata={"n": 1}), Document(text="Castles stand.", metadata={"n": 2})]
        index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=MockEmbedding(embed_dim=4))
        assert client.collection(name).info().language == "en"
        wanted = MetadataFilters(filters=[MetadataFilter(key="n", value=2)])
        found = index.as_retriever(similarity_top_k=2, filters=wanted).retrieve("anything")
        assert [one.get_content() for one in found] == ["Castles stand."]
        index.delete_ref_doc(documents[1].doc_id)
        assert [one.get_content() for one in index.as_retriever(similarity_top_k=2).retrieve("anything")] == ["Whales swim."]
        client.collection(name).drop()


EMPTY = MetadataFilters(filters=[])


@pytest.mark.parametrize("nothing", [None, EMPTY, MetadataFilters(filters=[EMPTY]), MetadataFilters(filters=[EMPTY, EMPTY])])
def test_filters_that_restrict_nothing_delete_nothing(store: QuiverVectorStore, nothing: Any) -> None:
    with pytest.raises(ValidationError, match="must not be empty"):
        store.delete_nodes(filters=nothing)
    with pytest.raises(ValidationError, match="must not be empty"):
        asyncio.run(store.adelete_nodes(filters=nothing))
    store.delete_nodes([], nothing)
    assert len(store.get_nodes()) == 3
    store.delete_nodes(["whale"], nothing)
    assert len(store.get_nodes()) == 2


def test_before_the_first_write_nothing_is_found(server) -> None:
    with QuiverClient(server.url, server.api_key) as client:
        name = f"none-{uuid.uuid4().hex[:12]}"
        store = QuiverVectorStore(name, client=client, url=server.url, api_key=server.api_key)
        both = Both(store)
        assert both.query(query([1, 0])) == []
        assert both.query(query([1, 0], mode=VectorStoreQueryMode.MMR)) == []
        assert both.query(query([1, 0], query_str="x", mode=VectorStoreQueryMode.HYBRID)) == []
        assert both.get_nodes() == both.get_nodes(["a"]) == []
        store.delete("doc")
        store.delete_nodes(["a"])
        store.clear()
        asyncio.run(store.aclear())
        with pytest.raises(NotFoundError):
            QuiverVectorStore(name, client=client, create_collection=False).get_nodes()


def test_none_in_filters_means_what_it_means_to_llama_indexs_own_store(store: QuiverVectorStore) -> None:
    store.clear()
    metadata: dict[str, dict[str, Any]] = {"a": {"x": 1}, "b": {"x": 2}, "none": {"x": None}, "missing": {}}
    store.add([TextNode(id_=one, text=one, embedding=[1, 0], metadata=fields) for one, fields in metadata.items()])
    for operator, value in [
        *((operator, None) for operator in (FilterOperator.EQ, FilterOperator.NE)),
        *((operator, value) for operator in (FilterOperator.IN, FilterOperator.NIN) for value in ([None], [1, None], [1], [])),
    ]:
        # As it was built by a program: the class itself takes no None in a list.
        part = MetadataFilter.model_construct(key="x", value=value, operator=operator)
        filters = MetadataFilters.model_construct(filters=[part], condition=FilterCondition.AND)
        passes = build_metadata_filter_fn(lambda one: metadata[one], filters)
        assert sorted(one.node_id for one in store.get_nodes(filters=filters)) == sorted(filter(passes, metadata)), (operator, value)
