"""Frames and arrays as items, and answers as frames and tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quiver_client import BulkProgress, InvalidValueError, NotFoundError
from quiver_client.bodies import item_body, metadata_body
from quiver_client.frames import rows_of_arrays, rows_of_frame
from quiver_client.models import BulkUpsertAnswer, CollectionInfo, Hit, HitGroup, SearchAnswer, StoredVector
from quiver_client.tables import Rows
from quiver_client.vectors import encode_vector

from .conftest import got

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

CHOICES: dict[str, Any] = {"id": None, "vector": None, "text": None, "metadata": None}


def items_of(frame: Any, **choices: Any) -> list[dict[str, Any]]:
    rows = rows_of_frame(frame, **{**CHOICES, **choices})
    rows.check()
    return list(rows)


def books() -> Any:
    return pd.DataFrame(
        {
            "id": [1, 2, 3],
            "embedding": [[0.5, 1], np.array([1, 0], dtype=np.float32), (0, 1)],
            "title": ["Walden", None, "Emma"],
            "year": pd.array([1854, None, 1815], dtype="Int64"),
            "price": [1.5, np.nan, 2],
            "bought": pd.to_datetime(["2024-01-02", None, "2024-03-04T05:06:07.123456"], format="ISO8601"),
            "kind": pd.Categorical(["essay", "novel", None]),
            "tags": [["a"], None, []],
            7: [True, False, True],
        }
    )


def test_columns_are_found_by_what_they_are_mostly_called() -> None:
    found = items_of(books())
    assert [one["external_id"] for one in found] == [1, 2, 3]
    assert [encode_vector(one["vector"]) for one in found] == [encode_vector(vector) for vector in ([0.5, 1], [1, 0], [0, 1])]
    assert [one.get("text") for one in found] == ["Walden", None, "Emma"]
    assert found[1]["metadata"] == {"kind": "novel", "7": False}
    assert set(found[0]["metadata"]) == {"year", "price", "bought", "kind", "tags", "7"}
    assert found[0]["metadata"]["year"] == 1854


def test_columns_are_what_the_caller_says() -> None:
    frame = pd.DataFrame({"isbn": ["a", "b"], "x_0": [1, 2], "x_1": [0.5, 0.25], "words": ["one", "two"], "n": [1, 2]})
    for vector in ("x_*", ["x_0", "x_1"]):
        found = items_of(frame, id="isbn", vector=vector, text="words")
        assert [np.asarray(one["vector"]).tolist() for one in found] == [[1, 0.5], [2, 0.25]]
        assert [(one["external_id"], one["text"], one["metadata"]) for one in found] == [("a", "one", {"n": 1}), ("b", "two", {"n": 2})]
    assert items_of(frame, id="isbn", vector=False, text="words", metadata=False)[0] == {"external_id": "a", "text": "one", "metadata": {}}
    assert items_of(frame, id="isbn", text="words", metadata=["isbn"])[0]["metadata"] == {"isbn": "a"}


def test_an_index_is_the_ids_where_it_does_not_merely_count() -> None:
    frame = pd.DataFrame({"text": ["x", "y"]})
    with pytest.raises(InvalidValueError, match="which column has the ids"):
        items_of(frame)
    assert [one["external_id"] for one in items_of(frame, id="index")] == [0, 1]
    frame.index = pd.Index(["a", "b"], name="isbn")
    assert [one["external_id"] for one in items_of(frame)] == ["a", "b"]
    assert [one["external_id"] for one in items_of(frame, id="isbn")] == ["a", "b"]
    assert [one["external_id"] for one in items_of(frame[frame["text"] == "y"])] == ["b"]


def test_a_column_of_mappings_is_the_metadata() -> None:
    frame = pd.DataFrame({"id": ["a", "b", "c"], "text": "x", "metadata": [{"n": np.int64(1)}, None, {"n": 2}], "m": [1.5, 2.5, 3.5]})
    assert [one["metadata"] for one in items_of(frame)] == [{"m": 1.5, "n": 1}, {"m": 2.5}, {"m": 3.5, "n": 2}]
    frame["metadata"] = ["no mapping", None, None]
    with pytest.raises(InvalidValueError, match=r"item 0 \('a'\), metadata: is a str, not an object"):
        items_of(frame)


def test_lists_as_text_are_vectors_as_csv_files_have_them() -> None:
    texts = [str([0.5, 1.0]), json.dumps([0.5, 1]), str(np.array([0.5, 1])), " [5e-1\n 1.]\n"]
    found = items_of(pd.DataFrame({"id": range(len(texts)), "embedding": texts}))
    assert [encode_vector(one["vector"]) for one in found] == [encode_vector([0.5, 1])] * len(texts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": ["a", None, "c"]}, r"item 1, external_id: there is none"),
        ({"id": [1, "1", "c"]}, r"item 1 \('1'\), external_id: the number 1 of item 0 and the text '1' of item 1 are one id"),
        ({"embedding": [[0.5, 1], [0.5], [1, 2]]}, r"item 1 \('2'\), embedding: has 1 numbers, and those before it 2"),
        ({"embedding": [[0.5, 1], [0.5, np.nan], [1, 2]]}, r"item 1 \('2'\), embedding: number 1 is nan"),
        ({"embedding": [[0.5, 1], "x", [1, 2]]}, r"item 1 \('2'\), embedding: is a text that is no base64"),
        ({"title": ["a", 5, "c"]}, r"item 1 \('2'\), title: is an int, not a text"),
        ({"tags": [1, {"deep": [object()]}, 2]}, r"item 1 \('2'\), metadata.tags.deep\[0\]: is an object"),
    ],
)
def test_a_bad_row_is_named_before_anything_is_sent(change: dict[str, Any], message: str) -> None:
    frame = books()
    for name, values in change.items():
        frame[name] = pd.Series(values, dtype=object)
    with pytest.raises(InvalidValueError, match=message):
        items_of(frame)


def test_a_bad_number_among_columns_is_named_by_its_column() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "x_0": [1.0, 2], "x_1": [0.5, np.nan]})
    with pytest.raises(InvalidValueError, match=r"item 1 \('b'\), x_1: number 1 is nan"):
        items_of(frame, vector="x_*")


def test_tables_that_have_not_what_is_asked_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="there is no column 'nope'; there is: id, embedding"):
        items_of(books(), id="nope")
    with pytest.raises(InvalidValueError, match=r"no column fits 'z_\*'"):
        items_of(books(), vector="z_*")
    with pytest.raises(InvalidValueError, match="which column has vectors"):
        items_of(pd.DataFrame({"id": [1], "n": [2]}))
    with pytest.raises(InvalidValueError, match="two columns are named 'a'"):
        items_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InvalidValueError, match="is a list, not a frame"):
        items_of([{"id": 1}])
    with pytest.raises(InvalidValueError, match="different lengths: id 1, text 2"):
        items_of({"id": [1], "text": ["a", "b"]})


def test_other_tables_give_the_same_items() -> None:
    plain = {"id": ["a", "b"], "vector": [[0.5, 1.0], [1.0, 0.0]], "text": ["x", None], "n": [1, None]}
    expected = [
        {"external_id": "a", "vector": encode_vector([0.5, 1]), "text": "x", "metadata": {"n": 1}},
        {"external_id": "b", "vector": encode_vector([1, 0]), "metadata": {}},
    ]

    def encoded(table: Any) -> list[dict[str, Any]]:
        return [{**one, "vector": encode_vector(one["vector"])} for one in items_of(table)]

    assert encoded(plain) == expected
    assert encoded({**plain, "vector": np.array(plain["vector"])}) == expected
    assert encoded(pd.DataFrame(plain)) == expected
    pa = pytest.importorskip("pyarrow")
    assert encoded(pa.table(plain)) == expected
    assert encoded(pa.table({**plain, "vector": pa.array(plain["vector"], pa.list_(pa.float32(), 2))})) == expected
    assert encoded(pa.table(plain).to_pandas(types_mapper=pd.ArrowDtype)) == expected
    pl = pytest.importorskip("polars")
    assert encoded(pl.DataFrame(plain)) == expected
    assert encoded(pl.DataFrame(plain, schema_overrides={"vector": pl.Array(pl.Float32, 2)})) == expected
    with pytest.raises(InvalidValueError, match="collect"):
        items_of(pl.DataFrame(plain).lazy())


def test_numbers_of_32_bits_are_the_shortest_decimals_in_every_table() -> None:
    ids = ["a", "b", "c"]
    numbers = np.array([0.1, 2.7, np.nan], dtype=np.float32)
    lists = [np.array([0.1, 0.3], dtype=np.float32)] * 3
    tables = [{"id": ids, "n": numbers, "list": lists}, pd.DataFrame({"id": ids, "n": numbers, "list": lists})]
    tables.append(tables[1].astype({"n": "Float32"}))
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table({"id": ids, "n": pa.array(numbers, pa.float32(), from_pandas=True), "list": pa.array(lists, pa.list_(pa.float32()))})
    tables += [arrow, arrow.to_pandas(types_mapper=pd.ArrowDtype).assign(list=lists)]
    pl = pytest.importorskip("polars")
    tables.append(pl.DataFrame({"id": ids, "n": numbers, "list": [[0.1, 0.3]] * 3}, schema_overrides={"list": pl.List(pl.Float32)}))
    for table in tables:
        found = [metadata_body(one["metadata"]) for one in items_of(table, text="id", vector=False, metadata=["n", "list"])]
        assert found == [{"n": 0.1, "list": [0.1, 0.3]}, {"n": 2.7, "list": [0.1, 0.3]}, {"list": [0.1, 0.3]}]


def test_numbers_of_32_bits_within_others_are_the_shortest_decimals() -> None:
    value = {"n": 0.1, "list": [0.3, None], "double": 1.1}
    pa = pytest.importorskip("pyarrow")
    single, lists = pa.float32(), pa.list_(pa.float32())
    struct = pa.struct([("n", single), ("list", lists), ("double", pa.float64())])
    of_arrow = {
        "struct": (pa.array([value], struct), value),
        "structs": (pa.array([[value, None]], pa.large_list(struct)), [value, None]),
        "lists": (pa.array([[[0.1], None]], pa.list_(lists)), [[0.1], None]),
        "map": (pa.array([[("k", 0.1)]], pa.map_(pa.string(), single)), {"k": 0.1}),
        "words": (pa.array([0.1], single).dictionary_encode(), 0.1),
        "list": (pa.array([[0.1]], lists), [0.1]),
        "large": (pa.array([[0.1]], pa.large_list(single)), [0.1]),
        "fixed": (pa.array([[0.1]], pa.list_(single, 1)), [0.1]),
        "double": (pa.array([[0.1]], pa.list_(pa.float64())), [0.1]),
    }
    table = pa.table({"id": ["a"], **{name: array for name, (array, _) in of_arrow.items()}})
    expected = {name: wanted for name, (_, wanted) in of_arrow.items()}
    pandas = table.to_pandas(types_mapper=pd.ArrowDtype)
    for one in (table, pandas):
        found = [metadata_body(row["metadata"]) for row in items_of(one, text="id", vector=False, metadata=list(of_arrow))]
        assert found == [expected]
    category = pd.DataFrame({"id": ["a"], "n": pd.Categorical(np.array([0.1], dtype=np.float32))})
    pl = pytest.importorskip("polars")
    polars = pl.DataFrame(
        {"id": ["a"], "n": [value], "lists": [[[0.1]]]},
        schema_overrides={
            "n": pl.Struct({"n": pl.Float32, "list": pl.List(pl.Float32), "double": pl.Float64}),
            "lists": pl.List(pl.List(pl.Float32)),
        },
    )
    assert [one["metadata"] for one in items_of(category, text="id", vector=False, metadata=["n"])] == [{"n": 0.1}]
    from_polars = items_of(polars, text="id", vector=False, metadata=["n", "lists"])
    assert [metadata_body(one["metadata"]) for one in from_polars] == [{"n": value, "lists": [[0.1]]}]


def arrays(*given: Any, **more: Any) -> list[dict[str, Any]]:
    rows = rows_of_arrays(*given, **{"texts": None, "metadata": None, **more})
    rows.check()
    return list(rows)


def test_arrays_are_items_side_by_side() -> None:
    vectors = np.array([[0.5, 1], [1, 0]], dtype=np.float32)
    found = arrays(np.arange(2), vectors, texts=["x", None], metadata=[{"n": np.int64(1)}, None])
    assert found[0]["vector"].base is not None
    assert [(one["external_id"], one.get("text"), one["metadata"]) for one in found] == [(0, "x", {"n": 1}), (1, None, {})]
    for metadata in (pd.DataFrame({"n": [1, None]}), {"n": np.array([1, np.nan])}, {"n": [1, None]}):
        assert [one["metadata"] for one in arrays(["a", "b"], vectors, metadata=metadata)] == [{"n": 1}, {}]
    assert arrays(pd.Series(["a"], index=[5]), None, texts=pd.Series(["x"], index=[9])) == [
        {"external_id": "a", "text": "x", "metadata": {}}
    ]
    frame = pd.DataFrame(vectors)
    assert [one["vector"].tolist() for one in arrays(["a", "b"], frame)] == vectors.tolist()
    assert [one["vector"] for one in arrays(["a", "b"], [[0.5, 1], [1, 0]])] == [[0.5, 1], [1, 0]]


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ((["a"], np.zeros((2, 2))), {}, "there are 1 ids, and 2 of vectors"),
        ((["a", "b"], np.zeros((2, 2))), {"texts": ["x"]}, "there are 2 ids, and 1 of texts"),
        ((["a", "b"], np.zeros((2, 2))), {"metadata": [{}]}, "there are 2 ids, and 1 of metadata"),
        ((["a", "b"], np.zeros((2, 2, 2))), {}, r"vectors: an array of vectors has two dimensions, not the shape \(2, 2, 2\)"),
        ((["a"], None), {}, "items need vectors or texts"),
        (("ab", np.zeros((2, 2))), {}, "ids: is a str, not a column of values"),
        ((["a", "b"], [[1, 2], [1]]), {}, r"item 1 \('b'\), vectors: has 1 numbers"),
        ((["a", "b"], np.array([[1, 2], [1, np.nan]])), {}, r"item 1 \('b'\), vectors: number 1 is nan"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(given: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        arrays(*given, **more)


HITS = [Hit("a", 0.5, {"year": 1851, "score": "b flat"}), Hit("b", 0.25, {"author": "<b>Ann</b> & Bob"})]


def test_an_answer_is_what_it_lists() -> None:
    answer = SearchAnswer(HITS, total_count=9, k=2, offset=0)
    assert (list(answer), len(answer), answer[0], answer[-1], answer[1:]) == (HITS, 2, HITS[0], HITS[1], HITS[1:])
    assert HITS[0] in answer
    assert len(SearchAnswer([], 0, 10, 0)) == 0
    assert list(BulkUpsertAnswer([])) == []


def test_an_answer_in_groups_is_what_its_groups_list() -> None:
    groups = [HitGroup("x", 0.5, HITS[:1]), HitGroup(None, 0.25, HITS[1:])]
    answer = SearchAnswer([], total_count=9, k=2, offset=0, groups=groups)
    assert (list(answer), len(answer), answer[1], bool(answer)) == (HITS, 2, HITS[1], True)
    assert answer.to_pandas()["external_id"].tolist() == ["a", "b"]
    assert "nothing" not in answer._repr_html_()
    assert not SearchAnswer([], total_count=9, k=2, offset=0, groups=[])


def test_an_answer_becomes_a_frame() -> None:
    frame = SearchAnswer(HITS, 9, 2, 0).to_pandas()
    assert list(frame.columns) == ["external_id", "score", "year", "metadata.score", "author"]
    assert frame["external_id"].tolist() == ["a", "b"]
    assert frame["metadata.score"][0] == "b flat"
    assert pd.isna(frame["metadata.score"][1])
    stored = Rows([StoredVector("a", encode_vector([0.5, 1]), {"n": 1}, "x", 3)])
    frame = stored.to_pandas()
    assert list(frame.columns) == ["external_id", "vector", "text", "version", "n"]
    assert frame["vector"][0].tolist() == [0.5, 1]
    assert stored == list(stored)
    assert SearchAnswer([], 0, 10, 0).to_pandas().empty


def test_an_answer_is_a_table_in_a_notebook() -> None:
    html = SearchAnswer(HITS, 9, 2, 0)._repr_html_()
    assert "<th>metadata.score</th>" in html
    assert "<td>&lt;b&gt;Ann&lt;/b&gt; &amp; Bob</td>" in html
    many = SearchAnswer([Hit(f"i{i}", 0.5, {"text": "x" * 1000}) for i in range(70)], 70, 70, 0)._repr_html_()
    assert "20 more" in many
    assert len(many) < 20_000
    assert "2 numbers" in Rows([StoredVector("a", encode_vector([0.5, 1]), {}, "x", 3)])._repr_html_()
    assert "nothing" in SearchAnswer([], 0, 10, 0)._repr_html_()
    made = CollectionInfo("books", 3, "cosine", 0, pd.Timestamp("2024-01-01", tz="UTC"), metadata="memory")
    assert "<td>memory</td>" in Rows([made])._repr_html_()


@pytest.mark.anyio
async def test_a_frame_is_written_read_and_written_again(items: Any, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[BulkProgress] = []
    frame = books().assign(id=[1, 2, 2**60])
    result = await got(items.upsert_frame(frame, batch_items=2, on_progress=seen.append, show_progress=True))
    assert (result.inserted, result.updated, result.requests, len(seen)) == (3, 0, 2, 2)
    assert "3" in capsys.readouterr().err
    back = await got(items.fetch([1, np.int64(2), str(2**60)]))
    assert back[0].metadata == {
        "year": 1854,
        "price": 1.5,
        "bought": "2024-01-02T00:00:00.000Z",
        "kind": "essay",
        "tags": ["a"],
        "7": True,
    }
    assert back[1].metadata == {"kind": "novel", "7": False}
    assert back[2].metadata["bought"] == "2024-03-04T05:06:07.123456Z"
    found = await got(items.search([0.5, 1], k=2, filters={"year": {"$gte": np.int64(1800)}}))
    assert [hit.external_id for hit in found] == ["1", str(2**60)]
    assert (await got(items.upsert_frame(frame[:1]))).updated == 1
    with pytest.raises(InvalidValueError, match=r"item 1 \('y'\), vectors: number 0 is nan"):
        await got(items.upsert_arrays(["x", "y"], [[0, 1], [np.nan, 1]]))
    with pytest.raises(NotFoundError):
        await got(items.get("x"))
    rejected: list[Any] = []
    result = await got(
        items.upsert_arrays(
            ["x", "y"], [[0, 1], [np.nan, 1]], on_rejected=lambda item, error: rejected.append((item["external_id"], error.message))
        )
    )
    assert (result.written, result.rejected) == (1, 1)
    assert rejected == [("y", "item 1 ('y'), vector: number 0 is nan")]
    again = (await got(items.fetch(["x"]))).to_pandas()
    assert (await got(items.upsert_frame(again, metadata=False))).updated == 1


@pytest.mark.anyio
async def test_rows_of_an_array_and_texts_are_queries(items: Any) -> None:
    await got(items.upsert_arrays([1, 2], np.eye(2), metadata={"n": [1, 2]}))
    answers = await got(items.bulk_search(np.eye(2, dtype=np.float32), k=1))
    assert [[hit.external_id for hit in hits] for hits in answers] == [["1"], ["2"]]
    assert answers[0].to_pandas()["n"].tolist() == [1]
    only = await got(items.bulk_search([[1, 0], {"vector": [1, 0], "filters": {"n": np.int8(1)}}], filters={"n": 2}))
    assert [[hit.external_id for hit in hits] for hits in only] == [["2"], ["1"]]
    with pytest.raises(InvalidValueError, match="this is one vector, not several: use search"):
        await got(items.bulk_search(np.zeros(2)))
    with pytest.raises(InvalidValueError, match=r"queries\[1\]\.filters\.n: nan is no value"):
        await got(items.bulk_search([[1, 0], {"vector": [1, 0], "filters": {"n": np.nan}}]))
    assert [one.external_id for one in await got(items.rerank([1, 2], [0, 1]))] == ["2", "1"]
    assert [one.external_id for one in await got(items.recommend(1))] == ["2"]
    assert (await got(items.similarity(1, np.int64(2)))).id2 == "2"
    await got(items.patch(1, metadata={"n": np.int64(5), "at": pd.Timestamp("2024-01-02", tz="UTC")}))
    assert (await got(items.get(1))).metadata == {"n": 5, "at": "2024-01-02T00:00:00.000Z"}
    assert await got(items.update_by_filter({"n": np.int64(5)}, set={"m": np.float32(0.5)})) == 1
    assert (await got(items.delete_batch([1]))).deleted_ids == ["1"]
    assert await got(items.delete_many([1, 2, 2])) == 1


def test_an_index_that_counts_again_is_not_the_ids() -> None:
    frame = pd.concat([pd.DataFrame({"text": ["a", "b"]}), pd.DataFrame({"text": ["c", "d"]})])
    with pytest.raises(InvalidValueError, match="which column has the ids"):
        items_of(frame)
    assert [one["external_id"] for one in items_of(frame.reset_index(drop=True), id="index")] == [0, 1, 2, 3]


def test_what_is_named_in_an_index_and_is_not_the_id_is_metadata() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "text": "x", "year": [1, 2], "month": [3, 4]})
    expected = [{"year": 1, "month": 3}, {"year": 2, "month": 4}]
    assert [one["metadata"] for one in items_of(frame.set_index(["year", "month"]))] == expected
    assert [one["metadata"] for one in items_of(frame.set_index("month"))] == expected
    assert [one["metadata"] for one in items_of(frame.set_index("year", drop=False))] == expected
    found = items_of(frame.set_index(["year", "month"]), id="year", metadata=["month"])
    assert [(one["external_id"], one["metadata"]) for one in found] == [(1, {"month": 3}), (2, {"month": 4})]


def test_two_columns_of_a_mapping_that_are_one_as_texts_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="two columns are named '1'"):
        items_of({"id": ["a"], "text": ["x"], 1: [1], "1": [2]})


def test_lists_of_arrow_and_moments_of_polars_keep_every_digit() -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    table = pa.table({"id": ["a"], "text": ["x"], "n": pa.array([[2**53 + 1, None]]), "f": pa.array([[0.5, None]])})
    assert item_body(items_of(table)[0])["metadata"] == {"n": [str(2**53 + 1), None], "f": [0.5, None]}
    frame = pl.DataFrame({"id": ["a", "b"], "text": "x", "at": pl.Series([1_000_000_001, None]).cast(pl.Datetime("ns"))})
    assert [item_body(one)["metadata"] for one in items_of(frame)] == [{"at": "1970-01-01T00:00:01.000000001Z"}, {}]


def test_a_map_of_arrow_is_an_object() -> None:
    pa = pytest.importorskip("pyarrow")
    maps = pa.array([[("k", 1), ("l", 2)], None], pa.map_(pa.string(), pa.int64()))
    found = items_of(pa.table({"id": ["a", "b"], "text": ["x", "y"], "m": maps}))
    assert [one["metadata"] for one in found] == [{"m": {"k": 1, "l": 2}}, {}]
