import { CommandError, EXIT_CODES } from '../command-error';
import { PeerError, PeerHttp, basicAuthorization } from './peer-http';
import type { PeerAddress, PeerSource } from './peer-source';
import { ChromaSource } from './sources/chroma-source';
import { ElasticsearchSource } from './sources/elasticsearch-source';
import { MilvusSource } from './sources/milvus-source';
import { PgvectorSource } from './sources/pgvector-source';
import { QdrantSource } from './sources/qdrant-source';
import { WeaviateSource } from './sources/weaviate-source';

export const PEERS = ['qdrant', 'chroma', 'weaviate', 'milvus', 'pgvector', 'elasticsearch'] as const;
export type PeerName = (typeof PEERS)[number];

/** What Chroma has without anybody's doing. */
const CHROMA_TENANT = 'default_tenant';
const CHROMA_DATABASE = 'default_database';
/** Options that only some peers understand; to others they would do nothing, which is a mistake of the user. */
const UNDERSTOOD: Record<'database' | 'tenant' | 'where', PeerName[]> = {
  database: ['chroma', 'milvus', 'pgvector'],
  tenant: ['chroma', 'weaviate'],
  where: ['pgvector'],
};

export interface PeerChoice extends PeerAddress {
  peer: PeerName;
  /** A condition of SQL on rows. */
  where: string | null;
  signal: AbortSignal;
  onWait?: (reason: string, waitMs: number) => void;
}

/** Takes user and password out of an address. Fails with CommandError. */
export function peerAddress(text: string, peer: PeerName): { url: URL; user: string | null; password: string | null } {
  let url: URL;
  try {
    url = new URL(text);
  } catch (error) {
    throw new CommandError(`"${withoutUser(text)}" is not an address`, EXIT_CODES.usage, { cause: error });
  }
  const protocols = peer === 'pgvector' ? ['postgres:', 'postgresql:'] : ['http:', 'https:'];
  if (!protocols.includes(url.protocol))
    throw new CommandError(
      `the address of ${peer} must begin with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
      EXIT_CODES.usage,
    );
  const [user, password] = [url.username, url.password].map((part) => (part === '' ? null : decodeURIComponent(part)));
  url.username = '';
  url.password = '';
  return { url, user, password };
}

/** An address for messages: what stands before its host may be a password. */
function withoutUser(text: string): string {
  return text.replace(/[^/]*@/, '…@');
}

/** The source for a peer; nothing is asked of it yet. Fails with CommandError. */
export function openPeer(choice: PeerChoice): PeerSource {
  const source = sourceFor(choice);
  // An answer of another shape shows itself where a source takes it apart.
  const understood = async <Answer>(asked: Promise<Answer>): Promise<Answer> =>
    asked.catch((error: Error) => {
      throw error instanceof TypeError
        ? new PeerError(`an answer of ${choice.url.origin} is none of ${choice.peer}: ${error.message}`, null, {
            cause: error,
          })
        : error;
    });
  return {
    version: async () => understood(source.version()),
    collections: async () => understood(source.collections()),
    page: async (request) => understood(source.page(request)),
    close: async () => source.close(),
  };
}

function sourceFor(choice: PeerChoice): PeerSource {
  const { peer, url, key, user, password, database, tenant, where, patienceMs, signal, onWait } = choice;
  for (const option of ['database', 'tenant', 'where'] as const) {
    if (choice[option] !== null && !UNDERSTOOD[option].includes(peer))
      throw new CommandError(
        `--${option} means nothing to ${peer}, only to ${UNDERSTOOD[option].join(', ')}`,
        EXIT_CODES.usage,
      );
  }
  const http = (headers: Record<string, string>): PeerHttp =>
    new PeerHttp({ url, headers: { ...basicAuthorization(user, password), ...headers }, patienceMs, signal, onWait });
  const bearer: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  switch (peer) {
    case 'qdrant':
      return new QdrantSource(http(key === null ? {} : { 'api-key': key }));
    case 'chroma':
      return new ChromaSource(http(key === null ? {} : { 'x-chroma-token': key, ...(user === null ? bearer : {}) }), {
        tenant: tenant ?? CHROMA_TENANT,
        database: database ?? CHROMA_DATABASE,
      });
    case 'weaviate':
      return new WeaviateSource(http(bearer), tenant);
    case 'milvus':
      // Its token is a key, or "user:password". Without the other header, a server may be set to answer Int64 as text.
      return new MilvusSource(
        http({
          'accept-type-allow-int64': 'true',
          ...(user === null ? bearer : { authorization: `Bearer ${user}:${password ?? ''}` }),
        }),
        database,
      );
    case 'pgvector':
      return new PgvectorSource(choice, where, { patienceMs, signal, onWait });
    case 'elasticsearch':
      return new ElasticsearchSource(http(key === null ? {} : { authorization: `ApiKey ${key}` }));
  }
}
