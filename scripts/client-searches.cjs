// Writes the searches of the Python client from the service's OpenAPI document, so that an option of searches is known
// there as soon as the service knows it: the methods (async; make/python-sync.cjs makes the sync ones), and one of several
// searches.

const { clientMethodsOf } = require('./make/client-types.cjs');
const { answerClass } = require('./make/python-models.cjs');

/**
 * @typedef {Record<string, any>} Schema
 * @typedef {{ name: string, type: string, standard: string | null, sent: string, description: string }} Parameter
 * `standard`: its default as Python has it; null: it must be given. `sent`: its value as the body has it.
 * @typedef {{ name: string, path: string, constant: string, answer: string, place: string | null, positional: string[],
 * lines: string[] }} Search A method. `place`: what fills in the path.
 */

const COLLECTION = '/v1/collections/{name}';
const NEVER_GIVEN = new Set(['strict', 'collection_name', 'stream']);
/** What stands in the docstring of the class, or in a line of the method. */
const SAID_ELSEWHERE = new Set([
  'vector',
  'text',
  'query_text',
  'query',
  'filters',
  'k',
  'top_k',
  'offset',
  'candidates',
  'alpha',
  'include_timing',
]);

/** @type {Search[]} */
const SEARCHES = [
  {
    name: 'search',
    path: `${COLLECTION}/search`,
    constant: 'SEARCH',
    answer: 'SearchAnswer',
    place: 'self._path',
    positional: ['vector'],
    lines: ['The nearest items to a vector or a text.'],
  },
  {
    name: 'hybrid_search',
    path: `${COLLECTION}/hybrid_search`,
    constant: 'HYBRID_SEARCH',
    answer: 'HybridAnswer',
    place: 'self._path',
    positional: ['query_text', 'vector'],
    lines: [
      'By meaning (``alpha`` 1) and by words (``alpha`` 0) together, fused by rank.',
      '',
      'Without a vector the text is embedded, too.',
    ],
  },
  {
    name: 'rerank',
    path: `${COLLECTION}/rerank`,
    constant: 'RERANK',
    answer: 'RerankAnswer',
    place: 'self._path',
    positional: ['candidates', 'vector'],
    lines: ['Exact scores of listed items; those that do not exist are left out.'],
  },
  {
    name: 'recommend',
    path: `${COLLECTION}/recommend/{id}`,
    constant: 'RECOMMEND',
    answer: 'RecommendAnswer',
    place: 'self._item(external_id)',
    positional: ['external_id'],
    lines: ['What is like a stored item, without itself.'],
  },
  {
    name: 'query',
    path: '/v1/query',
    constant: 'QUERY',
    answer: 'QueryAnswer',
    place: null,
    positional: ['query'],
    lines: ['Texts that answer a question in natural language.'],
  },
  {
    name: 'answer',
    path: '/v1/answer',
    constant: 'ANSWER',
    answer: 'Answer',
    place: null,
    positional: ['question'],
    lines: ["A language model's answer to a question, from what a search finds; every citation was checked."],
  },
];

const HEAD = '# Generated from the OpenAPI document: `UPDATE=1 npm test -- test/unit/clients/python` writes it anew.\n';

/**
 * The text of clients/python/src/quiver_client/_async/searches.py.
 * @param {Schema} document as /openapi.json has it
 * @returns {string}
 */
function pythonSearches(document) {
  const calls = clientMethodsOf(document).map((one) => callOf(document, one));
  const answers = [
    'BulkSearchAnswer',
    'BulkSearchQueryLike',
    'Filters',
    'Hit',
    'ProfiledBulkSearch',
    'SearchProfile',
    ...[...SEARCHES, ...calls].map(({ answer }) => answer),
  ];
  return `"""Searches of a collection."""

${HEAD}from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from .. import operations
from ..bodies import encoded, examples_body, filters_body, given, legs_body, listed, listed_queries, query_body
from ..event_stream import AnswerEvent, EventReader
from ..ids import ExternalId, id_text, id_texts
from ..models import (
${answers
  .sort()
  .map((name) => `    ${name},\n`)
  .join('')})
from ..tables import Rows
from ..vectors import VectorLike
from .transport import AsyncTransport

BULK_SEARCH_LIMIT = ${queries(document).maxItems}
"""Queries of one bulk search; the service's maximum."""


class AsyncSearches:
    """The searches of one collection.

    ${'``k``'} hits after the first ${'``offset``'}, of the items that match ${'``filters``'}. The effort is calibrated to the recall that the service promises.
    ${'``include_timing``'} tells where the time went, ${'``profile``'} does so step by step.
    """

    def __init__(self, transport: AsyncTransport, name: str) -> None:
        self._transport = transport
        self.name = name

    @property
    def _path(self) -> dict[str, object]:
        return {"name": self.name}

    def _item(self, external_id: ExternalId) -> dict[str, object]:
        return {"name": self.name, "id": id_text(external_id)}

${SEARCHES.map((search) => methodOf(document, search)).join('\n')}
${answerStream(document)}
${bulkSearch(document)}
${calls.map((call) => methodOf(document, call)).join('\n')}`;
}

/**
 * A method that is written from its operation.
 * @param {Schema} document
 * @param {{ id: string, name: string, path: string, operation: Schema }} one
 * @returns {Search}
 */
function callOf(document, { id, name, path, operation }) {
  const { required = [] } = resolved(document, operation.requestBody.content['application/json'].schema);
  return {
    name,
    path,
    constant: name.toUpperCase(),
    answer: answerClass({ id, name }),
    place: 'self._path',
    positional: required,
    lines: [`${operation.summary}.`],
  };
}

/** Between what is by hand in the Python client's table of operations and its end. */
const OPERATIONS_HEAD = '\n# Written from the OpenAPI document by `UPDATE=1 npm test -- test/unit/clients/python`.\n';

/**
 * The text of clients/python/src/quiver_client/operations.py.
 * @param {Schema} document
 * @param {string} present the file as it is
 * @returns {string}
 */
function pythonOperations(document, present) {
  const [byHand] = present.split(OPERATIONS_HEAD);
  const rows = clientMethodsOf(document).map(({ name, path }) => `${name.toUpperCase()} = _post("${path}")\n`);
  return `${byHand}${OPERATIONS_HEAD}${rows.join('')}`;
}

/**
 * The text of clients/python/src/quiver_client/search_query.py.
 * @param {Schema} document
 * @returns {string}
 */
function pythonSearchQuery(document) {
  const fields = optionsOfQuery(document).map(({ name, type, standard, description }) => {
    // What is left out is not sent.
    const field = standard === 'False' ? `${name}: ${type} | None = None\n` : `${name}: ${type} = ${standard}\n`;
    return `    ${field}${description === '' ? '' : `    """${description}"""\n`}`;
  });
  return `"""One of several searches."""

${HEAD}from __future__ import annotations

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
${fields.join('')}`;
}

/**
 * @param {Schema} document
 * @param {Search} search
 */
function methodOf(document, { name, path, constant, answer, place, positional, lines }) {
  const { body: asked, flags } = takenBy(document, path);
  const body = asked.map(ofAny);
  /** @type {Parameter[]} */
  const known =
    place === 'self._item(external_id)'
      ? [{ name: 'external_id', type: 'ExternalId', standard: null, sent: '', description: '' }, ...body]
      : body;
  const first = positional.map((one) => /** @type {Parameter} */ (known.find((parameter) => parameter.name === one)));
  const rest = [...body.filter((parameter) => !positional.includes(parameter.name)), ...flags];
  const fields = [
    ...(place === null ? ['collection_name=self.name'] : []),
    ...body.map(({ name: field, sent }) => `${field}=${sent}`),
  ];
  return `    async def ${name}(
        self,
${first.map(signed).join('')}        *,
${rest.map(signed).join('')}    ) -> ${answer}:
${docstring(lines, rest)}        body = given(
${fields.map((field) => `            ${field},\n`).join('')}        )
        return await self._transport.call(
            operations.${constant},
            ${answer},
${place === null ? '' : `            path=${place},\n`}${flags.length === 0 ? '' : `            query=given(${flags.map((flag) => `${flag.name}=${flag.sent}`).join(', ')}),\n`}            body=body,
        )
`;
}

/**
 * A list may be any iterable, such as a generator.
 * @param {Parameter} parameter
 */
function ofAny({ type, sent, ...parameter }) {
  const isAny = type.startsWith('Sequence[') && sent === parameter.name;
  return {
    ...parameter,
    type: isAny ? type.replace('Sequence[', 'Iterable[') : type,
    sent: isAny ? `listed(${sent}, "${sent}")` : sent,
  };
}

/**
 * The answer of a language model while it is written.
 * @param {Schema} document
 */
function answerStream(document) {
  const { body } = takenBy(document, '/v1/answer');
  const [question, rest] = [
    body.filter(({ name }) => name === 'question'),
    body.filter(({ name }) => name !== 'question'),
  ];
  return `    async def answer_stream(
        self,
${question.map(signed).join('')}        *,
${rest.map(signed).join('')}    ) -> AsyncIterator[AnswerEvent]:
        """As ${'``answer``'}, while it is written: the sources, the text in parts, and last the whole."""
        body = given(
            collection_name=self.name,
${body.map(({ name, sent }) => `            ${name}=${sent},\n`).join('')}            stream=True,
        )
        reader = EventReader(self._transport.settings.notices)
        async with self._transport.stream(operations.ANSWER, body=body) as pieces:
            async for piece in pieces:
                for event in reader.feed(piece, {}):
                    yield event
        reader.end()
`;
}

/** @param {Schema} document */
function bulkSearch(document) {
  const options = optionsOfQuery(document);
  const signature = (
    /** @type {string} */ profile,
    /** @type {string} */ answer,
    /** @type {string} */ end,
  ) => `    async def bulk_search(
        self,
        queries: Iterable[BulkSearchQueryLike],
        *,
${options.map(signed).join('')}        profile: ${profile},
    ) -> ${answer}:${end}
`;
  const lines = [
    `Several searches at once; a list of hits for each. Any number, in requests of ${queries(document).maxItems}.`,
    '',
    'A query is a ``BulkSearchQuery``, a mapping, or only a vector or a text, such as the rows of an array; the options are for',
    'these. ``profile`` also tells where the time went, of each of the requests.',
  ];
  return `    @overload
${signature('Literal[False] = False', 'list[Rows[Hit]]', ' ...')}
    @overload
${signature('Literal[True]', 'ProfiledBulkSearch', ' ...')}
${signature('bool = False', 'list[Rows[Hit]] | ProfiledBulkSearch', '')}${docstring(lines, options)}        shared = given(
${options.map(({ name, sent }) => `            ${name}=${sent},\n`).join('')}        )
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
`;
}

/**
 * What a search takes: the fields of its body, and the flags of its query string that are not fields too.
 * @param {Schema} document
 * @param {string} path
 */
function takenBy(document, path) {
  const operation = document.paths[path].post;
  const body = parametersOf(document, operation.requestBody.content['application/json'].schema);
  const flags = operation.parameters
    .filter(
      (/** @type {Schema} */ { in: where, name }) =>
        where === 'query' && !NEVER_GIVEN.has(name) && !body.some((field) => field.name === name),
    )
    .map((/** @type {Schema} */ { name }) => ({
      name,
      type: 'bool',
      standard: 'False',
      sent: `${name} or None`,
      description: '',
    }));
  return { body, flags: /** @type {Parameter[]} */ (flags) };
}

/**
 * The list of a bulk search.
 * @param {Schema} document
 * @returns {Schema}
 */
function queries(document) {
  const { schema } = document.paths[`${COLLECTION}/bulk_search`].post.requestBody.content['application/json'];
  return resolved(document, schema).properties.queries;
}

/** @param {Schema} document */
function optionsOfQuery(document) {
  return parametersOf(document, queries(document).items).filter(({ name }) => name !== 'vector' && name !== 'text');
}

/**
 * @param {Schema} document
 * @param {Schema} schema
 * @returns {Parameter[]}
 */
function parametersOf(document, schema) {
  const { properties, required = [] } = resolved(document, schema);
  return Object.entries(properties)
    .filter(([name]) => !NEVER_GIVEN.has(name))
    .map(([name, property]) => parameterOf(name, resolved(document, property), required.includes(name)));
}

/**
 * @param {string} name
 * @param {Schema} schema
 * @param {boolean} isRequired
 * @returns {Parameter}
 */
function parameterOf(name, schema, isRequired) {
  const description = SAID_ELSEWHERE.has(name) ? '' : plain(schema.description ?? '');
  const optional = (/** @type {string} */ type, sent = name) => ({
    name,
    type: isRequired ? type : `${type} | None`,
    standard: isRequired ? null : 'None',
    sent,
    description,
  });
  if (name === 'vector') return optional('VectorLike', 'encoded(vector)');
  if (name === 'filters') return optional('Filters', 'filters_body(filters)');
  if (name === 'positives' || name === 'negatives')
    return optional('Sequence[Mapping[str, Any]]', `examples_body(${name}, "${name}")`);
  if (name === 'legs') return optional('Sequence[Mapping[str, Any]]', 'legs_body(legs)');
  if (name === 'candidates') return optional('Sequence[ExternalId]', 'id_texts(candidates, "candidates")');
  const type = pythonType(name, schema);
  const value = schema.default;
  if (value === undefined || isRequired) return optional(type);
  if (typeof value === 'boolean')
    return {
      name,
      type,
      standard: value ? 'True' : 'False',
      sent: value ? `None if ${name} else False` : `${name} or None`,
      description,
    };
  return { name, type, standard: JSON.stringify(value), sent: value === 0 ? `${name} or None` : name, description };
}

/**
 * Throws for a type that no option had so far: this is the place to say what it is in Python.
 * @param {string} name
 * @param {Schema} schema
 * @returns {string}
 */
function pythonType(name, schema) {
  const types = [schema, ...(schema.anyOf ?? schema.oneOf ?? [])]
    .flatMap(({ type }) => type ?? [])
    .filter((type, i, all) => type !== 'null' && all.indexOf(type) === i);
  const known = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' };
  const [type] = types;
  if (type === 'array' && schema.items?.type === 'string') return 'Sequence[str]';
  if (type === 'array' && schema.items?.type === 'object') return 'Sequence[Mapping[str, Any]]';
  // Whole numbers, or a word.
  if (types.join() === 'number,string') return 'int | str';
  if (types.join() === 'string,object') return 'str | Mapping[str, Any]';
  if (type === 'object' && types.length === 1) return 'Mapping[str, Any]';
  if (types.length !== 1 || !(type in known))
    throw new Error(`no type of Python is known for ${name}: ${JSON.stringify(schema)}`);
  return known[/** @type {keyof typeof known} */ (type)];
}

/**
 * @param {Schema} document
 * @param {Schema} schema
 * @returns {Schema}
 */
function resolved(document, schema) {
  return schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)];
}

/** @param {Parameter} parameter */
function signed({ name, type, standard }) {
  return `        ${name}: ${type}${standard === null ? '' : ` = ${standard}`},\n`;
}

/**
 * @param {string[]} lines
 * @param {Parameter[]} parameters
 */
function docstring(lines, parameters) {
  const described = parameters
    .filter(({ description }) => description !== '')
    .map(({ name, description }) => `- ${'``'}${name}${'``'}: ${description}`);
  const all = [...lines, ...(described.length === 0 ? [] : ['', ...described])];
  const text = all.map((line, i) => (line === '' ? '' : `${i === 0 ? '' : '        '}${line}`)).join('\n');
  return all.length === 1 ? `        """${text}"""\n` : `        """${text}\n        """\n`;
}

/**
 * A description within a docstring.
 * @param {string} text
 */
function plain(text) {
  return text
    .replaceAll('’', "'")
    .replaceAll('\\', '\\\\')
    .replaceAll('""', "''")
    .replaceAll('"', "'")
    .replaceAll('\n', ' ');
}

module.exports = { pythonOperations, pythonSearches, pythonSearchQuery };
