import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A retrieval task in the layout of BEIR (Thakur et al., 2021): `corpus.jsonl` with _id, title and text,
 * `queries.jsonl` with _id and text, `qrels/<split>.tsv` with a header line and query-id, corpus-id and grade. Answers
 * the documents (title and text joined by a space, as BEIR's own searches take them), the queries that have judgements,
 * in the file's order, and the judgements: query id → document id → grade.
 */
export function readBeirFolder(folder, split = 'test') {
  const documents = readLines(join(folder, 'corpus.jsonl'), (line) => {
    const { _id, title = '', text = '' } = JSON.parse(line);
    return { id: String(_id), text: title === '' ? text : `${title} ${text}` };
  });
  const judgements = new Map();
  const rows = readLines(join(folder, 'qrels', `${split}.tsv`), (line) => line.split('\t'));
  // The header is one by its third column, which some files are without.
  for (const [queryId, documentId, grade] of Number.isNaN(Number(rows[0]?.[2])) ? rows.slice(1) : rows) {
    if (grade === undefined || Number.isNaN(Number(grade)))
      throw new Error(`${folder}/qrels/${split}.tsv: a line is not query-id, corpus-id and grade`);
    if (!judgements.has(queryId)) judgements.set(queryId, new Map());
    judgements.get(queryId).set(documentId, Number(grade));
  }
  const queries = readLines(join(folder, 'queries.jsonl'), (line) => {
    const { _id, text } = JSON.parse(line);
    return { id: String(_id), text };
  }).filter(({ id }) => judgements.has(id));
  if (documents.length === 0 || queries.length === 0)
    throw new Error(`${folder} has no documents, or no query with judgements`);
  return { documents, queries, judgements };
}

/** Writes such a folder; `judgements` as above. */
export function writeBeirFolder(folder, { documents, queries, judgements }, split = 'test') {
  mkdirSync(join(folder, 'qrels'), { recursive: true });
  writeFileSync(
    join(folder, 'corpus.jsonl'),
    linesOf(documents.map(({ id, title = '', text }) => JSON.stringify({ _id: id, title, text }))),
  );
  writeFileSync(
    join(folder, 'queries.jsonl'),
    linesOf(queries.map(({ id, text }) => JSON.stringify({ _id: id, text }))),
  );
  const rows = [...judgements].flatMap(([queryId, grades]) =>
    [...grades].map(([documentId, grade]) => `${queryId}\t${documentId}\t${grade}`),
  );
  writeFileSync(join(folder, 'qrels', `${split}.tsv`), linesOf(['query-id\tcorpus-id\tscore', ...rows]));
}

function readLines(path, parse) {
  if (!existsSync(path))
    throw new Error(`there is no ${path}: a folder in BEIR's layout has corpus.jsonl, queries.jsonl and qrels/`);
  const lines = readFileSync(path, 'utf8')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
  return lines.map((line, i) => {
    try {
      return parse(line);
    } catch (error) {
      throw new Error(`${path}, line ${i + 1}: ${error.message}`, { cause: error });
    }
  });
}

const linesOf = (lines) => lines.map((line) => `${line}\n`).join('');
