import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Finding, ItemFindings } from '../finding';
import { LARGE_INTEGERS, parseLossless } from '../../formats/json/lossless-json';
import { PeerError, type PeerHttpOptions, firstOrLater } from '../peer-http';
import type {
  PeerObject,
  MetricHere,
  PageRequest,
  PeerAddress,
  PeerCollection,
  PeerPage,
  PeerSource,
  PeerVector,
} from '../peer-source';
import { idText, metricFinding, noteMetadata, takeText } from '../peer-values';

interface Column {
  name: string;
  /** As SQL writes it: "vector(384)", "bigint". */
  type: string;
}

interface Table {
  schema: string;
  name: string;
  columns: Column[];
  /** Columns of its primary key, or of a unique index over columns that are never null. */
  key: Column[];
}

interface ColumnRow {
  schema: string;
  table: string;
  kind: string;
  column: string;
  type: string;
  base_type: string;
}

interface IndexRow {
  schema: string;
  table: string;
  is_primary: boolean;
  method: string;
  columns: string[];
  classes: string[];
  options: string[] | null;
}

const VECTOR_TYPES = new Set(['vector', 'halfvec']);
const CONNECT_SECONDS = 20;
/** A page of large rows of a busy server. */
const STATEMENT_MS = 120_000;
/** Codes of connections that break, of servers that start or stop, and of too many clients. */
const PASSING = /^(?:CONNECTION_|CONNECT_TIMEOUT|ECONN|EPIPE|ETIMEDOUT|08|57P0|53300)/;
const REFUSED = new Set(['28P01', '28000', '42501']);
/** What an index's operator class says of the metric. */
const CLASS_METRICS: [RegExp, MetricHere | null, string][] = [
  [/_cosine_ops$/, 'cosine', 'cosine'],
  [/_l2_ops$/, 'l2', 'l2'],
  [/_ip_ops$/, 'ip', 'inner_product'],
  [/_l1_ops$/, null, 'l1'],
];
const FORMS: Record<string, string> = {
  cosine: '1 − cosine (<=>)',
  l2: 'the distance (<->), lower is better',
  inner_product: 'the negative dot product (<#>)',
};

/**
 * PostgreSQL 13 and later with pgvector 0.5 and later: every table or materialised view with a column of type vector or
 * halfvec that this user may read. Pages go by the primary key, in its order.
 */
export class PgvectorSource implements PeerSource {
  private readonly sql: postgres.Sql;
  private readonly tables = new Map<string, Table>();

  private hasAnswered = false;

  constructor(
    { url, user, password, key, database }: PeerAddress,
    private readonly where: string | null,
    private readonly options: Pick<PeerHttpOptions, 'patienceMs' | 'signal' | 'onWait'>,
  ) {
    this.sql = postgres(url.href, {
      ...(user === null ? {} : { username: user }),
      ...((password ?? key) === null ? {} : { password: password ?? key ?? '' }),
      ...(database === null ? {} : { database }),
      max: 1,
      // A pooler between us and the server may not know prepared statements.
      prepare: false,
      connect_timeout: CONNECT_SECONDS,
      onnotice: () => {},
      connection: {
        application_name: 'quiver migrate',
        default_transaction_read_only: 'on',
        statement_timeout: STATEMENT_MS,
      } as Record<string, string | number>,
    });
  }

  async version(): Promise<string> {
    const [{ server, extension }] = await this.ask<{ server: string; extension: string | null }>(
      `SELECT current_setting('server_version') AS server, (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS extension`,
    );
    if (extension === null) throw new PeerError('this database has no extension "vector" (pgvector)');
    return `PostgreSQL ${server}, pgvector ${extension}`;
  }

  async collections(): Promise<PeerCollection[]> {
    const columns = await this.ask<ColumnRow>(`
      SELECT n.nspname AS schema, c.relname AS table, c.relkind AS kind, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type, t.typname AS base_type
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND has_table_privilege(c.oid, 'SELECT')
        AND EXISTS (SELECT 1 FROM pg_attribute v JOIN pg_type vt ON vt.oid = v.atttypid WHERE v.attrelid = c.oid AND NOT v.attisdropped AND vt.typname IN ('vector', 'halfvec', 'sparsevec'))
      ORDER BY 1, 2, a.attnum`);
    const indexes = await this.ask<IndexRow>(`
      SELECT n.nspname AS schema, c.relname AS table, i.indisprimary AS is_primary, m.amname AS method, ic.reloptions AS options,
        ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(num, place) JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num ORDER BY k.place) AS columns,
        ARRAY(SELECT o.opcname::text FROM unnest(i.indclass::oid[]) WITH ORDINALITY k(class, place) JOIN pg_opclass o ON o.oid = k.class ORDER BY k.place) AS classes
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am m ON m.oid = ic.relam JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE m.amname IN ('hnsw', 'ivfflat')
        OR (i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey::int2[]) AND NOT a.attnotnull))
      ORDER BY i.indisprimary DESC, ic.relname`);
    const names = [...new Set(columns.map(({ schema, table }) => JSON.stringify([schema, table])))];
    const found: PeerCollection[] = [];
    for (const each of names) {
      const [schema, table] = JSON.parse(each) as [string, string];
      const isOwn = (row: { schema: string; table: string }): boolean => row.schema === schema && row.table === table;
      found.push(await this.described(schema, table, columns.filter(isOwn), indexes.filter(isOwn)));
    }
    return found;
  }

  async page({ collection, vector, cursor, limit, textField, findings }: PageRequest): Promise<PeerPage> {
    const table = this.tables.get(collection.name);
    if (table === undefined) throw new PeerError(`there is no table "${collection.name}"`);
    const keys = table.key.map(({ name }) => `t.${quoted(name)}`);
    // A key of one column is the id; one of several is in the metadata too, because its parts are fields of their own.
    const isId = (name: string): boolean => table.key.length === 1 && table.key[0].name === name;
    const others = table.columns
      .filter(({ name, type }) => !isVectorType(type) && !isId(name))
      .map(({ name }) => `t.${quoted(name)}`);
    const after = cursor as string[] | null;
    const conditions = [
      ...(this.where === null ? [] : [`(${this.where})`]),
      ...(after === null
        ? []
        : [`(${keys.join(', ')}) > (${table.key.map(({ type }, i) => `$${i + 1}::text::${type}`).join(', ')})`]),
    ];
    const rows = await this.ask<{ key: string[]; vector: string | null; row: string }>(
      `SELECT ARRAY[${keys.map((key) => `${key}::text`).join(', ')}] AS key, t.${quoted(vector)}::text AS vector, ${others.length === 0 ? `'{}'` : `(SELECT to_jsonb(o)::text FROM (SELECT ${others.join(', ')}) o)`} AS row
       FROM ${quoted(table.schema)}.${quoted(table.name)} t ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`} ORDER BY ${keys.join(', ')} LIMIT ${limit}`,
      after ?? [],
    );
    const items = rows.map((row) => this.item(row, table, textField, findings));
    return { items, next: rows.length < limit ? null : rows[rows.length - 1].key };
  }

  async close(): Promise<void> {
    await this.sql.end({ timeout: 1 });
  }

  private item(
    row: { key: string[]; vector: string | null; row: string },
    table: Table,
    textField: string | null,
    findings: ItemFindings,
  ): PeerPage['items'][number] {
    const metadata = parseLossless(row.row, () => findings.add('numbers', 'changed', LARGE_INTEGERS)) as PeerObject;
    const text = takeText(metadata, textField);
    noteMetadata(metadata, findings);
    const id = table.key.length === 1 ? idText(row.key[0], findings) : row.key.map(idPart).join('/');
    return { id, vector: row.vector === null ? null : (JSON.parse(row.vector) as number[]), metadata, text };
  }

  private async described(
    schema: string,
    table: string,
    columns: ColumnRow[],
    indexes: IndexRow[],
  ): Promise<PeerCollection> {
    const name = schema === 'public' ? table : `${schema}.${table}`;
    const unique = indexes.find(({ method }) => method === 'btree');
    const all = columns.map(({ column, type }): Column => ({ name: column, type }));
    const key = (unique?.columns ?? []).map((column) => all.find((own) => own.name === column)!);
    this.tables.set(name, { schema, name: table, columns: all, key });
    const findings: Finding[] = [];
    const vectors = columns
      .filter(({ base_type }) => VECTOR_TYPES.has(base_type))
      .map((column) => this.vector(column, indexes, findings));
    if (vectors.length > 1)
      findings.push({
        topic: 'named vectors',
        effect: 'check',
        detail: `a collection here has one vector per item: ${vectors.map((vector) => vector.name).join(', ')} go into a collection each, chosen by --vector`,
      });
    findings.push(...columnFindings(columns, key));
    const { count, misfit } = await this.count(schema, table);
    const obstacle =
      vectors.length === 0
        ? 'it has no dense vectors'
        : key.length === 0
          ? 'it has no primary key and no unique index over columns that are never null, so its rows have no ids'
          : misfit === null
            ? null
            : `the condition of --where does not fit it: ${misfit}`;
    return { name, vectors, count, description: null, obstacle, findings };
  }

  /** Rows that are meant; a condition may be about another table's columns. */
  private async count(schema: string, table: string): Promise<{ count: number | null; misfit: string | null }> {
    const all = `SELECT count(*)::text AS count FROM ${quoted(schema)}.${quoted(table)} t`;
    if (this.where === null) return { count: Number((await this.ask<{ count: string }>(all))[0].count), misfit: null };
    try {
      return {
        count: Number((await this.ask<{ count: string }>(`${all} WHERE (${this.where})`))[0].count),
        misfit: null,
      };
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      return { count: null, misfit: error.message };
    }
  }

  private vector({ column, type, base_type }: ColumnRow, indexes: IndexRow[], findings: Finding[]): PeerVector {
    const index = indexes.find(({ method, columns }) => method !== 'btree' && columns.includes(column));
    const [, metric, metricThere] = CLASS_METRICS.find(
      ([pattern]) => index !== undefined && pattern.test(index.classes[0]),
    ) ?? [null, 'cosine' as const, ''];
    if (metricThere === '')
      findings.push({
        topic: 'metric',
        effect: 'check',
        detail: `no index of "${column}" says the metric, so cosine is taken; --metric chooses another`,
      });
    else findings.push(metricFinding(column, metricThere, FORMS[metricThere] ?? metricThere));
    if (index !== undefined)
      findings.push({
        topic: 'index settings',
        effect: 'not needed',
        detail: `${index.method}${index.options === null ? '' : ` (${index.options.join(', ')})`}: Quiver calibrates its effort to RECALL_TARGET`,
      });
    if (base_type === 'halfvec')
      findings.push({
        topic: 'vector types',
        effect: 'changed',
        detail: `"${column}" (halfvec): its numbers are kept as float32`,
      });
    const dim = /\((\d+)\)/.exec(type);
    return { name: column, dim: dim === null ? null : Number(dim[1]), metric, metricThere: metricThere || 'unknown' };
  }

  /** Answers the rows; a connection that breaks is made again. */
  private async ask<Row>(text: string, values: string[] = []): Promise<Row[]> {
    const { patienceMs, signal, onWait } = this.options;
    const backoff = firstOrLater(patienceMs, this.hasAnswered);
    for (;;) {
      try {
        const rows = [...(await this.sql.unsafe(text, values))] as unknown as Row[];
        this.hasAnswered = true;
        return rows;
      } catch (error) {
        const { message, code = '' } = error as Error & { code?: string };
        const wait = PASSING.test(code) ? backoff.next(null) : null;
        if (wait === null)
          throw new PeerError(
            `PostgreSQL: ${message}${code === '' ? '' : ` (${code})`}`,
            REFUSED.has(code) ? 403 : null,
            { cause: error },
          );
        onWait?.(message, wait);
        await sleep(wait, undefined, { signal });
      }
    }
  }
}

function columnFindings(columns: ColumnRow[], key: Column[]): Finding[] {
  const findings: Finding[] = [
    {
      topic: 'schema',
      effect: 'not needed',
      detail: 'types, constraints and foreign keys of columns: metadata here are any JSON',
    },
  ];
  if (key.length > 1)
    findings.push({
      topic: 'ids',
      effect: 'changed',
      detail: `the key (${key.map(({ name }) => name).join(', ')}) becomes one id, its parts joined by "/"`,
    });
  for (const { column, type, base_type } of columns) {
    if (base_type === 'sparsevec')
      findings.push({
        topic: 'sparse vectors',
        effect: 'left out',
        detail: `"${column}"; hybrid search here makes its own from texts (BM25)`,
      });
    else if (base_type === 'tsvector')
      findings.push({
        topic: 'text',
        effect: 'kept as data',
        detail: `"${column}" (tsvector): as text; hybrid_search makes its own index of words`,
      });
    else if (/^(?:date|timestamp|time)/.test(base_type))
      findings.push({
        topic: 'field types',
        effect: 'kept as data',
        detail: `"${column}" (${type}): ISO strings, whose ranges compare as text`,
      });
    else if (base_type === 'numeric')
      findings.push({ topic: 'numbers', effect: 'changed', detail: `"${column}" (${type}): the nearest double` });
    else if (base_type === 'bytea')
      findings.push({
        topic: 'field types',
        effect: 'kept as data',
        detail: `"${column}" (bytea): hexadecimal text; metadata have at most 64 KiB`,
      });
    else if (/^(?:geometry|geography|point|box|polygon|circle)$/.test(base_type))
      findings.push({
        topic: 'geo',
        effect: 'kept as data',
        detail: `"${column}" (${type}): as text or JSON; there is no geometry to filter by`,
      });
    else if (/^(?:inet|cidr|interval|.*range|hstore|xml|bit|varbit)$/.test(base_type))
      findings.push({ topic: 'field types', effect: 'kept as data', detail: `"${column}" (${type}): as text` });
  }
  return findings;
}

/** So that no two keys make one id. */
function idPart(value: string): string {
  return value.replaceAll('%', '%25').replaceAll('/', '%2F');
}

function isVectorType(type: string): boolean {
  return /^(?:.*\.)?(?:vector|halfvec|sparsevec)(?:\(\d+\))?$/.test(type);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
