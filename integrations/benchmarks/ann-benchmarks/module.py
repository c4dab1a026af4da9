"""Quiver in ann-benchmarks: copy this folder to ``ann_benchmarks/algorithms/quiver``.

It talks to a running service (``QUIVER_URL``, ``QUIVER_API_KEY``). Recall is the service's own affair: the argument of a
query is ``RECALL_TARGET`` as set there (None), or an effort set by hand.
"""

from __future__ import annotations

import numpy as np
from quiver_client import NotFoundError, QuiverClient

from ..base.module import BaseANN

METRICS = {"angular": "cosine", "euclidean": "l2", "ip": "ip"}


class Quiver(BaseANN):
    """One collection, loaded once and searched by one client."""

    def __init__(self, metric: str, quantization: str = "int8", name: str = "ann-benchmarks") -> None:
        if metric not in METRICS:
            raise NotImplementedError(f"there is no metric {metric}")
        self._metric = METRICS[metric]
        self._quantization = quantization
        self._name = name
        self._client = QuiverClient(timeout=600)
        self._collection = self._client.collection(name)
        self._effort: int | None = None

    def fit(self, X: np.ndarray) -> None:
        try:
            self._collection.drop(force=True)
        except NotFoundError:
            pass
        self._client.create_collection(
            self._name, dim=X.shape[1], distance_metric=self._metric, quantization=self._quantization
        )
        self._collection.upsert_arrays([str(i) for i in range(len(X))], X.astype(np.float32))
        # Until all rows have their final links.
        self._collection.optimize()

    def set_query_arguments(self, effort: int | None) -> None:
        self._effort = effort

    def query(self, q: np.ndarray, n: int) -> np.ndarray:
        answer = self._collection.search(q.astype(np.float32), k=n, ef=self._effort, fields=[])
        return np.array([int(hit.external_id) for hit in answer.results])

    def batch_query(self, X: np.ndarray, n: int) -> None:
        self.res = [
            [int(hit.external_id) for hit in hits]
            for start in range(0, len(X), 100)
            for hits in self._collection.bulk_search(X[start : start + 100].astype(np.float32), k=n, ef=self._effort, fields=[])
        ]

    def get_memory_usage(self) -> float | None:
        """In kilobytes, of the collection in the service."""
        return self._collection.stats().memory_bytes / 1024

    def done(self) -> None:
        self._collection.drop(force=True)
        self._client.close()

    def __str__(self) -> str:
        effort = "calibrated" if self._effort is None else f"ef={self._effort}"
        return f"Quiver({self._quantization}, {effort})"
