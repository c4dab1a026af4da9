"""Quiver in VectorDBBench: copy this file to ``vectordb_bench/backend/clients/quiver/quiver.py``.

It talks to a running service: ``db_config`` has ``url`` and ``api_key``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quiver_client import NotFoundError, QuiverClient, QuiverError
from vectordb_bench.backend.clients.api import VectorDB
from vectordb_bench.backend.filter import Filter, FilterOp

log = logging.getLogger(__name__)

METRICS = {"L2": "l2", "COSINE": "cosine", "IP": "ip", "DP": "ip"}


class Quiver(VectorDB):
    """A collection; ids are VectorDBBench's numbers, labels a field of the metadata."""

    supported_filter_types = [FilterOp.NonFilter, FilterOp.NumGE, FilterOp.StrEqual]
    name = "Quiver"
    # The client's connections are shared by threads.
    thread_safe = True

    def __init__(
        self,
        dim: int,
        db_config: dict[str, Any],
        db_case_config: Any,
        collection_name: str = "VectorDBBench",
        drop_old: bool = False,
        **_: Any,
    ) -> None:
        self._config = db_config
        self._collection_name = collection_name
        self._filters: dict[str, Any] | None = None
        self._collection: Any = None
        metric = getattr(db_case_config, "metric_type", None)
        with QuiverClient(**db_config) as client:
            if drop_old:
                try:
                    client.collection(collection_name).drop(force=True)
                except NotFoundError:
                    log.info("there was no collection %s", collection_name)
            distance = METRICS[str(getattr(metric, "value", metric) or "COSINE")]
            client.get_or_create(collection_name, dim=dim, distance_metric=distance)

    @contextmanager
    def init(self) -> Iterator[None]:
        with QuiverClient(**self._config, timeout=600) as client:
            self._collection = client.collection(self._collection_name)
            yield
            self._collection = None

    def optimize(self, data_size: int | None = None) -> None:
        self._collection.optimize()

    def prepare_filter(self, filters: Filter) -> None:
        if filters.type == FilterOp.NonFilter:
            self._filters = None
        elif filters.type == FilterOp.NumGE:
            self._filters = {"id": {"$gte": filters.int_value}}
        else:
            self._filters = {"label": filters.label_value}

    def insert_embeddings(
        self,
        embeddings: list[list[float]],
        metadata: list[int],
        labels_data: list[str] | None = None,
        tenant_labels_data: list[str] | None = None,
        **_: Any,
    ) -> tuple[int, Exception | None]:
        labels = [{} for _ in metadata] if labels_data is None else [{"label": label} for label in labels_data]
        fields = [{"id": number, **label} for number, label in zip(metadata, labels)]
        try:
            self._collection.upsert_arrays([str(number) for number in metadata], embeddings, metadata=fields)
        except QuiverError as error:
            log.warning("rows were not stored: %s", error)
            return 0, error
        return len(metadata), None

    def search_embedding(self, query: list[float], k: int = 100, **_: Any) -> list[int]:
        answer = self._collection.search(query, k=k, filters=self._filters, fields=[])
        return [int(hit.external_id) for hit in answer.results]
