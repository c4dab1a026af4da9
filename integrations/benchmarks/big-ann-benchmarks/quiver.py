"""Quiver in big-ann-benchmarks' filter track: copy this folder to ``neurips23/filter/quiver``.

It talks to a running service (``QUIVER_URL``, ``QUIVER_API_KEY``). The words of an item are a list in its metadata; a query
keeps the items that have all of its words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmark.datasets import DATASETS
from neurips23.filter.base import BaseFilterANN
from quiver_client import NotFoundError, QuiverClient

METRICS = {"euclidean": "l2", "angular": "cosine", "ip": "ip"}
FIELD = "words"
QUERIES_AT_ONCE = 100


class Quiver(BaseFilterANN):
    """One collection, named after the data set."""

    def __init__(self, metric: str, index_params: dict[str, Any] | None = None) -> None:
        self._metric = METRICS[metric]
        self._options = index_params or {}
        self._client = QuiverClient(timeout=3600)
        self._search: dict[str, Any] = {}
        self.name = f"quiver({self._options})"

    def track(self) -> str:
        return "filter"

    def fit(self, dataset: str) -> None:
        data = DATASETS[dataset]()
        collection = self._client.collection(dataset)
        try:
            collection.drop(force=True)
        except NotFoundError:
            pass
        self._client.create_collection(dataset, dim=data.d, distance_metric=self._metric, **self._options)
        words = data.get_dataset_metadata()
        start = 0
        for batch in data.get_dataset_iterator(bs=10_000):
            rows = range(start, start + len(batch))
            fields = [{FIELD: words.indices[words.indptr[i] : words.indptr[i + 1]].tolist()} for i in rows]
            collection.upsert_arrays([str(i) for i in rows], np.asarray(batch, dtype=np.float32), metadata=fields)
            start += len(batch)
        collection.optimize()
        self._collection = collection

    def load_index(self, dataset: str) -> bool:
        self._collection = self._client.collection(dataset)
        try:
            return self._collection.info().vector_count == DATASETS[dataset]().nb
        except NotFoundError:
            return False

    def set_query_arguments(self, query_args: dict[str, Any]) -> None:
        self._search = dict(query_args)

    def query(self, X: np.ndarray, k: int) -> None:
        self.res = self._ask([{"vector": vector} for vector in np.asarray(X, dtype=np.float32)], k)

    def filtered_query(self, X: np.ndarray, filter: Any, k: int) -> None:
        queries = [
            {"vector": vector, "filters": {FIELD: {"$all": filter.indices[filter.indptr[i] : filter.indptr[i + 1]].tolist()}}}
            for i, vector in enumerate(np.asarray(X, dtype=np.float32))
        ]
        self.res = self._ask(queries, k)

    def _ask(self, queries: list[dict[str, Any]], k: int) -> np.ndarray:
        """Ids, -1 where there are fewer than k."""
        found = np.full((len(queries), k), -1, dtype=np.int32)
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            batch = [{**query, "k": k, "fields": [], **self._search} for query in queries[start : start + QUERIES_AT_ONCE]]
            for i, hits in enumerate(self._collection.bulk_search(batch)):
                ids = [int(hit.external_id) for hit in hits]
                found[start + i, : len(ids)] = ids
        return found

    def done(self) -> None:
        self._client.close()

    def __str__(self) -> str:
        return self.name
