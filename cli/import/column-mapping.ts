import { CommandError, EXIT_CODES } from '../command-error';
import type { KnownFields } from '../formats/record-source';

/**
 * Which column of a source becomes what of an item. Kept in the checkpoint, so that a run that goes on maps as the
 * first did.
 */
export interface ColumnMapping {
  /** Null: ids are made of the file's name, the row's number, and a digest of the row. */
  id: string | null;
  /** A column of vectors, or columns with a component each; null: the service embeds the text. */
  vector: string | string[] | null;
  text: string | null;
  /** A column that holds an object of metadata, or its JSON. */
  metadataObject: string | null;
  /** Columns that become metadata by their names; null: all others. */
  metadata: string[] | null;
}

/** What the user said; undefined: guess, false: nothing of the kind. */
export interface MappingOptions {
  id?: string | false;
  vector?: string[] | false;
  text?: string | false;
  metadata?: string[] | false;
}

/** What columns are mostly called, the likeliest first. */
const ID_NAMES = ['external_id', 'id', '_id', 'key', 'uuid', 'doc_id', 'item_id'];
const VECTOR_NAMES = ['vector', 'embedding', 'embeddings', 'emb', 'vec', 'values', 'features'];
const TEXT_NAMES = ['text', 'content', 'document', 'body', 'chunk', 'passage', 'page_content', 'title'];
/** As many a field of a document is called: title_embedding, contentVector. */
const LIKE_VECTOR = /(?:vector|embedding|emb)s?$/i;
const METADATA_NAMES = ['metadata', 'payload', 'meta'];

export interface ColumnHints {
  /**
   * Columns that names of folders say (partitions.ts): every row of a file has the same there, so they are never
   * guessed to be ids.
   */
  ofFolders?: string[];
  isVector?: (column: string) => boolean;
}

/**
 * Decides what each column is: as the user says, as the format says, else by what columns are mostly called. `columns`
 * are those that were seen. Throws a CommandError when a named column is not there, or nothing could be a vector or a
 * text.
 */
export function mapColumns(
  columns: string[],
  known: KnownFields,
  options: MappingOptions,
  { ofFolders = [], isVector = () => false }: ColumnHints = {},
): ColumnMapping {
  const all = [...columns, ...ofFolders];
  const find = (names: string[]): string | null =>
    names
      .map((name) => columns.find((column) => column.toLowerCase() === name))
      .find((column) => column !== undefined) ?? null;
  const checked = (name: string): string => {
    if (!all.includes(name))
      throw new CommandError(`there is no column "${name}"; there is: ${all.join(', ')}`, EXIT_CODES.usage);
    return name;
  };
  const vector =
    options.vector === false
      ? null
      : options.vector === undefined
        ? (known.vector ??
          find(VECTOR_NAMES) ??
          only(columns.filter((column) => LIKE_VECTOR.test(column) && isVector(column))))
        : vectorColumns(options.vector, columns, checked);
  const text =
    options.text === false
      ? null
      : options.text === undefined
        ? (known.text ?? find(TEXT_NAMES))
        : checked(options.text);
  if (vector === null && text === null)
    throw new CommandError(
      `which column holds vectors (--vector) or texts (--text)? There is: ${columns.join(', ')}${seriesHint(columns)}`,
      EXIT_CODES.usage,
    );
  const id =
    options.id === false ? null : options.id === undefined ? (known.id ?? find(ID_NAMES)) : checked(options.id);
  if (options.metadata !== undefined)
    return {
      id,
      vector,
      text,
      metadataObject: null,
      metadata: options.metadata === false ? [] : options.metadata.map(checked),
    };
  const metadataObject = find(METADATA_NAMES);
  return { id, vector, text, metadataObject, metadata: null };
}

function only(names: string[]): string | null {
  return names.length === 1 ? names[0] : null;
}

/** How to say columns that are numbered, if there are some; empty: there are none. */
function seriesHint(columns: string[]): string {
  const counts = new Map<string, number>();
  for (const column of columns) {
    const head = /^(.*?)\d+$/.exec(column)?.[1];
    if (head !== undefined) counts.set(head, (counts.get(head) ?? 0) + 1);
  }
  const [head, count] = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), ['', 1]);
  if (count < 2) return '';
  const [first, second] = columns.filter(
    (column) => column.startsWith(head) && /^\d+$/.test(column.slice(head.length)),
  );
  const said = head === '' ? `"${first},${second}${count > 2 ? ',…' : ''}"` : `"${head}*"`;
  return `; a vector in columns with a number each is --vector ${said}`;
}

/** One name is a column of vectors; several, or a pattern such as "dim_*", are columns with a component each. */
function vectorColumns(names: string[], columns: string[], checked: (name: string) => string): string | string[] {
  if (names.length > 1) return names.map(checked);
  const [name] = names;
  if (columns.includes(name) || !name.includes('*')) return checked(name);
  const [head, tail] = name.split('*');
  const found = columns.filter(
    (column) => column.startsWith(head) && column.endsWith(tail) && column.length >= head.length + tail.length,
  );
  if (found.length === 0)
    throw new CommandError(`no column fits "${name}"; there is: ${columns.join(', ')}`, EXIT_CODES.usage);
  return found;
}

/** Columns that a source need not give. */
export function wantedColumns(mapping: ColumnMapping): ReadonlySet<string> | null {
  if (mapping.metadata === null) return null;
  return new Set([...usedColumns(mapping), ...mapping.metadata]);
}

/** Columns that are something else than metadata. */
export function usedColumns({ id, vector, text, metadataObject }: ColumnMapping): string[] {
  return [id, text, metadataObject, ...(Array.isArray(vector) ? vector : [vector])].filter((name) => name !== null);
}

/** For the user, in a line. */
export function describeMapping(mapping: ColumnMapping, columns: string[]): string {
  const { id, vector, text, metadataObject, metadata } = mapping;
  const used = usedColumns(mapping);
  const others = metadata ?? columns.filter((column) => !used.includes(column));
  const parts = [
    `id: ${id ?? 'made of the file, the row’s number and a digest'}`,
    `vector: ${vector === null ? `made of ${text}` : Array.isArray(vector) ? `${vector[0]} … ${vector.at(-1)} (${vector.length} columns)` : vector}`,
    ...(text === null ? [] : [`text: ${text}`]),
    ...(metadataObject === null && others.length === 0
      ? []
      : [`metadata: ${[...(metadataObject === null ? [] : [`${metadataObject} (an object)`]), ...others].join(', ')}`]),
  ];
  return parts.join('; ');
}
