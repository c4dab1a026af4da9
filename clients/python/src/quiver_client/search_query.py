"""One of several searches."""

# Generated from the OpenAPI document: `UPDATE=1 npm test -- test/unit/clients/python` writes it anew.
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from .vectors import VectorLike

if TYPE_CHECKING:
    from .models import Filters


@dataclass(frozen=True)
class BulkSearchQuery:
    """One of several searches; needs a vector or a text."""

    vector: VectorLike | None = None
    text: str | None = None
    _: KW_ONLY
    positives: Sequence[Mapping[str, Any]] | None = None
    """What results are like: each {'id': of a stored item}, {'vector': …} or {'text': …}. Items among positives and negatives are no results."""
    negatives: Sequence[Mapping[str, Any]] | None = None
    """What results are unlike, in the same forms. Needs a positive."""
    strategy: str | None = None
    """'average' (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. 'best_score': a result's score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive."""
    k: int = 10
    offset: int = 0
    filters: Filters | None = None
    ef: int | None = None
    """Search effort set by hand; left out, it is calibrated to RECALL_TARGET."""
    exact: bool | None = None
    """Compares with every vector."""
    boosts: Sequence[Mapping[str, Any]] | None = None
    """Change scores by what items are: by filters ({'filters': {…}, 'weight': 1.5}), a number ({'field': 'likes', 'modifier': 'log1p', 'weight': 0.2}) or how near a value is ({'field': 'published', 'decay': {'origin': 'now', 'scale': '7d'}, 'weight': 0.3}). They reach all items, not the best of a list without them. Lists that are fused are ordered by boosted scores before."""
    boost_mode: str | None = None
    """multiply (default): filters give the factor weight, the others 1 + weight × their number, from 0.001 on, and 1 where there is none; a score is multiplied by all factors, or divided if it is below 0, so that a factor above 1 always helps. add: filters give weight, the others weight × their number, and 0 where there is none; all are added to the score."""
    vector_model: str | None = None
    """The model that the vectors of the request are of. If the collection's is another, they are refused (409)."""
    fields: Sequence[str] | None = None
    """Paths of the metadata that results carry, such as 'author.name'. Left out: all; []: none. A path that an item lacks is left out of it."""
    include_text: bool | None = None
    """Results also carry their text; '' where an item has none."""
    include_version: bool | None = None
    """Results also carry their `version`, for if_version. Their metadata and texts are read together with it, so they are of that version."""
    text_max: int | None = None
    """A result's text has so many UTF-16 code units at most; what is behind is left out. Places of highlights are those of the whole text."""
    total: bool | None = None
    """The answer also has `total_matches`: how many items pass the filters, exactly."""
    order_by: Sequence[Mapping[str, Any]] | None = None
    """Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay best first. An array counts by its least value, or with 'desc' by its greatest."""
    expand: Mapping[str, Any] | None = None
    """Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters."""
    highlight: Mapping[str, Any] | None = None
    """Results also carry `highlights`: fragments of their fields with words of the query's text, in any form, as the collection's keyword search sees them. An answer looks at 2,097,152 UTF-16 code units; results behind that have no `highlights`."""
    group_by: str | None = None
    """A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that have the same number, text or boolean there; an item with a list is in the group of each of its elements. A group is as good as its best hit. k and offset count groups."""
    group_size: int | None = None
    """Hits of a group at most. Default 1."""
    group_missing: str | None = None
    """Items without such a value are left out (default), or each a group with the key null."""
    diversity: Mapping[str, Any] | None = None
    """Results that differ: by their vectors with {'lambda': 0.7, 'candidates': 100}, or by a value with {'field': 'author', 'at_most': 2}."""
    cursor: str | None = None
    """Pages that continue each other, without offset and as far as the list goes: 'first', then `next_cursor` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for 300 seconds (CURSOR_SECONDS), and ends when the collection is resharded."""
    explain: bool | None = None
    """Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`."""
    rerank: Mapping[str, Any] | None = None
    """A model that reads the query's text together with that of each of the best results puts these in another order. Then `score` is the model's (0 to 1), and `first_score` and `first_rank` are what it was before; results that it has not read keep theirs, without these two, and come behind. Groups are formed, hits that differ chosen, and pages cut, after it."""
    min_score: float | None = None
    """Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number."""
