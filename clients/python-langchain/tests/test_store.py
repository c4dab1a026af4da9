"""What LangChain's conformance tests leave out: filters, scores, diverse results, hybrid search, creation."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.structured_query import Comparator, Comparison, Operation, Operator, StructuredQuery
from langchain_quiver import QuiverTranslator, QuiverVectorStore

from quiver_client import AsyncCollection, BulkWriteError, Collection, NotFoundError, QuiverClient, ValidationError


class ByLength(Embeddings):
    """A text's vector is a direction that follows from its length."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, len(text) / 10]


DOCUMENTS = [
    Document(id="a", page_content="fig", metadata={"year": 1851, "tags": ["sea", "whale"], "by": {"name": "Melville"}}),
    Document(id="b", page_content="melon", metadata={"year": 1900, "tags": ["dream"]}),
    Document(id="c", page_content="pineapple", metadata={"year": 1925}),
]


@pytest.fixture
def store(server) -> Iterator[QuiverVectorStore]:
    name = f"store-{uuid.uuid4().hex[:12]}"
    with QuiverClient(server.url, server.api_key) as client:
        store = QuiverVectorStore(ByLength(), collection_name=name, client=client, url=server.url, api_key=server.api_key)
        store.add_documents(DOCUMENTS)
        yield store
        client.collection(name).drop()


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_documents_come_back_as_they_were(store: QuiverVectorStore) -> None:
    assert store.get_by_ids(["c", "none", "a"]) == [DOCUMENTS[2], DOCUMENTS[0]]
    assert store.similarity_search("fig", k=1) == [DOCUMENTS[0]]


def test_texts_come_with_the_search_itself(store: QuiverVectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for collection in (Collection, AsyncCollection):
        monkeypatch.delattr(collection, "fetch")
    assert store.similarity_search("fig", k=1) == [DOCUMENTS[0]]
    assert asyncio.run(store.asimilarity_search("fig", k=1)) == [DOCUMENTS[0]]
    assert store.hybrid_search("melon", k=1, alpha=0)[0][0] == DOCUMENTS[1]
    assert asyncio.run(store.ahybrid_search("melon", k=1, alpha=0))[0][0] == DOCUMENTS[1]


def test_an_update_replaces_metadata(store: QuiverVectorStore) -> None:
    store.add_documents([Document(id="a", page_content="fig")])
    assert store.get_by_ids(["a"])[0].metadata == {}


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"year": {"$gte": 1900}}, ["b", "c"]),
        ({"tags": "sea"}, ["a"]),
        ({"by.name": "Melville"}, ["a"]),
        ({"$or": [{"year": 1925}, {"tags": {"$in": ["dream"]}}]}, ["b", "c"]),
    ],
)
def test_filters_are_quivers(store: QuiverVectorStore, filter: dict, expected: list[str]) -> None:
    assert sorted(ids(store.similarity_search("x", k=5, filter=filter))) == expected


def test_another_kind_of_filter_is_refused(store: QuiverVectorStore) -> None:
    with pytest.raises(TypeError, match="filter language"):
        store.similarity_search("x", filter=lambda document: True)


def test_scores_are_higher_for_better_ones_and_relevance_is_from_0_to_1(store: QuiverVectorStore) -> None:
    scores = [score for _, score in store.similarity_search_with_score("fig", k=3)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1)
    relevance = [score for _, score in store.similarity_search_with_relevance_scores("fig", k=3)]
    assert all(0 <= score <= 1 for score in relevance)
    found = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9999, "k": 3}).invoke("fig")
    assert ids(found) == ["a"]


def test_diverse_results_differ_from_each_other(store: QuiverVectorStore) -> None:
    store.add_texts(["fog", "fox"], ids=["d", "e"])
    assert {"a", "d", "e"} >= set(ids(store.similarity_search("fig", k=3)))
    assert "c" in ids(store.max_marginal_relevance_search("fig", k=2, fetch_k=5, lambda_mult=0.1))
    assert "c" in ids(asyncio.run(store.amax_marginal_relevance_search("fig", k=2, fetch_k=5, lambda_mult=0.1)))


def test_words_are_found_by_hybrid_search(store: QuiverVectorStore) -> None:
    assert store.hybrid_search("pineapple", k=1, alpha=0)[0][0] == DOCUMENTS[2]
    assert asyncio.run(store.ahybrid_search("pineapple", k=1, alpha=0))[0][0] == DOCUMENTS[2]


def test_one_store_serves_one_event_loop_after_another(store: QuiverVectorStore) -> None:
    for _ in range(2):
        assert ids(asyncio.run(store.asimilarity_search("fig", k=1))) == ["a"]


def test_deleting_without_ids_takes_what_matches_or_all(store: QuiverVectorStore) -> None:
    store.delete(filter={"year": 1900})
    assert sorted(ids(store.similarity_search("x", k=5))) == ["a", "c"]
    store.delete()
    assert store.similarity_search("x", k=5) == []


def test_the_collection_is_made_with_the_first_documents(server) -> None:
    name = f"made-{uuid.uuid4().hex[:12]}"
    with QuiverClient(server.url, server.api_key) as client:
        options = {"language": "en"}
        store = QuiverVectorStore.from_texts(["one"], ByLength(), collection_name=name, client=client, collection_options=options)
        assert (client.collection(name).info().dim, client.collection(name).info().language) == (2, "en")
        assert ids(store.similarity_search("one")) != []
        client.collection(name).drop()
        bare = QuiverVectorStore(ByLength(), collection_name=name, client=client, create_collection=False)
        with pytest.raises(BulkWriteError, match="404: collection"):
            bare.add_texts(["one"])


def test_structured_queries_are_translated(store: QuiverVectorStore) -> None:
    after = Comparison(comparator=Comparator.GT, attribute="year", value=1880)
    dream = Comparison(comparator=Comparator.CONTAIN, attribute="tags", value="dream")
    query = StructuredQuery(
        query="fruit",
        filter=Operation(operator=Operator.AND, arguments=[after, Operation(operator=Operator.NOT, arguments=[dream])]),
        limit=None,
    )
    text, arguments = QuiverTranslator().visit_structured_query(query)
    assert (text, arguments) == ("fruit", {"filter": {"$and": [{"year": {"$gt": 1880}}, {"$not": {"tags": {"$eq": "dream"}}}]}})
    assert ids(store.similarity_search(text, **arguments)) == ["c"]


@pytest.mark.parametrize(
    ("comparator", "value", "expected"),
    [
        (Comparator.LIKE, "Ri", {"$contains": "Ri", "case": "fold"}),
        (Comparator.LIKE, "%a*b_", {"$like": "*a\\*b?", "case": "fold"}),
        (Comparator.GT, {"date": "2024-02-01", "type": "date"}, {"$gt": {"$date": "2024-02-01"}}),
        (Comparator.EQ, {"date": "2024-02-01T10:00:00+01:00"}, {"$eq": {"$date": "2024-02-01T10:00:00+01:00"}}),
        (Comparator.LT, {"date": "2024"}, {"$lt": "2024"}),
    ],
)
def test_texts_and_dates_are_translated(comparator: Comparator, value: object, expected: dict) -> None:
    assert QuiverTranslator().visit_comparison(Comparison(comparator=comparator, attribute="x", value=value)) == {"x": expected}


def test_like_finds_texts(store: QuiverVectorStore) -> None:
    store.add_texts(["x", "y"], [{"title": "The River"}, {"title": "a rivet"}], ids=["river", "rivet"])
    for pattern, found in (("RIV", {"river", "rivet"}), ("%riv_r", {"river"}), ("riv%", set())):
        filters = QuiverTranslator().visit_comparison(Comparison(comparator=Comparator.LIKE, attribute="title", value=pattern))
        assert {one.id for one in store.similarity_search("x", k=9, filter=filters)} == found


def test_like_needs_a_text() -> None:
    with pytest.raises(TypeError, match="like"):
        QuiverTranslator().visit_comparison(Comparison(comparator=Comparator.LIKE, attribute="x", value=1))


@pytest.mark.parametrize("nothing", [{}, {"$and": [{}, {}]}, {"$or": [{"year": 1900}, {}]}, {"year": {"$nin": []}}])
def test_a_filter_that_restricts_nothing_deletes_nothing(store: QuiverVectorStore, nothing: dict) -> None:
    with pytest.raises(ValidationError, match="must not be empty"):
        store.delete(filter=nothing)
    with pytest.raises(ValidationError, match="must not be empty"):
        asyncio.run(store.adelete(filter=nothing))
    store.delete(ids=[])
    assert len(store.similarity_search("x", k=5)) == 3


def test_before_the_first_write_nothing_is_found(server) -> None:
    with QuiverClient(server.url, server.api_key) as client:
        name = f"none-{uuid.uuid4().hex[:12]}"
        store = QuiverVectorStore(ByLength(), collection_name=name, client=client, url=server.url, api_key=server.api_key)
        assert store.similarity_search("fig") == []
        assert store.similarity_search_with_relevance_scores("fig", score_threshold=0.1) == []
        assert store.max_marginal_relevance_search("fig") == []
        assert store.hybrid_search("fig") == []
        assert store.get_by_ids(["a"]) == []
        assert store.delete(["a"])
        assert store.delete()
        assert store.as_retriever().invoke("fig") == []

        async def read() -> list:
            found = [
                await store.asimilarity_search("fig"),
                await store.amax_marginal_relevance_search("fig"),
                await store.ahybrid_search("fig"),
            ]
            assert await store.adelete(["a"])
            return [*found, await store.aget_by_ids(["a"])]

        assert asyncio.run(read()) == [[], [], [], []]
        bare = QuiverVectorStore(ByLength(), collection_name=name, client=client, create_collection=False)
        with pytest.raises(NotFoundError):
            bare.similarity_search("fig")


@pytest.mark.parametrize("metric", ["ip", "l2", "cosine"])
def test_relevance_is_from_0_to_1_for_vectors_of_any_length(server, metric: str) -> None:
    name = f"far-{uuid.uuid4().hex[:12]}"
    with QuiverClient(server.url, server.api_key) as client:
        client.create_collection(name, 2, distance_metric=metric)
        # What the collection has counts, not what the store would make.
        store = QuiverVectorStore(ByLength(), collection_name=name, client=client)
        store.add_texts(["x" * 50, "y" * 500, ""], ids=["a", "b", "c"])
        client.collection(name).upsert("d", [-50, -50], text="d")
        found = store.similarity_search_with_relevance_scores("x" * 50, k=4)
        relevance = [score for _, score in found]
        assert len(found) == 4
        assert all(0 <= score <= 1 for score in relevance), relevance
        assert relevance == sorted(relevance, reverse=True)
        client.collection(name).drop()


def test_relevance_is_that_of_the_collections_metric_for_who_only_reads(server) -> None:
    name = f"read-{uuid.uuid4().hex[:12]}"
    with QuiverClient(server.url, server.api_key) as client:
        client.create_collection(name, 2, distance_metric="l2")
        QuiverVectorStore(ByLength(), collection_name=name, client=client).add_texts(["x", "y" * 9], ids=["a", "b"])
        key = client.keys.create(name, "readonly").key

        def reader() -> QuiverVectorStore:
            return QuiverVectorStore(ByLength(), collection_name=name, url=server.url, api_key=key)

        scores = [score for _, score in reader().similarity_search_with_score("x", k=2)]
        assert [score for _, score in reader().similarity_search_with_relevance_scores("x", k=2)] == scores
        found = asyncio.run(reader().asimilarity_search_with_relevance_scores("x", k=2))
        assert [score for _, score in found] == scores
        client.collection(name).drop()


def test_none_in_a_structured_query_is_what_is_missing_too(store: QuiverVectorStore) -> None:
    store.add_documents([Document(id="n", page_content="none", metadata={"year": None}), Document(id="m", page_content="missing")])

    def found(comparator: Comparator, value: object) -> list:
        filter = QuiverTranslator().visit_comparison(Comparison(comparator=comparator, attribute="year", value=value))
        return sorted(ids(store.similarity_search("x", k=9, filter=filter)))

    assert found(Comparator.EQ, None) == ["m", "n"]
    assert found(Comparator.NE, None) == ["a", "b", "c"]
    assert found(Comparator.IN, [None, 1900]) == ["b", "m", "n"]
    assert found(Comparator.NIN, [1900, None]) == ["a", "c"]


@pytest.mark.parametrize("wrong", [{"where": {"year": 1900}}, {"ids": ["a"], "filter": {"year": 1900}}, {"ids": ["a"], "namespace": "x"}])
def test_a_restriction_that_would_be_passed_over_deletes_nothing(store: QuiverVectorStore, wrong: dict) -> None:
    with pytest.raises(TypeError, match="delete takes ids or"):
        store.delete(**wrong)
    with pytest.raises(TypeError, match="delete takes ids or"):
        asyncio.run(store.adelete(**wrong))
    assert len(store.similarity_search("x", k=5)) == 3


def test_a_text_without_metadata_has_none_of_those_before(store: QuiverVectorStore) -> None:
    store.add_texts(["fig"], [None], ids=["a"])  # type: ignore[list-item]
    assert store.get_by_ids(["a"])[0].metadata == {}
