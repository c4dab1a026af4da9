import type { Finding, ItemFindings } from './finding';
import type { PeerJson, PeerObject, MetricHere } from './peer-source';

/** Peers' names of metrics, in small letters. Squared or negative forms rank alike. */
const METRIC_NAMES: Record<string, MetricHere> = {
  cosine: 'cosine',
  cosinesimil: 'cosine',
  euclid: 'l2',
  l2: 'l2',
  'l2-squared': 'l2',
  l2_norm: 'l2',
  dot: 'ip',
  dot_product: 'ip',
  ip: 'ip',
  innerproduct: 'ip',
  inner_product: 'ip',
  max_inner_product: 'ip',
};

/** The metric that ranks alike, null where Quiver has none. */
export function metricOf(name: string): MetricHere | null {
  return Object.hasOwn(METRIC_NAMES, name.toLowerCase()) ? METRIC_NAMES[name.toLowerCase()] : null;
}

/** What is to be said of a metric: that there is none, or that scores have another form. */
export function metricFinding(vector: string, metricThere: string, formThere: string): Finding {
  const of = vector === '' ? '' : ` of vector "${vector}"`;
  const metric = metricOf(metricThere);
  if (metric === null)
    return {
      topic: 'metric',
      effect: 'check',
      detail: `the metric ${metricThere}${of} has no counterpart; --metric cosine, l2 or ip chooses one`,
    };
  const formHere = { cosine: 'the cosine', l2: '1 / (1 + Euclidean distance)', ip: 'the dot product' }[metric];
  return {
    topic: 'metric',
    effect: 'changed',
    detail: `${metricThere}${of}${metricThere === metric ? '' : ` becomes ${metric}`}; scores here are ${formHere}, higher is better; there: ${formThere}`,
  };
}

const DIGITS = /^-?\d+$/;

/** An id as a string. Numbers and UUIDs become their usual text. */
export function idText(id: unknown, findings: ItemFindings): string {
  if (typeof id === 'number' || (typeof id === 'string' && DIGITS.test(id))) {
    findings.add('ids', 'changed', 'numbers became strings of their digits');
    return String(id);
  }
  return String(id);
}

/**
 * Counts what metadata hold that does less here than there. The metadata stay as they are: nulls are stored as null,
 * coordinates as objects.
 */
export function noteMetadata(metadata: PeerObject, findings: ItemFindings): void {
  let hasNull = false;
  let hasGeo = false;
  const walk = (value: PeerJson): void => {
    if (value === null) hasNull = true;
    else if (Array.isArray(value)) value.forEach(walk);
    else if (typeof value === 'object') {
      hasGeo ||= isPoint(value);
      Object.values(value).forEach(walk);
    }
  };
  walk(metadata);
  if (hasNull)
    findings.add(
      'nulls',
      'kept as data',
      'null is kept as null: a filter finds it by null, and $exists counts it as there',
    );
  if (hasGeo)
    findings.add(
      'geo',
      'kept as data',
      'coordinates are kept as objects of two numbers: filter by ranges of each; there is no radius or polygon',
    );
}

function isPoint(value: PeerObject): boolean {
  const has = (key: string): boolean => typeof value[key] === 'number';
  return (has('lat') && (has('lon') || has('lng'))) || (has('latitude') && has('longitude'));
}

/**
 * Takes the text out of the metadata, by a key or, where no key of that name is there, a dotted path; null: there is
 * none.
 */
export function takeText(metadata: PeerObject, field: string | null): string | null {
  if (field === null) return null;
  const parts = Object.hasOwn(metadata, field) ? [field] : field.split('.');
  let holder: PeerJson | undefined = metadata;
  for (const part of parts.slice(0, -1))
    holder = isObject(holder) && Object.hasOwn(holder, part) ? holder[part] : undefined;
  const last = parts.at(-1)!;
  if (!isObject(holder) || !Object.hasOwn(holder, last) || typeof holder[last] !== 'string') return null;
  const text = holder[last];
  delete holder[last];
  return text;
}

export function isObject(value: unknown): value is PeerObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
