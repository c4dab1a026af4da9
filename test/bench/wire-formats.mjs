/** Fields made for filtered searches: row modulo n, so that one value keeps one row in n. */
export const FILTER_MODULI = [2, 10, 100, 10_000];

function filterFields(row) {
  return Object.fromEntries(FILTER_MODULI.map((modulus) => [`mod${modulus}`, row % modulus]));
}

/**
 * A component as a client would send it: some eight digits. The data sets are rounded to these numbers beforehand, so
 * that what the servers store is exactly what the exact neighbours were computed from.
 */
export function roundComponent(value) {
  const size = Math.abs(value);
  return size < 1e-2 ? Number(value.toPrecision(7)) : Math.round(value * 1e8) / 1e8;
}

function vectorText(values, start, dim) {
  let text = '[';
  for (let i = 0; i < dim; i++)
    text += i === 0 ? roundComponent(values[start]) : `,${roundComponent(values[start + i])}`;
  return `${text}]`;
}

/** @param {object} quantization */
function qdrantFormat(quantization) {
  return {
    bulk(values, dim, from, to) {
      const points = [];
      for (let row = from; row < to; row++)
        points.push(
          `{"id":${row},"vector":${vectorText(values, row * dim, dim)},"payload":${JSON.stringify(filterFields(row))}}`,
        );
      return `{"points":[${points.join(',')}]}`;
    },
    search(values, dim, query, k, filter, effort) {
      const must = Object.entries(filter ?? {}).map(([key, value]) => ({ key, match: { value } }));
      const params = JSON.stringify({ hnsw_ef: effort, ...quantization });
      return `{"vector":${vectorText(values, query * dim, dim)},"limit":${k},"with_payload":true,"params":${params}${must.length === 0 ? '' : `,"filter":${JSON.stringify({ must })}`}}`;
    },
    rowsFound(answer) {
      if (answer.status !== 'ok') throw new Error(`search: ${JSON.stringify(answer.status)}`);
      return answer.result.map(({ id }) => id);
    },
  };
}

/** How each server is spoken to: the bodies of its bulk writes and searches, and the row numbers in its answers. */
export const WIRE_FORMATS = {
  quiver: {
    bulk(values, dim, from, to) {
      const items = [];
      for (let row = from; row < to; row++)
        items.push(
          `{"external_id":"${row}","vector":${vectorText(values, row * dim, dim)},"metadata":${JSON.stringify(filterFields(row))}}`,
        );
      return `{"items":[${items.join(',')}]}`;
    },
    search(values, dim, query, k, filter) {
      return `{"vector":${vectorText(values, query * dim, dim)},"k":${k}${filter === undefined ? '' : `,"filters":${JSON.stringify(filter)}`}}`;
    },
    rowsFound(answer) {
      if (answer.status !== 'success') throw new Error(`search: ${JSON.stringify(answer.error)}`);
      return answer.data.results.map((hit) => Number(hit.external_id));
    },
  },
  qdrant: qdrantFormat({}),
  'qdrant-int8': qdrantFormat({ quantization: { rescore: true, oversampling: 2 } }),
  chroma: {
    bulk(values, dim, from, to) {
      const rows = Array.from({ length: to - from }, (_, i) => from + i);
      return `{"ids":${JSON.stringify(rows.map(String))},"embeddings":[${rows.map((row) => vectorText(values, row * dim, dim)).join(',')}],"metadatas":${JSON.stringify(rows.map(filterFields))}}`;
    },
    search(values, dim, query, k, filter) {
      return `{"query_embeddings":[${vectorText(values, query * dim, dim)}],"n_results":${k},"include":["distances","metadatas"]${filter === undefined ? '' : `,"where":${JSON.stringify(filter)}`}}`;
    },
    rowsFound(answer) {
      if (answer.ids === undefined) throw new Error(`query: ${JSON.stringify(answer)}`);
      return answer.ids[0].map(Number);
    },
  },
};
