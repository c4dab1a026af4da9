"""Haystack's published test classes for document stores, sync and async, all of them, against a real service."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    DocumentStoreBaseExtendedTests,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)
from haystack.utils import Secret
from haystack_integrations.document_stores.quiver import QuiverDocumentStore

from quiver_client import NotFoundError, QuiverClient


class QuiverStores:
    @pytest.fixture
    def document_store(self, server) -> Iterator[QuiverDocumentStore]:
        name = f"haystack-{uuid.uuid4().hex[:12]}"
        yield QuiverDocumentStore(url=server.url, api_key=Secret.from_token(server.api_key), collection_name=name)
        with QuiverClient(server.url, server.api_key) as client, suppress(NotFoundError):
            client.collection(name).drop()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """Equal but for the embeddings, which are float32 in Quiver."""
        assert [replace(one, embedding=None) for one in received] == [replace(one, embedding=None) for one in expected]
        for one, other in zip(received, expected, strict=True):
            assert (one.embedding is None) == (other.embedding is None)
            for a, b in zip(one.embedding or [], other.embedding or [], strict=True):
                assert math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-30)


class TestDocumentStore(
    QuiverStores,
    DocumentStoreBaseExtendedTests,
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store: QuiverDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document], DuplicatePolicy.NONE)
        self.assert_documents_are_equal(document_store.filter_documents(), [document])

    def test_get_metadata_field_unique_values_distinct_types(self, document_store: QuiverDocumentStore) -> None:
        """As Haystack has it but for 1.0: in JSON as Quiver keeps it, that is the number 1."""
        document_store.write_documents(KINDS)
        assert_kinds(document_store.get_metadata_field_unique_values("priority"))


KINDS = [Document(content=f"Doc {i}", meta={"priority": value}) for i, value in enumerate([1, "1", 1.0, True, 1])]


def assert_kinds(found: tuple[list[Any], int]) -> None:
    values, count = found
    assert count == 3
    assert {type(value): value for value in values} == {int: 1, str: "1", bool: True}


class TestDocumentStoreAsync(
    QuiverStores,
    CountDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    UpdateByFilterAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
):
    async def test_write_documents_async(self, document_store: QuiverDocumentStore) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document], DuplicatePolicy.NONE)
        self.assert_documents_are_equal(await document_store.filter_documents_async(), [document])

    async def test_get_metadata_field_unique_values_distinct_types_async(self, document_store: QuiverDocumentStore) -> None:
        """As Haystack has it but for 1.0: in JSON as Quiver keeps it, that is the number 1."""
        await document_store.write_documents_async(KINDS)
        assert_kinds(await document_store.get_metadata_field_unique_values_async("priority"))
