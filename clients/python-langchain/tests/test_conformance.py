"""LangChain's published conformance tests, against a real service."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from langchain_core.vectorstores import VectorStore
from langchain_quiver import QuiverVectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from quiver_client import QuiverClient


class TestQuiverVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, server) -> Iterator[VectorStore]:
        name = f"langchain-{uuid.uuid4().hex[:12]}"
        with QuiverClient(server.url, server.api_key) as client:
            store = QuiverVectorStore(self.get_embeddings(), collection_name=name, url=server.url, api_key=server.api_key, client=client)
            store.ensure_collection()
            yield store
            client.collection(name).drop()
