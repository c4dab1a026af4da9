"""The pages of the packages run as they stand: their first examples, and all of the client's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from quiver_client import NotFoundError, QuiverClient

from .conftest import Server

PACKAGES = Path(__file__).resolve().parents[2]
# The interpreter that has the packages installed, where another one runs these tests.
PYTHON = os.environ.get("README_PYTHON", sys.executable)


def examples(package: str) -> list[str]:
    page = PACKAGES / package / "README.md"
    if not page.exists():
        pytest.skip(f"{package} is not beside the tests")
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def run(program: str, server: Server, collection: str) -> str:
    environment = {**os.environ, "QUIVER_URL": server.url, "QUIVER_API_KEY": server.api_key, "PYTHONDONTWRITEBYTECODE": "1"}
    with QuiverClient(server.url, server.api_key) as quiver:
        try:
            result = subprocess.run(
                [PYTHON, "-W", "error::SyntaxWarning", "-c", program], env=environment, capture_output=True, text=True, check=False
            )
        finally:
            with suppress(NotFoundError):
                quiver.collection(collection).drop()
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_first_example_finds_the_red_storm(server: Server) -> None:
    lines = run(examples("python")[0], server, "planets").splitlines()
    assert [line.split()[0] for line in lines] == ["jupiter", "mars"]
    assert all(re.fullmatch(r"\w+ 0\.\d{4}", line) for line in lines)


def test_the_main_page_has_the_same_program() -> None:
    main = PACKAGES.parent / "README.md"
    if not main.exists():
        pytest.skip("no checkout around the tests")
    assert re.findall(r"^```python\n(.*?)^```$", main.read_text(), re.MULTILINE | re.DOTALL) == examples("python")[:1]


def test_all_examples_run_one_after_another(server: Server) -> None:
    pytest.importorskip("pandas")
    first, asynchronous, bulk, frame, condition, options = examples("python")
    # With the change of the version that was read done already, the same is refused.
    again = condition.split("try:")[1]
    steps = [first, asynchronous, "import asyncio\nasyncio.run(main())", bulk, frame, condition, f"print('again')\ntry:{again}", options]
    printed = run("\n".join(steps), server, "planets")
    assert "saturn 384" in printed
    assert "2000 written" in printed
    assert "2000 in 4 requests" in printed
    assert "2 new, 0 replaced" in printed
    assert printed.count("somebody else was faster") == printed.split("again\n")[1].count("VersionConflict(external_id='mars'") == 1


@pytest.mark.parametrize(
    ("package", "module", "collection", "expected"),
    [
        ("python-langchain", "langchain_quiver", "langchain-books", "moby-dick A captain hunts a white whale.\n"),
        ("python-llama-index", "llama_index.vector_stores.quiver", "llama-index-books", "A captain hunts a white whale.\n"),
        ("python-haystack", "haystack_integrations.document_stores.quiver", "haystack-books", "moby-dick A captain hunts a white whale.\n"),
    ],
)
def test_the_first_example_of_each_framework_runs(server: Server, package: str, module: str, collection: str, expected: str) -> None:
    found = subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    # `npm run test:python` has installed what is needed, so there is no reason to skip there.
    if "ModuleNotFoundError" in found.stderr and "README_MUST_RUN" not in os.environ:
        pytest.skip(f"{module} can't be imported here: {textwrap.shorten(found.stderr.strip().splitlines()[-1], 100)}")
    assert run(examples(package)[0], server, collection) == expected
