"""Searches of a collection."""

# Generated from the OpenAPI document: `UPDATE=1 npm test -- test/unit/clients/python` writes it anew.
from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from .. import operations
from ..bodies import encoded, examples_body, filters_body, given, legs_body, listed, listed_queries, query_body
from ..event_stream import AnswerEvent, EventReader
from ..ids import ExternalId, id_text, id_texts
from ..models import (
    Aggregates,
    Answer,
    BulkSearchAnswer,
    BulkSearchQueryLike,
    EmbedAnswer,
    Filters,
    Hit,
    HybridAnswer,
    ProfiledBulkSearch,
    QueryAnswer,
    RecommendAnswer,
    RerankAnswer,
    SearchAnswer,
    SearchProfile,
)
from ..tables import Rows
from ..vectors import VectorLike
from .transport import AsyncTransport

BULK_SEARCH_LIMIT = 20
"""Queries of one bulk search; the service's maximum."""


class AsyncSearches:
    """The searches of one collection.

    ``k`` hits after the first ``offset``, of the items that match ``filters``. The effort is calibrated to the recall that the service promises.
    ``include_timing`` tells where the time went, ``profile`` does so step by step.
    """

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self._transport = transport
        self.name = name

    @property
    def _path(self) -> dict[str, object]:
        return {"name": self.name}

    def _item(self, external_id: ExternalId) -> dict[str, object]:
        return {"name": self.name, "id": id_text(external_id)}

    async def search(
        self,
        vector: VectorLike | None = None,
        *,
        text: str | None = None,
        positives: Sequence[Mapping[str, Any]] | None = None,
        negatives: Sequence[Mapping[str, Any]] | None = None,
        strategy: str | None = None,
        k: int = 10,
        offset: int = 0,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Iterable[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Iterable[str] | None = None,
        include_text: bool = False,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Iterable[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        include_timing: bool = False,
        profile: bool = False,
    ) -> SearchAnswer:
        """The nearest items to a vector or a text.

        - ``positives``: What results are like: each {'id': of a stored item}, {'vector': …} or {'text': …}. Items among positives and negatives are no results.
        - ``negatives``: What results are unlike, in the same forms. Needs a positive.
        - ``strategy``: 'average' (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. 'best_score': a result's score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive.
        - ``ef``: Search effort set by hand; left out, it is calibrated to RECALL_TARGET.
        - ``exact``: Compares with every vector.
        - ``boosts``: Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before.
        - ``boost_mode``: multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score.
        - ``vector_model``: The model that the vectors of the request are of. If the collection's is another, they are refused (409).
        - ``fields``: Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it.
        - ``include_text``: Results also carry their text; '' where an item has none.
        - ``include_version``: Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version.
        - ``text_max``: A result's text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text.
        - ``total``: The answer also has `total_matches`: how many items pass the filters, exactly.
        - ``order_by``: Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with 'desc' by its greatest.
        - ``expand``: Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters.
        - ``highlight``: Results also carry `highlights`: fragments of their fields with words of the query's text, in any form, as the collection's keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`.
        - ``group_by``: A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups.
        - ``group_size``: Hits of a group at most. Default 1.
        - ``group_missing``: Items without such a value are left out (default), or each a group with the key null.
        - ``diversity``: Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}.
        - ``cursor``: Pages that continue each other, without offset and as far as the list goes: 'first', then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded.
        - ``explain``: Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`.
        - ``rerank``: A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it.
        - ``min_score``: Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.
        """
        body = given(
            vector=encoded(vector),
            text=text,
            positives=examples_body(positives, "positives"),
            negatives=examples_body(negatives, "negatives"),
            strategy=strategy,
            k=k,
            offset=offset or None,
            filters=filters_body(filters),
            ef=ef,
            exact=exact or None,
            boosts=listed(boosts, "boosts"),
            boost_mode=boost_mode,
            vector_model=vector_model,
            fields=listed(fields, "fields"),
            include_text=include_text or None,
            include_version=include_version or None,
            text_max=text_max,
            total=total or None,
            order_by=listed(order_by, "order_by"),
            expand=expand,
            highlight=highlight,
            group_by=group_by,
            group_size=group_size,
            group_missing=group_missing,
            diversity=diversity,
            cursor=cursor,
            explain=explain or None,
            rerank=rerank,
            min_score=min_score,
            include_timing=include_timing or None,
        )
        return await self._transport.call(
            operations.SEARCH,
            SearchAnswer,
            path=self._path,
            query=given(profile=profile or None),
            body=body,
        )

    async def hybrid_search(
        self,
        query_text: str | None = None,
        vector: VectorLike | None = None,
        *,
        alpha: float | None = None,
        legs: Sequence[Mapping[str, Any]] | None = None,
        mode: str | None = None,
        match: str | Mapping[str, Any] | None = None,
        query_syntax: str = "plain",
        fuzzy: int | str | None = None,
        prefix_last: bool = False,
        field_weights: Mapping[str, Any] | None = None,
        fusion: str | Mapping[str, Any] | None = None,
        score_scale: str | None = None,
        k: int = 10,
        offset: int = 0,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Iterable[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Iterable[str] | None = None,
        include_text: bool = False,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Iterable[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        include_timing: bool = False,
        profile: bool = False,
    ) -> HybridAnswer:
        """By meaning (``alpha`` 1) and by words (``alpha`` 0) together, fused by rank.

        Without a vector the text is embedded, too.

        - ``legs``: In the place of query_text, vector and alpha: 2 to 8 lists that become one, each with one of text, vector, query_text and like, its weight, and what its hits must pass. With explain, results have the same `legs`. rerank and highlight go by the first query_text, or else by the first text.
        - ``mode``: Says it by name: 'keyword', by keywords alone; 'vector', by meaning alone; both whatever alpha is. 'hybrid': as alpha says.
        - ``match``: How many of the words a hit of the keyword list has: 'any' (default), 'all', or {'at_least': 0.75}, rounded up.
        - ``query_syntax``: With 'simple', +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses 'organization', whose stem is organ), word~ (or word~1, word~2) for those that are near; 'a phrase' stands together, 'its words'~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign.
        - ``fuzzy``: Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; 'auto': none up to 3 letters, 1 up to 7, else 2.
        - ``prefix_last``: The last word stands for the 50 most frequent words that begin so, too.
        - ``field_weights``: How much keyword_fields of the collection count for this query, by path, such as {'title': 3, 'text': 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared.
        - ``fusion``: What each list adds for a hit, times its weight: 'rrf' (default), 1 / (constant + rank), with {'kind': 'rrf', 'constant': 20} another constant than 60; 'relative', where its score is between the list's least and greatest, 0 to 1; 'dbsf', where it is between three standard deviations below and above the mean; 'linear', the score itself. Of the merged lists, as deep as they are read.
        - ``score_scale``: With 'unit', scores are divided by the best that there can be, which is 1 then. Not with 'linear'.
        - ``ef``: Search effort set by hand; left out, it is calibrated to RECALL_TARGET.
        - ``exact``: Compares with every vector.
        - ``boosts``: Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before.
        - ``boost_mode``: multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score.
        - ``vector_model``: The model that the vectors of the request are of. If the collection's is another, they are refused (409).
        - ``fields``: Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it.
        - ``include_text``: Results also carry their text; '' where an item has none.
        - ``include_version``: Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version.
        - ``text_max``: A result's text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text.
        - ``total``: The answer also has `total_matches`: how many items pass the filters, exactly.
        - ``order_by``: Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with 'desc' by its greatest.
        - ``expand``: Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters.
        - ``highlight``: Results also carry `highlights`: fragments of their fields with words of the query's text, in any form, as the collection's keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`.
        - ``group_by``: A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups.
        - ``group_size``: Hits of a group at most. Default 1.
        - ``group_missing``: Items without such a value are left out (default), or each a group with the key null.
        - ``diversity``: Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}.
        - ``cursor``: Pages that continue each other, without offset and as far as the list goes: 'first', then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded.
        - ``explain``: Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`.
        - ``rerank``: A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it.
        - ``min_score``: Results whose fused score is less are left out; the best that there can be is 1 / 61, or 1 with score_scale 'unit'.
        """
        body = given(
            query_text=query_text,
            vector=encoded(vector),
            alpha=alpha,
            legs=legs_body(legs),
            mode=mode,
            match=match,
            query_syntax=query_syntax,
            fuzzy=fuzzy,
            prefix_last=prefix_last or None,
            field_weights=field_weights,
            fusion=fusion,
            score_scale=score_scale,
            k=k,
            offset=offset or None,
            filters=filters_body(filters),
            ef=ef,
            exact=exact or None,
            boosts=listed(boosts, "boosts"),
            boost_mode=boost_mode,
            vector_model=vector_model,
            fields=listed(fields, "fields"),
            include_text=include_text or None,
            include_version=include_version or None,
            text_max=text_max,
            total=total or None,
            order_by=listed(order_by, "order_by"),
            expand=expand,
            highlight=highlight,
            group_by=group_by,
            group_size=group_size,
            group_missing=group_missing,
            diversity=diversity,
            cursor=cursor,
            explain=explain or None,
            rerank=rerank,
            min_score=min_score,
            include_timing=include_timing or None,
        )
        return await self._transport.call(
            operations.HYBRID_SEARCH,
            HybridAnswer,
            path=self._path,
            query=given(profile=profile or None),
            body=body,
        )

    async def rerank(
        self,
        candidates: Sequence[ExternalId],
        vector: VectorLike | None = None,
        *,
        text: str | None = None,
        fields: Iterable[str] | None = None,
        include_text: bool = False,
        min_score: float | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        include_timing: bool = False,
        profile: bool = False,
    ) -> RerankAnswer:
        """Exact scores of listed items; those that do not exist are left out.

        - ``fields``: Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it.
        - ``include_text``: Results also carry their text; '' where an item has none.
        - ``min_score``: Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.
        - ``group_by``: A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups.
        - ``group_size``: Hits of a group at most. Default 1.
        - ``group_missing``: Items without such a value are left out (default), or each a group with the key null.
        """
        body = given(
            vector=encoded(vector),
            text=text,
            candidates=id_texts(candidates, "candidates"),
            fields=listed(fields, "fields"),
            include_text=include_text or None,
            min_score=min_score,
            group_by=group_by,
            group_size=group_size,
            group_missing=group_missing,
            include_timing=include_timing or None,
        )
        return await self._transport.call(
            operations.RERANK,
            RerankAnswer,
            path=self._path,
            query=given(profile=profile or None),
            body=body,
        )

    async def recommend(
        self,
        external_id: ExternalId,
        *,
        positives: Sequence[Mapping[str, Any]] | None = None,
        negatives: Sequence[Mapping[str, Any]] | None = None,
        strategy: str | None = None,
        k: int | None = None,
        offset: int | None = None,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Iterable[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Iterable[str] | None = None,
        include_text: bool = False,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Iterable[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        include_timing: bool = False,
        profile: bool = False,
    ) -> RecommendAnswer:
        """What is like a stored item, without itself.

        - ``positives``: What results are like: each {'id': of a stored item}, {'vector': …} or {'text': …}. Items among positives and negatives are no results.
        - ``negatives``: What results are unlike, in the same forms. Needs a positive.
        - ``strategy``: 'average' (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. 'best_score': a result's score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive.
        - ``ef``: Search effort set by hand; left out, it is calibrated to RECALL_TARGET.
        - ``exact``: Compares with every vector.
        - ``boosts``: Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before.
        - ``boost_mode``: multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score.
        - ``vector_model``: The model that the vectors of the request are of. If the collection's is another, they are refused (409).
        - ``fields``: Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it.
        - ``include_text``: Results also carry their text; '' where an item has none.
        - ``include_version``: Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version.
        - ``text_max``: A result's text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text.
        - ``total``: The answer also has `total_matches`: how many items pass the filters, exactly.
        - ``order_by``: Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with 'desc' by its greatest.
        - ``expand``: Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters.
        - ``highlight``: Results also carry `highlights`: fragments of their fields with words of the query's text, in any form, as the collection's keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`.
        - ``group_by``: A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups.
        - ``group_size``: Hits of a group at most. Default 1.
        - ``group_missing``: Items without such a value are left out (default), or each a group with the key null.
        - ``diversity``: Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}.
        - ``cursor``: Pages that continue each other, without offset and as far as the list goes: 'first', then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded.
        - ``explain``: Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`.
        - ``rerank``: A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it.
        - ``min_score``: Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.
        """
        body = given(
            positives=examples_body(positives, "positives"),
            negatives=examples_body(negatives, "negatives"),
            strategy=strategy,
            k=k,
            offset=offset,
            filters=filters_body(filters),
            ef=ef,
            exact=exact or None,
            boosts=listed(boosts, "boosts"),
            boost_mode=boost_mode,
            vector_model=vector_model,
            fields=listed(fields, "fields"),
            include_text=include_text or None,
            include_version=include_version or None,
            text_max=text_max,
            total=total or None,
            order_by=listed(order_by, "order_by"),
            expand=expand,
            highlight=highlight,
            group_by=group_by,
            group_size=group_size,
            group_missing=group_missing,
            diversity=diversity,
            cursor=cursor,
            explain=explain or None,
            rerank=rerank,
            min_score=min_score,
            include_timing=include_timing or None,
        )
        return await self._transport.call(
            operations.RECOMMEND,
            RecommendAnswer,
            path=self._item(external_id),
            query=given(profile=profile or None),
            body=body,
        )

    async def query(
        self,
        query: str,
        *,
        top_k: int = 5,
        offset: int = 0,
        alpha: float = 1,
        mode: str | None = None,
        match: str | Mapping[str, Any] | None = None,
        query_syntax: str = "plain",
        fuzzy: int | str | None = None,
        prefix_last: bool = False,
        field_weights: Mapping[str, Any] | None = None,
        fusion: str | Mapping[str, Any] | None = None,
        score_scale: str | None = None,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Iterable[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Iterable[str] | None = None,
        include_text: bool = True,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Iterable[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        include_timing: bool = False,
        profile: bool = False,
    ) -> QueryAnswer:
        """Texts that answer a question in natural language.

        - ``mode``: Says it by name: 'keyword', by keywords alone; 'vector', by meaning alone; both whatever alpha is. 'hybrid': as alpha says.
        - ``match``: How many of the words a hit of the keyword list has: 'any' (default), 'all', or {'at_least': 0.75}, rounded up.
        - ``query_syntax``: With 'simple', +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses 'organization', whose stem is organ), word~ (or word~1, word~2) for those that are near; 'a phrase' stands together, 'its words'~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign.
        - ``fuzzy``: Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; 'auto': none up to 3 letters, 1 up to 7, else 2.
        - ``prefix_last``: The last word stands for the 50 most frequent words that begin so, too.
        - ``field_weights``: How much keyword_fields of the collection count for this query, by path, such as {'title': 3, 'text': 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared.
        - ``fusion``: What each list adds for a hit, times its weight: 'rrf' (default), 1 / (constant + rank), with {'kind': 'rrf', 'constant': 20} another constant than 60; 'relative', where its score is between the list's least and greatest, 0 to 1; 'dbsf', where it is between three standard deviations below and above the mean; 'linear', the score itself. Of the merged lists, as deep as they are read.
        - ``score_scale``: With 'unit', scores are divided by the best that there can be, which is 1 then. Not with 'linear'.
        - ``ef``: Search effort set by hand; left out, it is calibrated to RECALL_TARGET.
        - ``exact``: Compares with every vector.
        - ``boosts``: Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before.
        - ``boost_mode``: multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score.
        - ``vector_model``: The model that the vectors of the request are of. If the collection's is another, they are refused (409).
        - ``fields``: Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it.
        - ``include_text``: false leaves the texts out of results.
        - ``include_version``: Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version.
        - ``text_max``: A result's text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text.
        - ``total``: The answer also has `total_matches`: how many items pass the filters, exactly.
        - ``order_by``: Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with 'desc' by its greatest.
        - ``expand``: Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters.
        - ``highlight``: Results also carry `highlights`: fragments of their fields with words of the query's text, in any form, as the collection's keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`.
        - ``group_by``: A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups.
        - ``group_size``: Hits of a group at most. Default 1.
        - ``group_missing``: Items without such a value are left out (default), or each a group with the key null.
        - ``diversity``: Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}.
        - ``cursor``: Pages that continue each other, without offset and as far as the list goes: 'first', then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded.
        - ``explain``: Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`.
        - ``rerank``: A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it.
        - ``min_score``: Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.
        """
        body = given(
            collection_name=self.name,
            query=query,
            top_k=top_k,
            offset=offset or None,
            alpha=alpha,
            mode=mode,
            match=match,
            query_syntax=query_syntax,
            fuzzy=fuzzy,
            prefix_last=prefix_last or None,
            field_weights=field_weights,
            fusion=fusion,
            score_scale=score_scale,
            filters=filters_body(filters),
            ef=ef,
            exact=exact or None,
            boosts=listed(boosts, "boosts"),
            boost_mode=boost_mode,
            vector_model=vector_model,
            fields=listed(fields, "fields"),
            include_text=None if include_text else False,
            include_version=include_version or None,
            text_max=text_max,
            total=total or None,
            order_by=listed(order_by, "order_by"),
            expand=expand,
            highlight=highlight,
            group_by=group_by,
            group_size=group_size,
            group_missing=group_missing,
            diversity=diversity,
            cursor=cursor,
            explain=explain or None,
            rerank=rerank,
            min_score=min_score,
            include_timing=include_timing or None,
        )
        return await self._transport.call(
            operations.QUERY,
            QueryAnswer,
            query=given(profile=profile or None),
            body=body,
        )

    async def answer(
        self,
        question: str,
        *,
        k: int = 8,
        alpha: float = 1,
        mode: str | None = None,
        match: str | Mapping[str, Any] | None = None,
        query_syntax: str = "plain",
        fuzzy: int | str | None = None,
        prefix_last: bool = False,
        field_weights: Mapping[str, Any] | None = None,
        fusion: str | Mapping[str, Any] | None = None,
        score_scale: str | None = None,
        filters: Filters | None = None,
        boosts: Iterable[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        expand: Mapping[str, Any] | None = None,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        model: str | None = None,
        max_tokens: int = 1024,
        history: Iterable[Mapping[str, Any]] | None = None,
    ) -> Answer:
        """A language model's answer to a question, from what a search finds; every citation was checked.

        - ``mode``: Says it by name: 'keyword', by keywords alone; 'vector', by meaning alone; both whatever alpha is. 'hybrid': as alpha says.
        - ``match``: How many of the words a hit of the keyword list has: 'any' (default), 'all', or {'at_least': 0.75}, rounded up.
        - ``query_syntax``: With 'simple', +word must and -word must not be there, for hits of both lists; title:word is looked for in this field of the metadata; word* stands for the words that begin so (of a language: whose stems begin so, or like its stem; organiz* misses 'organization', whose stem is organ), word~ (or word~1, word~2) for those that are near; 'a phrase' stands together, 'its words'~3 with at most 3 others between them; signs go together, and + and - ask for all words that others stand for; a backslash takes the meaning from a sign.
        - ``fuzzy``: Words that the collection lacks, or nearly so, stand for up to 50 that are so many edits from them; 'auto': none up to 3 letters, 1 up to 7, else 2.
        - ``prefix_last``: The last word stands for the 50 most frequent words that begin so, too.
        - ``field_weights``: How much keyword_fields of the collection count for this query, by path, such as {'title': 3, 'text': 1}: as if they had been indexed so. 0 leaves one out; what is not named counts as it is declared.
        - ``fusion``: What each list adds for a hit, times its weight: 'rrf' (default), 1 / (constant + rank), with {'kind': 'rrf', 'constant': 20} another constant than 60; 'relative', where its score is between the list's least and greatest, 0 to 1; 'dbsf', where it is between three standard deviations below and above the mean; 'linear', the score itself. Of the merged lists, as deep as they are read.
        - ``score_scale``: With 'unit', scores are divided by the best that there can be, which is 1 then. Not with 'linear'.
        - ``boosts``: Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before.
        - ``boost_mode``: multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score.
        - ``diversity``: Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}.
        - ``expand``: The model also reads so many chunks of the document before and after each passage, as one text with it.
        - ``rerank``: A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it.
        - ``min_score``: Passages that score less (with rerank, by that) are not read. Without any: `refused`, and no model is asked.
        - ``model``: One of LLM_MODELS; left out: the first.
        - ``max_tokens``: Tokens that the model writes, at most.
        - ``history``: What was said before, for the model. Passages are found by the question alone.
        """
        body = given(
            collection_name=self.name,
            question=question,
            k=k,
            alpha=alpha,
            mode=mode,
            match=match,
            query_syntax=query_syntax,
            fuzzy=fuzzy,
            prefix_last=prefix_last or None,
            field_weights=field_weights,
            fusion=fusion,
            score_scale=score_scale,
            filters=filters_body(filters),
            boosts=listed(boosts, "boosts"),
            boost_mode=boost_mode,
            diversity=diversity,
            expand=expand,
            rerank=rerank,
            min_score=min_score,
            model=model,
            max_tokens=max_tokens,
            history=listed(history, "history"),
        )
        return await self._transport.call(
            operations.ANSWER,
            Answer,
            body=body,
        )

    async def answer_stream(
        self,
        question: str,
        *,
        k: int = 8,
        alpha: float = 1,
        mode: str | None = None,
        match: str | Mapping[str, Any] | None = None,
        query_syntax: str = "plain",
        fuzzy: int | str | None = None,
        prefix_last: bool = False,
        field_weights: Mapping[str, Any] | None = None,
        fusion: str | Mapping[str, Any] | None = None,
        score_scale: str | None = None,
        filters: Filters | None = None,
        boosts: Sequence[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        expand: Mapping[str, Any] | None = None,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        model: str | None = None,
        max_tokens: int = 1024,
        history: Sequence[Mapping[str, Any]] | None = None,
    ) -> AsyncIterator[AnswerEvent]:
        """As ``answer``, while it is written: the sources, the text in parts, and last the whole."""
        body = given(
            collection_name=self.name,
            question=question,
            k=k,
            alpha=alpha,
            mode=mode,
            match=match,
            query_syntax=query_syntax,
            fuzzy=fuzzy,
            prefix_last=prefix_last or None,
            field_weights=field_weights,
            fusion=fusion,
            score_scale=score_scale,
            filters=filters_body(filters),
            boosts=boosts,
            boost_mode=boost_mode,
            diversity=diversity,
            expand=expand,
            rerank=rerank,
            min_score=min_score,
            model=model,
            max_tokens=max_tokens,
            history=history,
            stream=True,
        )
        reader = EventReader(self._transport.settings.notices)
        async with self._transport.stream(operations.ANSWER, body=body) as pieces:
            async for piece in pieces:
                for event in reader.feed(piece, {}):
                    yield event
        reader.end()

    @overload
    async def bulk_search(
        self,
        queries: Iterable[BulkSearchQueryLike],
        *,
        positives: Sequence[Mapping[str, Any]] | None = None,
        negatives: Sequence[Mapping[str, Any]] | None = None,
        strategy: str | None = None,
        k: int = 10,
        offset: int = 0,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Sequence[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Sequence[str] | None = None,
        include_text: bool = False,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Sequence[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        profile: Literal[False] = False,
    ) -> list[Rows[Hit]]: ...

    @overload
    async def bulk_search(
        self,
        queries: Iterable[BulkSearchQueryLike],
        *,
        positives: Sequence[Mapping[str, Any]] | None = None,
        negatives: Sequence[Mapping[str, Any]] | None = None,
        strategy: str | None = None,
        k: int = 10,
        offset: int = 0,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Sequence[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Sequence[str] | None = None,
        include_text: bool = False,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Sequence[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        profile: Literal[True],
    ) -> ProfiledBulkSearch: ...

    async def bulk_search(
        self,
        queries: Iterable[BulkSearchQueryLike],
        *,
        positives: Sequence[Mapping[str, Any]] | None = None,
        negatives: Sequence[Mapping[str, Any]] | None = None,
        strategy: str | None = None,
        k: int = 10,
        offset: int = 0,
        filters: Filters | None = None,
        ef: int | None = None,
        exact: bool = False,
        boosts: Sequence[Mapping[str, Any]] | None = None,
        boost_mode: str | None = None,
        vector_model: str | None = None,
        fields: Sequence[str] | None = None,
        include_text: bool = False,
        include_version: bool = False,
        text_max: int | None = None,
        total: bool = False,
        order_by: Sequence[Mapping[str, Any]] | None = None,
        expand: Mapping[str, Any] | None = None,
        highlight: Mapping[str, Any] | None = None,
        group_by: str | None = None,
        group_size: int | None = None,
        group_missing: str | None = None,
        diversity: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        explain: bool = False,
        rerank: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        profile: bool = False,
    ) -> list[Rows[Hit]] | ProfiledBulkSearch:
        """Several searches at once; a list of hits for each. Any number, in requests of 20.

        A query is a ``BulkSearchQuery``, a mapping, or only a vector or a text, such as the rows of an array; the options are for
        these. ``profile`` also tells where the time went, of each of the requests.

        - ``positives``: What results are like: each {'id': of a stored item}, {'vector': …} or {'text': …}. Items among positives and negatives are no results.
        - ``negatives``: What results are unlike, in the same forms. Needs a positive.
        - ``strategy``: 'average' (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. 'best_score': a result's score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive.
        - ``ef``: Search effort set by hand; left out, it is calibrated to RECALL_TARGET.
        - ``exact``: Compares with every vector.
        - ``boosts``: Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before.
        - ``boost_mode``: multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score.
        - ``vector_model``: The model that the vectors of the request are of. If the collection's is another, they are refused (409).
        - ``fields``: Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it.
        - ``include_text``: Results also carry their text; '' where an item has none.
        - ``include_version``: Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version.
        - ``text_max``: A result's text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text.
        - ``total``: The answer also has `total_matches`: how many items pass the filters, exactly.
        - ``order_by``: Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with 'desc' by its greatest.
        - ``expand``: Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters.
        - ``highlight``: Results also carry `highlights`: fragments of their fields with words of the query's text, in any form, as the collection's keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`.
        - ``group_by``: A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups.
        - ``group_size``: Hits of a group at most. Default 1.
        - ``group_missing``: Items without such a value are left out (default), or each a group with the key null.
        - ``diversity``: Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}.
        - ``cursor``: Pages that continue each other, without offset and as far as the list goes: 'first', then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded.
        - ``explain``: Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`.
        - ``rerank``: A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it.
        - ``min_score``: Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.
        """
        shared = given(
            positives=examples_body(positives, "positives"),
            negatives=examples_body(negatives, "negatives"),
            strategy=strategy,
            k=k,
            offset=offset or None,
            filters=filters_body(filters),
            ef=ef,
            exact=exact or None,
            boosts=boosts,
            boost_mode=boost_mode,
            vector_model=vector_model,
            fields=fields,
            include_text=include_text or None,
            include_version=include_version or None,
            text_max=text_max,
            total=total or None,
            order_by=order_by,
            expand=expand,
            highlight=highlight,
            group_by=group_by,
            group_size=group_size,
            group_missing=group_missing,
            diversity=diversity,
            cursor=cursor,
            explain=explain or None,
            rerank=rerank,
            min_score=min_score,
        )
        asked = [query_body(query, i, shared) for i, query in enumerate(listed_queries(queries))]
        found: list[Rows[Hit]] = []
        profiles: list[SearchProfile] = []
        for start in range(0, len(asked), BULK_SEARCH_LIMIT):
            body = {"queries": asked[start : start + BULK_SEARCH_LIMIT]}
            query = given(profile=profile or None)
            answer = await self._transport.call(operations.BULK_SEARCH, BulkSearchAnswer, path=self._path, query=query, body=body)
            totals = answer.total_matches or [None] * len(answer.results)
            grouped = answer.groups or [None] * len(answer.results)
            for hits, total_matches, groups in zip(answer.results, totals, grouped, strict=True):
                found.append(Rows(hits if groups is None else [hit for group in groups for hit in group.hits]))
                found[-1].total_matches = total_matches
                found[-1].groups = groups
            if answer.profile is not None:
                profiles.append(answer.profile)
        return ProfiledBulkSearch(results=[*found], profiles=profiles) if profile else found

    async def embed(
        self,
        texts: Iterable[str],
        *,
        kind: str = "query",
    ) -> EmbedAnswer:
        """Make vectors of texts, as the collection does.

        - ``kind``: query: as searches look for a text; passage: as it is stored. Some models make other vectors of it.
        """
        body = given(
            texts=listed(texts, "texts"),
            kind=kind,
        )
        return await self._transport.call(
            operations.EMBED,
            EmbedAnswer,
            path=self._path,
            body=body,
        )

    async def aggregate(
        self,
        *,
        filters: Filters | None = None,
        over: Mapping[str, Any] | None = None,
        facets: Iterable[Mapping[str, Any]] | None = None,
        ranges: Iterable[Mapping[str, Any]] | None = None,
        stats: Iterable[Mapping[str, Any]] | None = None,
        by: Mapping[str, Any] | None = None,
    ) -> Aggregates:
        """Count values: facets, ranges, statistics, groups.

        - ``over``: Counts the k best hits of this search instead of all items that pass.
        - ``by``: The same for each of the most frequent values of a field.
        """
        body = given(
            filters=filters_body(filters),
            over=over,
            facets=listed(facets, "facets"),
            ranges=listed(ranges, "ranges"),
            stats=listed(stats, "stats"),
            by=by,
        )
        return await self._transport.call(
            operations.AGGREGATE,
            Aggregates,
            path=self._path,
            body=body,
        )
