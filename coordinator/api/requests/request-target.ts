import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** A request target (RFC 9112, 3.2), split but neither decoded nor normalised: `..` and `%2F` are data here. */
export interface RequestTarget {
  /** Raw segments between the slashes of the path. */
  segments: string[];
  /** Raw query string, without the question mark. */
  query: string;
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;

export function parseTarget(url: string): RequestTarget {
  const local = url.startsWith('/') ? url : url.replace(ORIGIN, '');
  const hash = local.indexOf('#');
  const whole = hash < 0 ? local : local.slice(0, hash);
  const mark = whole.indexOf('?');
  const path = mark < 0 ? whole : whole.slice(0, mark);
  return { segments: (path === '' ? '/' : path).split('/').slice(1), query: mark < 0 ? '' : whole.slice(mark + 1) };
}

function decode(text: string, place: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new QuiverError('invalid_parameter', `${place} has malformed percent-encoding`);
  }
}

/** A path parameter's value. Errors: invalid_parameter. */
export function decodeSegment(segment: string, name: string): string {
  return decode(segment, `path parameter ${name}`);
}

/** The query string's parameters as own properties of an object without prototype. Errors: invalid_parameter. */
export function parseQuery(query: string): Record<string, string> {
  const parameters: Record<string, string> = Object.create(null);
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const plain = pair.replaceAll('+', ' ');
    const name = decode(equals < 0 ? plain : plain.slice(0, equals), 'the query string');
    if (name in parameters)
      throw new QuiverError('invalid_parameter', `query parameter ${name.slice(0, 80)} is given more than once`);
    parameters[name] = equals < 0 ? '' : decode(plain.slice(equals + 1), `query parameter ${name.slice(0, 80)}`);
  }
  return parameters;
}
