"""Answers, whole and as they are written, of a real service whose language model is scripted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from quiver_client import BadRequestError, ServerError

from .conftest import Server, eventually, got, listed
from .scripted_llm import PATIENCE_S, Script, ScriptedLlm

pytestmark = pytest.mark.anyio

TEXTS = ["Snow melts in the mountains, and so rivers flood in spring.", "A café by the river sells maps."]


@pytest.fixture(scope="module")
def model(server: Server) -> Iterator[ScriptedLlm]:
    """One for all tests: the service keeps a connection for the next call."""
    if server.llm_port is None:
        pytest.skip("the service has no language model that this test can script")
    listening = ScriptedLlm(server.llm_port)
    yield listening
    listening.close()


@pytest.fixture
def llm(model: ScriptedLlm) -> ScriptedLlm:
    model.script = Script()
    model.prompts.clear()
    model.abandoned.clear()
    return model


@pytest.fixture
async def rivers(items: Any) -> Any:
    for number, text in enumerate(TEXTS):
        await got(items.upsert(f"t{number}", [1, number], text=text, metadata={"document_id": "book", "page": number + 1}))
    return items


def _asked(collection: Any, stream: bool = False, **more: Any) -> Any:
    return (collection.answer_stream if stream else collection.answer)("When do rivers flood?", alpha=0, k=1, **more)


async def test_an_answer_has_checked_citations(llm: ScriptedLlm, rivers: Any) -> None:
    llm.script = Script(['Rivers flood in spring <cite n="1">rivers flood in spring</cite>. ', 'Often. <cite n="1">not there</cite>'])
    answer = await got(_asked(rivers))
    assert answer.answer.startswith("Rivers flood in spring.")
    ((citation,), nothing) = (sentence.citations for sentence in answer.sentences)
    assert (citation.external_id, citation.document_id, citation.page, citation.quote) == ("t0", "book", 1, "rivers flood in spring")
    assert answer.sources[0].text[citation.start : citation.end] == citation.quote
    assert (nothing, answer.sentences[1].unsupported, answer.dropped_quotes, answer.finish) == ([], True, 1, "stop")
    assert TEXTS[0] in llm.prompts[-1]


async def test_a_stream_has_the_text_while_it_is_written(llm: ScriptedLlm, rivers: Any) -> None:
    seen = threading.Event()

    def before(part: int) -> None:
        # The end of the first part may be that of a word that goes on.
        if part == 2:
            assert seen.wait(PATIENCE_S)

    llm.script = Script(["Rivers flood ", "in spring. ", 'Often. <cite n="1">Snow melts</cite>'], before=before)
    events = []

    def take(event: Any) -> None:
        events.append(event)
        if event.text is not None:
            seen.set()

    stream = _asked(rivers, stream=True)
    if hasattr(stream, "__aiter__"):
        async for event in stream:
            take(event)
    else:
        for event in stream:
            take(event)
    assert [source.external_id for source in events[0].sources] == ["t0"]
    answer = events[-1].answer
    assert "".join(event.text for event in events[1:-1]) == answer.answer
    assert [one.quote for one in answer.sentences[-1].citations] == ["Snow melts"]


async def test_who_leaves_a_stream_ends_the_call_of_the_model(llm: ScriptedLlm, rivers: Any) -> None:
    left = threading.Event()

    def before(part: int) -> None:
        if part == 2:
            assert left.wait(PATIENCE_S)

    llm.script = Script(["Rivers flood ", "in spring. ", *["And so on. " * 1000] * 1000], before=before)
    stream = _asked(rivers, stream=True)
    if hasattr(stream, "__aiter__"):
        async for event in stream:
            if event.text is not None:
                break
        await stream.aclose()
    else:
        for event in stream:
            if event.text is not None:
                break
        stream.close()
    left.set()

    async def is_abandoned() -> bool:
        return llm.abandoned.is_set()

    assert await eventually(is_abandoned, bool)


async def test_what_the_provider_says_no_with_is_an_error(llm: ScriptedLlm, rivers: Any) -> None:
    llm.script = Script(status=400, error="no such model, sorry")
    with pytest.raises(ServerError, match="no such model, sorry"):
        await got(_asked(rivers))
    with pytest.raises(ServerError, match="no such model, sorry"):
        await listed(_asked(rivers, stream=True))
    with pytest.raises(BadRequestError, match="huge"):
        await got(_asked(rivers, model="huge"))
    with pytest.raises(BadRequestError, match="huge"):
        await listed(_asked(rivers, stream=True, model="huge"))


async def test_nothing_relevant_asks_no_model(llm: ScriptedLlm, rivers: Any) -> None:
    (event,) = await listed(_asked(rivers, stream=True, filters={"page": 99}))
    assert (event.answer.refused, event.answer.model, llm.prompts) == (True, None, [])
