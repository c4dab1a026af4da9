// Dify's External Knowledge API over Quiver: Dify sends POST /retrieval here, and gets the texts that Quiver finds.
//
//   QUIVER_URL=http://localhost:8000 PORT=8900 node retrieval.mjs
//
// The API key that Dify is given is a key of Quiver, the External Knowledge ID the name of a collection with texts.
import { createServer } from 'node:http';

const QUIVER_URL = (process.env.QUIVER_URL ?? 'http://localhost:8000').replace(/\/+$/, '');
const BODY_BYTES_MAX = 1_048_576;
/** Dify's code for a key that is refused, a body that is not understood, a collection that is not there. */
const CODES = { 401: 1002, 403: 1002, 404: 2001 };

/** Conditions of Dify on metadata, by their operators. */
const CONDITIONS = {
  is: (value) => ({ $eq: value }),
  'is not': (value) => ({ $ne: value }),
  '=': (value) => ({ $eq: Number(value) }),
  '≠': (value) => ({ $ne: Number(value) }),
  '>': (value) => ({ $gt: Number(value) }),
  '<': (value) => ({ $lt: Number(value) }),
  '≥': (value) => ({ $gte: Number(value) }),
  '≤': (value) => ({ $lte: Number(value) }),
  in: (value) => ({ $in: [value].flat() }),
  'not in': (value) => ({ $nin: [value].flat() }),
  contains: (value) => ({ $contains: value }),
  'start with': (value) => ({ $prefix: value }),
  before: (value) => ({ $lt: { $date: value } }),
  after: (value) => ({ $gt: { $date: value } }),
  empty: () => ({ $empty: true }),
  'not empty': () => ({ $empty: false }),
};

/** @param {{ logical_operator?: string, conditions?: any[] } | undefined} condition */
function filtersOf(condition) {
  const filters = (condition?.conditions ?? []).map(({ name, comparison_operator: operator, value }) => {
    const names = [name].flat();
    const write = CONDITIONS[operator];
    if (write === undefined) throw new Error(`the operator "${operator}" is not supported`);
    return names.length === 1 ? { [names[0]]: write(value) } : { $or: names.map((one) => ({ [one]: write(value) })) };
  });
  if (filters.length === 0) return undefined;
  return condition?.logical_operator === 'or' ? { $or: filters } : { $and: filters };
}

/** @param {any} body @param {string} key @returns {Promise<{ status: number, answer: object }>} */
async function retrieve({ knowledge_id: collection, query, retrieval_setting: setting = {}, metadata_condition }, key) {
  const filters = filtersOf(metadata_condition);
  const response = await fetch(`${QUIVER_URL}/v1/query`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      collection_name: collection,
      query,
      top_k: setting.top_k ?? 5,
      ...(setting.score_threshold > 0 && { min_score: setting.score_threshold }),
      ...(filters !== undefined && { filters }),
    }),
  });
  const { data, error } = await response.json();
  if (error !== null) {
    const status = CODES[error.code] === undefined ? 500 : error.code;
    return { status, answer: { error_code: CODES[error.code] ?? 500, error_msg: error.message } };
  }
  const records = data.results.map(({ external_id, score, text, metadata }) => ({
    content: text,
    score,
    title: metadata.title ?? metadata.source ?? external_id,
    metadata: { ...metadata, external_id },
  }));
  return { status: 200, answer: { records } };
}

const server = createServer((request, response) => {
  const send = ({ status, answer }) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
  if (request.method !== 'POST' || request.url !== '/retrieval')
    return send({ status: 404, answer: { error_code: 404, error_msg: 'POST /retrieval is all there is' } });
  const [, key] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (key === undefined)
    return send({ status: 403, answer: { error_code: 1001, error_msg: 'send Authorization: Bearer <key>' } });
  let text = '';
  request.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    if (text.length > BODY_BYTES_MAX) request.destroy();
  });
  request.on('end', () => {
    void Promise.resolve()
      .then(() => retrieve(JSON.parse(text), key))
      .catch((error) => ({ status: 500, answer: { error_code: 500, error_msg: error.message } }))
      .then(send);
  });
});
server.listen(Number(process.env.PORT ?? 8900), process.env.HOST ?? '127.0.0.1', () => {
  console.log(`POST http://127.0.0.1:${server.address().port}/retrieval`);
});
