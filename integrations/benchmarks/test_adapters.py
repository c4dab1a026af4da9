"""The adapters against a running service, on a small set: they load, search, filter, and find what is nearest.

``npm run test:integrations`` runs them. VectorDBBench's own base class is used where it is installed; the two others are
no packages, so that stand-ins have what the adapters take of them: a base class, and data sets.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
ROWS, DIM, K = 2_000, 24, 10
random = np.random.default_rng(7)
BASE = random.normal(size=(ROWS, DIM)).astype(np.float32)
QUERIES = random.normal(size=(50, DIM)).astype(np.float32)


def nearest(query: np.ndarray, rows: np.ndarray) -> set[int]:
    """By the Euclidean distance."""
    distances = ((BASE[rows] - query) ** 2).sum(axis=1)
    return {int(i) for i in rows[np.argsort(distances)[:K]]}


def recall(answers: list[set[int]], wanted: list[set[int]]) -> float:
    return sum(len(a & w) for a, w in zip(answers, wanted)) / sum(len(w) for w in wanted)


def module(name: str, **names: object) -> None:
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    vars(sys.modules[name]).update(names)


def load(path: str, name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Words:
    """Rows of numbers, as scipy's csr_matrix holds them."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.indices = np.array([word for row in rows for word in row], dtype=np.int64)
        self.indptr = np.cumsum([0, *(len(row) for row in rows)])


def test_ann_benchmarks() -> None:
    module("ann_benchmarks.algorithms.base.module", BaseANN=object)
    adapter = load("ann-benchmarks/module.py", "ann_benchmarks.algorithms.quiver.module").Quiver("euclidean")
    adapter.fit(BASE)
    everything = np.arange(ROWS)
    wanted = [nearest(query, everything) for query in QUERIES]
    adapter.set_query_arguments(None)
    assert recall([set(adapter.query(query, K).tolist()) for query in QUERIES], wanted) >= 0.98
    adapter.batch_query(QUERIES, K)
    assert recall([set(found) for found in adapter.res], wanted) >= 0.98
    assert adapter.get_memory_usage() > 0
    assert str(adapter) == "Quiver(int8, calibrated)"
    adapter.done()


def test_vectordbbench() -> None:
    pytest.importorskip("vectordb_bench")
    from vectordb_bench.backend.filter import NewIntFilter, non_filter

    adapter = load("vectordbbench/quiver.py", "vectordb_bench_quiver").Quiver(
        dim=DIM,
        db_config={"url": os.environ["QUIVER_URL"], "api_key": os.environ["QUIVER_API_KEY"]},
        db_case_config=types.SimpleNamespace(metric_type="L2"),
        collection_name="vectordbbench",
        drop_old=True,
    )
    with adapter.init():
        assert adapter.insert_embeddings(BASE.tolist(), list(range(ROWS))) == (ROWS, None)
        adapter.optimize(ROWS)
        for filters, rows in ((non_filter, np.arange(ROWS)), (NewIntFilter(int_value=1_900), np.arange(1_900, ROWS))):
            assert adapter.filter_supported(filters)
            adapter.prepare_filter(filters)
            answers = [set(adapter.search_embedding(query.tolist(), K)) for query in QUERIES]
            assert recall(answers, [nearest(query, rows) for query in QUERIES]) >= 0.98


def test_big_ann_benchmarks() -> None:
    words = [[i % 7, 10 + i % 5] for i in range(ROWS)]

    class Small:
        d, nb = DIM, ROWS

        def get_dataset_metadata(self) -> Words:
            return Words(words)

        def get_dataset_iterator(self, bs: int) -> list[np.ndarray]:
            return [BASE[:1_500], BASE[1_500:]]

    module("benchmark.datasets", DATASETS={"small": Small})
    module("neurips23.filter.base", BaseFilterANN=object)
    adapter = load("big-ann-benchmarks/quiver.py", "neurips23.filter.quiver.quiver").Quiver("euclidean")
    assert not adapter.load_index("small")
    adapter.fit("small")
    assert adapter.load_index("small")
    wanted_words = [[i % 7] if i % 2 else [i % 7, 10 + i % 5] for i in range(len(QUERIES))]
    adapter.filtered_query(QUERIES, Words(wanted_words), K)
    rows = [np.array([i for i in range(ROWS) if set(query) <= set(words[i])]) for query in wanted_words]
    wanted = [nearest(query, kept) for query, kept in zip(QUERIES, rows)]
    assert recall([{int(i) for i in found if i >= 0} for found in adapter.res], wanted) >= 0.98
    adapter.query(QUERIES, K)
    assert adapter.res.shape == (len(QUERIES), K)
    adapter.done()
