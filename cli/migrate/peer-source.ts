import type { Finding, ItemFindings } from './finding';

/** The metrics that Quiver has. */
export const METRICS_HERE = ['cosine', 'l2', 'ip'] as const;
export type MetricHere = (typeof METRICS_HERE)[number];

export type PeerJson = null | boolean | number | string | PeerJson[] | { [key: string]: PeerJson };
export type PeerObject = { [key: string]: PeerJson };

/** Vectors of one name in a peer's collection. */
export interface PeerVector {
  /** As the peer calls it; '' where it has no name. */
  name: string;
  /** Null: not known before an item is read. */
  dim: number | null;
  /** Null: the peer's has no counterpart, or none is known. */
  metric: MetricHere | null;
  /** In the peer's words. */
  metricThere: string;
}

/** A collection, table, class or index of a peer that holds vectors. A tenant's part counts as a collection. */
export interface PeerCollection {
  name: string;
  /** Those that Quiver can hold; none: `findings` say why. */
  vectors: PeerVector[];
  /** Items, exact where the peer tells; null where it does not. */
  count: number | null;
  /** Goes into the description of the collection here. */
  description: string | null;
  /** Why it can't be read now; null: it can. */
  obstacle: string | null;
  findings: Finding[];
}

export interface PeerItem {
  /** As a string; see `idText`. */
  id: string;
  /** Null: it has none. As the peer answers it: what is no finite number in it is found by the reader. */
  vector: ArrayLike<number> | null;
  metadata: PeerObject;
  text: string | null;
}

/** Where reading goes on: a JSON value of the source's own, kept in checkpoints. */
export type Cursor = PeerJson;

export interface PageRequest {
  collection: PeerCollection;
  /** Name of one of the collection's vectors. */
  vector: string;
  /** Null: from the start. */
  cursor: Cursor | null;
  /** Items wanted at most. */
  limit: number;
  /** The field of the metadata that becomes the text; null: none, or the peer has a place of its own for texts. */
  textField: string | null;
  findings: ItemFindings;
}

export interface PeerPage {
  items: PeerItem[];
  /** Null: that was the last page. */
  next: Cursor | null;
}

/**
 * What is read from a running peer. Pages are read one after the other; a cursor stays valid when this process is gone,
 * so that another one can go on with it. Nothing is ever written to the peer. Fails with PeerError.
 */
export interface PeerSource {
  /** Product and version, as the peer says them. */
  version(): Promise<string>;
  /** All collections, by name. */
  collections(): Promise<PeerCollection[]>;
  page(request: PageRequest): Promise<PeerPage>;
  close(): Promise<void>;
}

/** How to reach a peer. */
export interface PeerAddress {
  /** Without user and password. */
  url: URL;
  /** An API key or token. */
  key: string | null;
  user: string | null;
  password: string | null;
  /** Chroma, Milvus: which database; null: the usual one. */
  database: string | null;
  /** Chroma: which tenant. Weaviate: the only tenant to read. */
  tenant: string | null;
  /** How long a call is tried when the peer does not answer. */
  patienceMs: number;
}
