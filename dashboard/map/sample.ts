import { call, path } from '../api/client';
import type { Collection, Metadata } from '../api/shapes';
import { type Condition, filtersOf } from '../filters/filter-model';

export interface SampledItem {
  external_id: string;
  metadata: Metadata;
}

/** A uniform sample of a collection with places in the plane, or in a few dimensions, by principal components. */
export interface Sample {
  items: SampledItem[];
  /** Items that match, of which the sample is. */
  population: number;
  dimensions: number;
  /** Row by row, in the order of the items. */
  coordinates: Float32Array;
  /** Share of the variance that the axes hold together. */
  explained: number;
}

/** The same for every map of a collection, so that UMAP sees the points that are there. */
const SEED = 1;
/** Projecting 50,000 long vectors takes a small machine some seconds. */
const SAMPLE_DEADLINE_MS = 120_000;

export interface SampleRequest {
  size: number;
  dimensions: number;
  fields: string[];
  conditions: Condition[];
}

export async function fetchSample(collection: Collection, request: SampleRequest, stop: AbortSignal): Promise<Sample> {
  const filters = filtersOf(request.conditions);
  const body = {
    size: request.size,
    seed: SEED,
    metadata_fields: request.fields,
    include_vectors: false,
    projection: { method: 'pca' as const, dimensions: Math.min(request.dimensions, collection.dim) },
    ...(filters === undefined ? {} : { filters }),
  };
  const { population, items, projection } = await call<'post_collections_name_sample'>(
    'POST',
    path('/v1/collections/', collection.name, '/sample'),
    { body, signal: stop, deadlineMs: SAMPLE_DEADLINE_MS },
  );
  if (projection === undefined) throw new Error('The sample came without a projection.');
  return {
    items,
    population,
    dimensions: projection.dimensions,
    // What is always base64 has the client's type, and is text here.
    coordinates: floatsFromBase64(projection.data as unknown as string),
    explained: projection.explained_variance.reduce((sum, share) => sum + share, 0),
  };
}

/** Items looked at to find out what fields there are, and how long a value may be that says something as a colour. */
const LOOKED_AT = 100;
const VALUE_CHARACTERS_MAX = 60;
/** What a sample brings along of each item's metadata. */
const FIELDS_MAX = 8;

/** Metadata fields that may colour a map, what tells most first: a few values that repeat, then numbers. */
export async function fetchFields(collection: Collection, stop: AbortSignal): Promise<string[]> {
  const { vectors } = await call<'post_collections_name_scroll'>(
    'POST',
    path('/v1/collections/', collection.name, '/scroll'),
    { body: { limit: LOOKED_AT, include_vectors: false }, signal: stop },
  );
  const values = new Map<string, unknown[]>();
  for (const { metadata } of vectors) {
    for (const [field, value] of Object.entries(metadata)) {
      const isShort =
        typeof value === 'number' ||
        typeof value === 'boolean' ||
        (typeof value === 'string' && value.length <= VALUE_CHARACTERS_MAX);
      if (isShort) values.set(field, [...(values.get(field) ?? []), value]);
    }
  }
  const weight = (all: unknown[]): number => {
    const distinct = new Set(all).size;
    if (distinct === 1) return 0;
    if (typeof all[0] !== 'number' && distinct <= Math.max(2, all.length / 2)) return 3;
    return typeof all[0] === 'number' ? 2 : 1;
  };
  return [...values]
    .sort(([, a], [, b]) => weight(b) - weight(a) || b.length - a.length)
    .slice(0, FIELDS_MAX)
    .map(([field]) => field);
}

/** Little-endian float32 values. Browsers run on machines of that order. */
export function floatsFromBase64(text: string): Float32Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}
