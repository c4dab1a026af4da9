"""The client has everything that the service's OpenAPI document has: operations, fields of bodies, fields of answers."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import pytest

from quiver_client import (
    AsyncBackups,
    AsyncCluster,
    AsyncCollection,
    AsyncJobs,
    AsyncKeys,
    AsyncQuiverClient,
    QuiverClient,
    models,
    operations,
)
from quiver_client.operations import Operation

from .conftest import Server

OPERATIONS = {name: value for name, value in vars(operations).items() if isinstance(value, Operation)}
METHODS = [
    (owner, name, method)
    for owner in (AsyncQuiverClient, AsyncCollection, AsyncKeys, AsyncBackups, AsyncJobs, AsyncCluster)
    for name, method in inspect.getmembers(owner, inspect.isfunction)
    if not name.startswith("_")
]
UNSAID = {
    # Another name of text.
    "UPSERT": {"content"},
    # There is one form.
    "SAMPLE": {"vector_format"},
    # It may take several requests.
    "BULK_SEARCH": {"include_timing"},
}


@pytest.fixture(scope="module")
def document(server: Server) -> dict[str, Any]:
    with QuiverClient(server.url, server.api_key) as quiver:
        return quiver.openapi()


def source_of(operation: str) -> str:
    return "".join(inspect.getsource(method) for _, _, method in METHODS if f"operations.{operation}," in inspect.getsource(method) + ",")


def resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return document["components"]["schemas"][reference.rsplit("/", 1)[1]] if reference else schema


def test_every_operation_has_a_method_and_no_method_another(document: dict[str, Any]) -> None:
    offered = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    known = {(operation.method, operation.template) for operation in OPERATIONS.values()}
    assert offered - known == set()
    assert known - offered == set()
    unused = [name for name in OPERATIONS if not re.search(rf"operations\.{name}\b", "".join(inspect.getsource(m) for _, _, m in METHODS))]
    assert unused == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_gets_an_idempotency_key_is_done_once_under_it(name: str, document: dict[str, Any]) -> None:
    operation = OPERATIONS[name]
    described = document["paths"][operation.template][operation.method.lower()]
    names = [one.get("name") for one in described.get("parameters", [])]
    assert operation.is_done_once == ("Idempotency-Key" in names)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_field_of_a_body_and_a_query_can_be_given(name: str, document: dict[str, Any]) -> None:
    operation = OPERATIONS[name]
    described = document["paths"][operation.template][operation.method.lower()]
    content = described.get("requestBody", {}).get("content", {})
    fields = {field for form in content.values() for field in resolved(document, form["schema"]).get("properties", {})}
    fields |= {one["name"] for one in described.get("parameters", []) if one["in"] == "query"}
    said = re.findall(r"\b(\w+)=|\"(\w+)\"", source_of(name))
    given = {word for pair in said for word in pair if word}
    if name == "UPLOAD":
        given.add("file")
    # The client is strict as a whole.
    assert fields - given - UNSAID.get(name, set()) - {"strict"} == set()


def test_every_method_is_documented() -> None:
    assert [f"{owner.__name__}.{name}" for owner, name, method in METHODS if not inspect.getdoc(method)] == []


# Fields of answers that a model leaves out: what other fields, or the call itself, say already.
SAID_ALREADY = {
    "ApiKeyWithSecret": {"rotated"},
    "BatchDeleted": {"deleted"},
    "KeyDeleted": {"id"},
    "Similarity": {"score"},
    "SampleVectors": {"format"},
    "Projection": {"format"},
}


def test_every_field_of_an_answer_is_in_its_model(document: dict[str, Any]) -> None:
    compared = []
    for name, operation in OPERATIONS.items():
        found = re.search(rf"operations\.{name},\s*(?:dict\[str, )?(?:list\[)?(\w+)", source_of(name))
        model = getattr(models, found[1], None) if found else None
        if not dataclasses.is_dataclass(model):
            continue
        schema = document["paths"][operation.template][operation.method.lower()]["responses"]["200"]["content"]["application/json"][
            "schema"
        ]
        success = next(one for one in schema["oneOf" if "oneOf" in schema else "anyOf"] if "$ref" not in one)
        data = resolved(document, success["properties"]["data"])
        if "dict[str" in (found[0] if found else ""):
            data = resolved(document, next(iter(data["properties"].values()))["items"])
        compare(document, data, model)
        compared.append(model)
    assert len(compared) > 30


def compare(document: dict[str, Any], schema: dict[str, Any], model: Any) -> None:
    fields = {field.metadata.get("name", field.name): field for field in dataclasses.fields(model)}
    assert set(schema["properties"]) - set(fields) - SAID_ALREADY.get(model.__name__, set()) == set(), model
    hints = inspect.get_annotations(model)
    for name, field in fields.items():
        inner = schema["properties"].get(name)
        inner = None if inner is None else resolved(document, inner)
        inner = resolved(document, inner["items"]) if inner is not None and inner.get("type") == "array" else inner
        other = re.search(r"[A-Z]\w+", str(hints.get(field.name, "")))
        nested = getattr(models, other[0], None) if other else None
        if inner is not None and "properties" in inner and dataclasses.is_dataclass(nested):
            compare(document, inner, nested)
