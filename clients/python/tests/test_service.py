"""Both forms of the client against a real service."""

from __future__ import annotations

import io
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quiver_client import (
    AsyncQuiverClient,
    BadRequestError,
    BulkProgress,
    BulkSearchQuery,
    BulkWriteError,
    CollectionEmbedding,
    ConflictError,
    ForbiddenError,
    InvalidValueError,
    Item,
    KeyQuota,
    KeyScope,
    KeywordField,
    NotFoundError,
    QuiverClient,
    StorageQuota,
    UnauthorizedError,
    UploadProgress,
    ValidationError,
    VersionConflictError,
)

from .conftest import Server, eventually, got, listed

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.anyio


async def test_a_collection_lives_and_ends(quiver: Any) -> None:
    name = f"life-{uuid.uuid4().hex[:12]}"
    made = await got(
        quiver.create_collection(
            name,
            3,
            description="first",
            language="en",
            keyword_fields=[{"path": "title", "weight": 3}, {"path": "text"}],
            keyword_positions=False,
            quantization="int4",
            metadata="disk",
            vectors="disk",
        )
    )
    assert (made.name, made.dim, made.distance_metric, made.vector_count, made.quantization) == (name, 3, "cosine", 0, "int4")
    assert (made.metadata, made.vectors) == ("disk", "disk")
    assert made.keyword_positions is False
    assert made.keyword_fields == [KeywordField("title", 3), KeywordField("text", 1)]
    assert made.created_at.tzinfo is not None
    with pytest.raises(ConflictError):
        await got(quiver.create_collection(name, 3))
    assert name in [one.name for one in await got(quiver.list_collections())]
    collection = quiver.collection(name)
    assert (await got(collection.update(description=None))).description is None
    reindex = await got(collection.update(keyword_fields=[{"path": "title", "weight": 2, "analyser": "de"}]))
    assert (await got(quiver.jobs.wait(reindex.job_id))).state == "done"
    assert (await got(collection.info())).keyword_fields == [KeywordField("title", 2, "de")]
    assert [one.term for one in (await got(collection.analyse("Häuser", field="title"))).terms] == ["haus"]
    assert (await got(collection.info())).dim == 3
    assert (await got(collection.stats())).index.state == "ready"
    assert (await got(collection.optimize())).name == name
    alias = f"{name}-alias"
    (made_alias,) = await got(quiver.change_aliases([{"create": {"alias": alias, "collection": name}}]))
    assert (made_alias.alias, made_alias.collection, made_alias.switched_at) == (alias, name, None)
    assert [one.alias for one in await got(quiver.list_aliases()) if one.collection == name] == [alias]
    assert (await got(quiver.collection(alias).info())).name == name
    with pytest.raises(ConflictError):
        await got(collection.drop())
    await got(collection.drop(force=True))
    with pytest.raises(NotFoundError, match=name):
        await got(collection.info())


async def test_a_collection_is_got_or_created(quiver: Any) -> None:
    name = f"got-{uuid.uuid4().hex[:12]}"
    made = await got(quiver.get_or_create(name, 3, distance_metric="l2", language="en"))
    assert (made.name, (await got(made.info())).distance_metric) == (name, "l2")
    await got(made.upsert(1, np.ones(3, dtype=np.float64)))
    again = await got(quiver.get_or_create(name, 3, distance_metric="l2", description="of a later program"))
    assert (await got(again.get(1))).vector == [1, 1, 1]
    with pytest.raises(ConflictError, match=f'"{name}" is there, but its dim is 3, not 4; its distance_metric is l2, not cosine'):
        await got(quiver.get_or_create(name, 4))
    with pytest.raises(ConflictError, match="its language is en, not de"):
        await got(quiver.get_or_create(name, 3, distance_metric="l2", language="de"))
    with pytest.raises(ConflictError, match="its keyword_fields is None, not "):
        await got(quiver.get_or_create(name, 3, distance_metric="l2", keyword_fields=[{"path": "text"}]))
    await got(made.drop())


async def test_a_collection_says_its_model(quiver: Any) -> None:
    name = f"model-{uuid.uuid4().hex[:12]}"
    given = {"model": "local:builtin", "query_prefix": "q: "}
    made = await got(quiver.get_or_create(name, 8, embedding=given))
    assert (await got(made.info())).embedding == CollectionEmbedding("local:builtin", None, "q: ", None, None)
    await got(quiver.get_or_create(name, embedding=given))
    with pytest.raises(ConflictError, match="its embedding is "):
        await got(quiver.get_or_create(name, embedding="local:builtin"))
    await got(made.upsert("a", text="a red stone", vector_model="builtin"))
    with pytest.raises(ConflictError, match='vector_model of the item is "other"'):
        await got(made.upsert("b", np.ones(8), vector_model="other"))
    with pytest.raises(ConflictError, match='vector_model of the search is "other"'):
        await got(made.search(np.ones(8), vector_model="other"))
    with pytest.raises(BadRequestError, match="dim is required"):
        await got(quiver.create_collection(f"{name}-other", embedding="local:builtin"))
    await got(made.drop())


async def test_items_are_written_read_and_deleted(items: Any) -> None:
    assert (await got(items.upsert("a", [0.1, 2], metadata={"n": 1}, include_timing=True))).timing_ms.total_ms >= 0
    answer = await got(items.bulk_upsert([Item("b", np.array([3.0, 4.0])), {"external_id": "a", "vector": [0.1, 2], "text": "words"}]))
    assert [(one.external_id, one.status) for one in answer.results] == [("b", "inserted"), ("a", "updated")]
    stored = await got(items.get("a"))
    assert (stored.metadata, stored.text) == ({"n": 1}, "words")
    assert stored.array.dtype == np.float32
    assert stored.vector == pytest.approx([0.1, 2])
    assert (await got(items.get("a", vector_format="array"))).vector == [0.1, 2]
    assert [one.external_id for one in await got(items.fetch(["b", "none", "a"]))] == ["b", "a"]
    bare = (await got(items.fetch(["a"], include_vectors=False)))[0]
    assert bare.vector is None
    with pytest.raises(ValueError, match="include_vectors"):
        _ = bare.array
    deleted = await got(items.delete_batch(["b", "none"]))
    assert (deleted.deleted_count, deleted.deleted_ids, deleted.not_found) == (1, ["b"], ["none"])
    assert await got(items.delete_by_filter({"n": {"$gte": 5}})) == 0
    await got(items.delete("a"))
    with pytest.raises(NotFoundError):
        await got(items.delete("a"))


async def test_items_are_changed_only_as_long_as_they_are_what_the_caller_saw(items: Any) -> None:
    first = await got(items.upsert("a", [1, 0], metadata={"n": 1, "tags": {"x": 1}}, only_if="absent"))
    assert (await got(items.get("a"))).version == first.version
    with pytest.raises(VersionConflictError) as caught:
        await got(items.upsert("a", [1, 0], only_if="absent"))
    assert [(one.external_id, one.version) for one in caught.value.conflicts] == [("a", first.version)]
    assert (caught.value.written, caught.value.after_lost_answer) == ([], False)

    patched = await got(items.patch("a", metadata={"n": None, "tags": {"y": 2}}, text="words", if_version=first.version))
    assert patched.version > first.version
    stored = await got(items.get("a"))
    assert (stored.metadata, stored.text, stored.version) == ({"tags": {"x": 1, "y": 2}}, "words", patched.version)
    await got(items.patch("a", metadata={"n": 1}, metadata_mode="replace", vector=np.array([0.0, 1.0])))
    assert ((await got(items.get("a"))).metadata, (await got(items.get("a"))).vector) == ({"n": 1}, [0, 1])
    with pytest.raises(NotFoundError):
        await got(items.patch("..", text="x"))

    mixed = [Item("a", [1, 0], if_version=first.version), Item("b", [1, 0], metadata={"n": 1}), Item("c", [1])]
    results = (await got(items.bulk_upsert(mixed, on_error="skip"))).results
    assert [(one.status, one.index, one.error and one.error.code) for one in results] == [
        ("conflict", 0, 409),
        ("inserted", None, None),
        ("invalid", 2, 400),
    ]
    assert await got(items.update_by_filter({"n": 1}, set={"n": 2}, unset=["tags"])) == 2

    now = (await got(items.get("a"))).version
    refusals: tuple[Callable[[], Any], ...] = (
        lambda: items.delete("a", if_version=first.version),
        lambda: items.delete("nobody", if_version=1),
        lambda: items.delete_batch(["b", "a"], if_versions=[None, first.version]),
    )
    for refused in refusals:
        with pytest.raises(VersionConflictError):
            await got(refused())
    with pytest.raises(BulkWriteError) as bulk:
        await got(items.upsert_many([Item("a", [1, 0], if_version=first.version)]))
    assert isinstance(bulk.value.__cause__, VersionConflictError)
    assert bulk.value.__cause__.conflicts[0].version == now
    await got(items.delete("a", if_version=now))
    assert (await got(items.delete_batch(["b"], if_versions=[(await got(items.get("b"))).version]))).deleted_ids == ["b"]


async def test_backups_are_taken_verified_restored_and_deleted(quiver: Any, items: Any) -> None:
    await got(items.bulk_upsert([Item(f"i{i}", [i, 1], metadata={"i": i}) for i in range(50)]))
    begun = await got(quiver.backups.create([items.name]))

    async def found() -> Any:
        return await got(quiver.backups.get(begun.id))

    await eventually(found, lambda backup: backup.state == "done")
    assert [(one.id, one.items) for one in await got(quiver.backups.list())] == [(begun.id, 50)]
    job = await got(quiver.jobs.wait(f"backup-{begun.id}"))
    assert (job.kind, job.state, job.result["backup"]) == ("backup", "done", begun.id)
    assert job.id in [one.id for one in await listed(quiver.jobs.list(kind="backup"))]
    with pytest.raises(ConflictError):
        await got(quiver.jobs.cancel(job.id))
    await got(quiver.backups.verify(begun.id))
    verified = await eventually(found, lambda backup: backup.verification is not None and backup.verification.state == "done")
    assert verified.verification.damaged == []
    with pytest.raises(ConflictError):
        await got(quiver.backups.restore(begun.id))
    again = f"{items.name}-again"
    restore = await got(quiver.backups.restore(begun.id, rename={items.name: again}, shards=2))
    assert restore.collections[0].from_name == items.name

    async def state() -> Any:
        return await got(quiver.backups.restore_state(restore.id))

    await eventually(state, lambda one: one.state == "done")
    assert await listed(quiver.collection(again).scroll()) == await listed(items.scroll())
    assert restore.id in [one.id for one in await got(quiver.backups.list_restores())]
    await got(quiver.backups.cancel_restore(restore.id))
    assert restore.id not in [one.id for one in await got(quiver.backups.list_restores())]
    await got(quiver.collection(again).drop())
    await got(quiver.backups.delete(begun.id))

    async def left() -> Any:
        return await got(quiver.backups.list())

    await eventually(left, lambda backups: backups == [])


@pytest.mark.parametrize("external_id", ["a/b c", "..", "ü😀%", "?x=1&y#z", "{name}"])
async def test_ids_of_any_characters_reach_the_service(items: Any, external_id: str) -> None:
    await got(items.upsert(external_id, [1, 2]))
    assert (await got(items.get(external_id))).external_id == external_id
    assert (await got(items.similarity(external_id, external_id))).similarity == pytest.approx(1)
    await got(items.delete(external_id))


async def test_a_text_is_cut_into_terms(items: Any) -> None:
    found = await got(items.analyse("a ﬁne", as_="query"))
    assert (found.analyser, found.language) == ("unicode", None)
    assert [(one.term, one.start, one.end, one.stop_word) for one in found.terms] == [("a", 0, 1, False), ("fine", 2, 5, False)]


async def test_searches_are_compared_by_judged_queries(quiver: Any, items: Any) -> None:
    await got(items.upsert("a", [1, 2], text="a red apple"))
    judged = [{"query": "apple", "relevant": {"a": 2}}]
    assert (await got(items.put_judgements("fruit", judged))).queries == 1
    assert [one.name for one in await got(items.list_judgements())] == ["fruit"]
    found = await got(items.get_judgements("fruit"))
    assert [(one.query, one.relevant) for one in found.judged] == [("apple", {"a": 2})]
    job = await got(items.evaluate("fruit", [{"mode": "keyword"}], k=5))
    result = (await got(quiver.jobs.wait(job.id))).result
    assert (result["k"], result["variants"][0]["ndcg"]) == (5, {"mean": 1, "low": 1, "high": 1})
    await got(items.delete_judgements("fruit"))
    with pytest.raises(NotFoundError):
        await got(items.get_judgements("fruit"))


async def test_it_is_said_why_a_search_does_not_find_an_item(items: Any) -> None:
    await got(items.upsert("a", [1, 2], metadata={"n": 1}))
    found = await got(items.why("a", vector=[1, 2], filters={"n": 2}, k=3))
    assert (found.lost_at, found.because) == ("filter", 'it does not pass {"n":2}')
    assert [(one.condition, one.passes) for one in found.conditions] == [({"n": 2}, False)]
    assert (await got(items.why("a", vector=[1, 2], query_text="x"))).lost_at is None


async def test_hits_have_highlights(items: Any) -> None:
    await got(items.upsert("a", [1, 2], text="a red apple"))
    [hit] = (await got(items.hybrid_search("apple", vector=[1, 2], highlight={"pre": "*"}))).results
    assert hit.text is None
    assert [(one.field, one.text, one.start, one.spans, one.index) for one in hit.highlights or []] == [
        ("text", "a red *apple", 0, [[6, 11]], None)
    ]


async def test_searches_of_every_kind(items: Any) -> None:
    words = ["red apple", "green apple", "blue sky", "grey sky"]
    await got(items.bulk_upsert([Item(f"i{i}", [i, 0], text=word, metadata={"n": i}) for i, word in enumerate(words)]))
    found = await got(items.search([0.1, 0], k=2, filters={"n": {"$gt": 0}}, include_timing=True))
    assert [hit.external_id for hit in found.results] == ["i1", "i2"]
    assert (found.total_count, found.k, found.offset) == (4, 2, 0)
    assert found.results[0].metadata == {"n": 1}
    assert found.timing_ms.total_ms >= found.timing_ms.search_ms
    assert [hit.external_id for hit in (await got(items.search([0, 0], k=1, offset=1, exact=True))).results] == ["i1"]
    several = await got(items.bulk_search([BulkSearchQuery(vector=[3, 0], k=1), {"vector": np.zeros(2), "k": 2}]))
    assert [[hit.external_id for hit in hits] for hits in several] == [["i3"], ["i0", "i1"]]
    profiled = await got(items.bulk_search([{"vector": [3, 0], "k": 1}] * 21, profile=True))
    assert ([len(hits) for hits in profiled.results], len(profiled.profiles)) == ([1] * 21, 2)
    assert all(profile.shards for profile in profiled.profiles)
    hybrid = await got(items.hybrid_search("apple", [0, 0], k=2, alpha=0.5, explain=True))
    assert [(hit.external_id, hit.vector_rank) for hit in hybrid.results] == [("i0", 1), ("i1", 2)]
    assert hybrid.results[0].keyword_rank in (1, 2)
    assert [hit.external_id for hit in (await got(items.rerank(["i3", "i2", "none"], [2, 0]))).results] == ["i2", "i3"]
    assert [hit.external_id for hit in (await got(items.recommend("i0", k=1))).results] == ["i1"]
    examples: dict[str, Any] = {"positives": [{"id": "i0"}, {"vector": np.array([3, 0])}], "strategy": "best_score"}
    [both] = await got(items.bulk_search([{**examples, "k": 2}]))
    assert [hit.external_id for hit in both] == ["i3", "i1"]
    assert [hit.external_id for hit in (await got(items.search(**examples, negatives=[{"id": "i2"}]))).results] == ["i3"]
    with pytest.raises(InvalidValueError, match=r"positives\[0\]"):
        await got(items.recommend("i0", positives=["i1"]))
    fused = await got(items.hybrid_search("apple", [0, 0], fusion={"kind": "rrf", "constant": 1}, score_scale="unit", explain=True))
    assert 0 < fused.results[0].vector_part < fused.results[0].score <= 1
    legs: list[dict[str, Any]] = [{"vector": np.array([0, 0]), "filters": {"n": np.int64(1)}}, {"like": {"id": "i0"}, "weight": 2}]
    several_lists = await got(items.hybrid_search(legs=legs, explain=True))
    assert several_lists.results[0].external_id == "i1"
    assert [place.rank for place in several_lists.results[0].legs or []] == [1, 1]
    with pytest.raises(InvalidValueError, match=r"legs\[1\].like.positives"):
        await got(items.hybrid_search(legs=[legs[0], {"like": {"positives": "i0"}}]))
    assert [(hit.text, hit.external_id) for hit in (await got(items.query("sky", filters={"n": 3}))).results] == [("grey sky", "i3")]
    assert (await got(items.recall_check(queries=[[0, 0]], k=2))).recall == 1
    assert await got(items.count({"n": {"$gt": 0}})) == 3
    counted = await got(items.aggregate(filters={"n": {"$gt": 0}}, stats=[{"field": "n"}], by={"field": "n", "limit": 1}))
    assert (counted.facets, counted.ranges, counted.stats[0].sum, counted.by.groups[0].stats) == ([], [], 6, [])
    assert [one.count for one in (await got(items.aggregate(facets=[{"field": "n"}]))).facets[0].values] == [1, 1, 1, 1]
    with pytest.raises(BadRequestError, match="dimension"):
        await got(items.search([1, 2, 3]))
    with pytest.raises(ValidationError, match="k"):
        await got(items.search([1, 2], k=0))


async def test_hits_come_one_after_the_other_but_for_those_that_change_meanwhile(items: Any) -> None:
    await got(items.bulk_upsert([Item(f"i{i:02}", [i, 0], metadata={"n": i}) for i in range(40)]))
    found: list[Any] = []

    async def taken(hit: Any) -> None:
        found.append(hit)
        if len(found) == 10:
            await got(items.delete("i20"))
            await got(items.upsert("i21", [21, 0], metadata={"n": 0}))
            await got(items.upsert("new", [5, 0]))

    pages = items.search_all([0, 0], k=7, filters={"n": {"$lt": 35}})
    if hasattr(pages, "__aiter__"):
        async for hit in pages:
            await taken(hit)
    else:
        for hit in pages:
            await taken(hit)
    assert [hit.external_id for hit in found] == [f"i{i:02}" for i in range(35) if i not in (20, 21)]
    assert found[0].metadata == {"n": 0}
    with pytest.raises(BadRequestError, match="dates from now"):
        await listed(items.search_all([0, 0], filters={"$updated": {"$lt": "now-1d"}}))


async def test_every_search_chooses_what_hits_carry(items: Any) -> None:
    item = Item("i0", [1, 0], text="a red apple", metadata={"n": 1, "by": {"name": "Ann", "age": 41}})
    await got(items.bulk_upsert([item, Item("i1", [0, 1], metadata={"n": 2})]))
    options: dict[str, Any] = {"fields": ["by.name"], "include_text": True}
    answers = [
        await got(items.search([1, 0], k=1, **options)),
        await got(items.hybrid_search("apple", [1, 0], k=1, exact=True, **options)),
        await got(items.rerank(["i0"], [1, 0], **options)),
        await got(items.recommend("i1", exact=True, include_timing=True, **options)),
        await got(items.query("apple", top_k=1, filters={"n": 1}, exact=True, offset=0, **options)),
    ]
    lists = [answer.results for answer in answers]
    lists += await got(items.bulk_search([[1, 0], BulkSearchQuery([1, 0], k=1, **options)], k=1, total=True, **options))
    assert [[(hit.external_id, hit.text, hit.metadata) for hit in hits] for hits in lists] == [
        [("i0", "a red apple", {"by": {"name": "Ann"}})],
    ] * 7
    assert (lists[5].total_matches, lists[6].total_matches) == (2, None)
    bare = (await got(items.query("apple", top_k=1, fields=[], include_text=False))).results[0]
    assert (bare.metadata, bare.text) == ({}, "")
    assert [hit.text for hit in (await got(items.search([1, 0], total=True))).results] == [None, None]


async def test_a_sample_has_vectors_and_a_projection(items: Any) -> None:
    await got(items.bulk_upsert([Item(f"i{i}", [i, 2 * i], metadata={"n": i, "m": 0}) for i in range(10)]))
    sample = await got(items.sample(4, seed=7, metadata_fields=["n"], include_vectors=True, projection_dimensions=1))
    assert (sample.size, sample.population, len(sample.items)) == (4, 10, 4)
    assert sample.vectors.array.tolist() == sample.vectors.rows == [[one.metadata["n"], 2 * one.metadata["n"]] for one in sample.items]
    assert sample.projection.array.shape == (4, 1)
    assert np.allclose(sample.projection.array, sample.projection.rows)


async def test_many_items_go_in_batches_and_come_back_whole(items: Any) -> None:
    seen: list[BulkProgress] = []
    vectors = np.random.default_rng(1).standard_normal((2500, 2)).astype(np.float32)
    source = ({"external_id": f"i{i}", "vector": vectors[i], "metadata": {"even": i % 2 == 0}} for i in range(2500))
    result = await got(items.upsert_many(source, batch_items=400, in_flight=3, on_progress=seen.append))
    assert (result.inserted, result.updated, result.requests) == (2500, 0, 7)
    assert (seen[-1].items, seen[-1].bytes) == (2500, result.bytes)
    assert sorted(one.items for one in seen) == [one.items for one in seen]
    scrolled = await listed(items.scroll())
    exported = await listed(items.export())
    for back in (scrolled, exported):
        assert {one.external_id for one in back} == {f"i{i}" for i in range(2500)}
        assert all(np.array_equal(one.array, vectors[int(one.external_id[1:])]) for one in back)
    even = await listed(items.scroll(filters={"even": True}, include_vectors=False, limit=300))
    assert len(even) == 1250
    assert {one.vector for one in even} == {None}
    some = await got(items.fetch(["none", *(f"i{i}" for i in range(150, 0, -1))]))
    assert [one.external_id for one in some] == [f"i{i}" for i in range(150, 0, -1)]
    assert len(await got(items.bulk_search([{"vector": vector, "k": 1} for vector in vectors[:45]]))) == 45
    assert await got(items.delete_many(["none", *(f"i{i}" for i in range(2000, 2500))], batch_items=300)) == 500
    first = await listed(items.export(limit=3, vector_format="array"))
    assert [one.external_id for one in first] == [one.external_id for one in exported[:3]]
    page = await got(items.scroll_page(limit=2))
    assert (len(page.vectors), (await got(items.scroll_page(cursor=page.next_cursor, limit=1))).vectors[0].external_id) == (
        2,
        exported[2].external_id,
    )


async def test_items_that_are_refused_are_handed_over_and_the_others_written(items: Any) -> None:
    refused: list[tuple[str, int]] = []
    given = [Item(f"i{i}", [1] * (3 if i in (7, 30) else 2)) for i in range(40)]
    result = await got(
        items.upsert_many(given, batch_items=16, on_rejected=lambda item, error: refused.append((item["external_id"], error.code)))
    )
    assert (result.written, result.rejected) == (38, 2)
    assert sorted(refused) == [("i30", 400), ("i7", 400)]
    assert (await got(items.info())).vector_count == 38


async def test_an_id_that_comes_again_ends_as_it_came_last(items: Any) -> None:
    # Requests overtake each other; those that share an id must not.
    drawn = random.Random(3)
    given = [(f"i{drawn.randrange(20)}", n) for n in range(600)]
    await got(items.upsert_many([Item(i, [n, 0]) for i, n in given], batch_items=5, in_flight=8))
    assert {one.external_id: one.vector[0] for one in await listed(items.scroll())} == dict(given)


async def test_a_document_is_uploaded_piece_by_piece(items: Any, tmp_path: Path) -> None:
    text = b"The whale swam on. " * 20_000
    path = tmp_path / 'a "quoted" name.txt'
    path.write_bytes(text)
    steps: list[UploadProgress] = []
    done = await got(items.upload_document(path, on_progress=steps.append, include_timing=True))
    assert done.chunks_created > 100
    assert done.timing_ms.total_ms > 0
    assert len(steps) > 3
    assert steps[-1] == UploadProgress(len(text), len(text))
    chunk = await got(items.get(f"{done.document_id}-chunk-0"))
    assert chunk.metadata["source"].endswith(".txt")
    assert (await got(items.upload_document(io.BytesIO(b"Small."), filename="small.txt"))).chunks_created == 1
    assert (await got(items.upload_document(b"Small.", filename="small.txt"))).chunks_created == 1
    with pytest.raises(BadRequestError, match=r"Only \.txt"):
        await got(items.upload_document(b"%PDF", filename="paper.pdf"))
    with pytest.raises(ValueError, match="filename="):
        await got(items.upload_document(b"nameless"))


async def test_keys_are_made_used_and_ended(quiver: Any, server: Server) -> None:
    made = await got(quiver.keys.create("reader", "readonly", expires_in_days=3))
    try:
        assert made.expires_at > made.created_at
        assert made.key not in repr(made)
        kind = QuiverClient if isinstance(quiver, QuiverClient) else AsyncQuiverClient
        reader: Any = kind(server.url, made.key)
        assert (await got(reader.me())).role == "readonly"
        with pytest.raises(ForbiddenError):
            await got(reader.create_collection("never", 2))
        graceful = await got(quiver.keys.rotate(made.id, grace_seconds=600))
        assert graceful.key != made.key
        assert graceful.previous_expires_at > made.created_at
        assert (await got(reader.me())).key_id == made.id
        assert (await got(quiver.keys.rotate(made.id))).previous_expires_at is None
        with pytest.raises(UnauthorizedError):
            await got(reader.me())
        await got(reader.close())
        assert made.id in [key.id for key in await got(quiver.keys.list())]
        assert (await got(quiver.keys.update(made.id, name="was reader", is_active=False))).is_active is False
        scopes = [KeyScope(prefix="it"), {"name": "life", "role": "readonly"}]
        limited = await got(
            quiver.keys.update(
                made.id,
                role="readwrite",
                collections=scopes,
                allowed_networks=["127.0.0.0/8"],
                rate_limit_per_minute=0,
                quota={"items": 5, "period": "day"},
                expires_in_days=3,
            )
        )
        assert limited.collections == [KeyScope(prefix="it", role="readwrite"), KeyScope(name="life", role="readonly")]
        assert (limited.allowed_networks, limited.rate_limit_per_minute) == (["127.0.0.0/8"], 0)
        assert limited.quota == KeyQuota(items=5, bytes=None, period="day")
        assert limited.expires_at is not None
        used = (await got(quiver.keys.usage(made.id))).quota_used
        assert used is not None
        assert (used.items, used.bytes, used.period, used.resets_at is None) == (0, None, "day", False)
        freed = await got(quiver.keys.update(made.id, collections=None, allowed_networks=None, quota=None, expires_in_days=None))
        assert (freed.quota, freed.expires_at) == (None, None)
        assert (freed.collections, freed.allowed_networks, freed.rate_limit_per_minute) == (None, None, 0)
        assert (await got(quiver.keys.get(made.id))).name == "was reader"
        assert (await got(quiver.keys.usage(made.id))).total_requests >= 2
        assert (await got(quiver.keys.usage_summary())).total_requests >= 2
    finally:
        assert (await got(quiver.keys.delete(made.id))).deleted == made.id


async def test_the_service_tells_of_itself(quiver: Any) -> None:
    assert (await got(quiver.health())).status == "ok"
    assert any(endpoint.path == "/v1/query" for endpoint in (await got(quiver.service_info())).endpoints)
    assert "vectordb_requests_total" in await got(quiver.metrics())
    assert (await got(quiver.openapi()))["info"]["title"] == "Quiver"
    assert (await got(quiver.activity())).requests.total > 0
    cluster = await got(quiver.cluster.state())
    assert (cluster.mode, len(cluster.nodes)) == ("embedded", 1)
    assert (await got(quiver.request("GET", "/v1/health")))["status"] == "ok"
    with pytest.raises(UnauthorizedError):
        await got(quiver.sign_in("no such token"))


async def test_operations_on_the_cluster_reach_it(quiver: Any, items: Any) -> None:
    with pytest.raises(NotFoundError):
        await got(quiver.cluster.drain("no-node"))
    with pytest.raises(NotFoundError):
        await got(quiver.cluster.undrain("no-node"))
    with pytest.raises((BadRequestError, NotFoundError)):
        await got(quiver.cluster.adopt(items.name, 7, node="no-node"))
    with pytest.raises((BadRequestError, NotFoundError, ConflictError)):
        await got(items.cancel_reshard())
    assert (await got(items.set_quota(items=1000))).quota == StorageQuota(items=1000, bytes=None)
    assert (await got(items.set_quota())).quota is None
    assert (await got(items.reshard(2))).to_shards == 2


async def test_the_demo_is_loaded_once(quiver: Any) -> None:
    assert (await got(quiver.load_demo())).count > 200


async def test_trio_carries_the_async_form(server: Server) -> None:
    trio = pytest.importorskip("trio")

    async def story() -> int:
        async with AsyncQuiverClient(server.url, server.api_key) as quiver:
            name = f"trio-{uuid.uuid4().hex[:12]}"
            await quiver.create_collection(name, 2)
            result = await quiver.collection(name).upsert_many([Item(str(i), [1, i]) for i in range(10)], batch_items=3)
            await quiver.collection(name).drop()
            return result.written

    import anyio.to_thread

    assert await anyio.to_thread.run_sync(trio.run, story) == 10
