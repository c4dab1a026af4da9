import { type Endpoint, METHODS } from './endpoint';

interface Pattern {
  endpoint: Endpoint;
  /** A literal segment, or null for a parameter. */
  literals: (string | null)[];
  parameters: { name: string; index: number }[];
}

/** An endpoint, and the positions of its parameters among the raw segments of the path. */
export interface EndpointMatch {
  endpoint: Endpoint;
  parameters: readonly { name: string; index: number }[];
}

/**
 * Finds the endpoint of a method and raw path segments. Case-sensitive; a path with a trailing slash is another path.
 */
export class EndpointMatcher {
  /** By method and number of segments. Within each list, literals come before parameters. */
  private readonly patterns = new Map<string, Pattern[]>();

  constructor(endpoints: readonly Endpoint[]) {
    for (const endpoint of endpoints) {
      const segments = endpoint.template.split('/').slice(1);
      const literals = segments.map((segment) => (segment.startsWith('{') ? null : segment));
      const parameters = segments.flatMap((segment, index) =>
        segment.startsWith('{') ? [{ name: segment.slice(1, -1), index }] : [],
      );
      const key = `${endpoint.method} ${segments.length}`;
      const sameLength = this.patterns.get(key) ?? [];
      sameLength.push({ endpoint, literals, parameters });
      sameLength.sort((a, b) => a.parameters.length - b.parameters.length);
      this.patterns.set(key, sameLength);
    }
  }

  /** The methods of a path. */
  methodsAt(segments: readonly string[]): string[] {
    const found = this.ofLength(segments.length).filter(({ literals }) => fits(literals, segments));
    return METHODS.filter((method) => found.some(({ endpoint }) => endpoint.method === method));
  }

  /** What may stand at `index` of a path whose other segments are these. */
  namesAt(segments: readonly string[], index: number): string[] {
    const names = new Set<string>();
    for (const { literals } of this.ofLength(segments.length)) {
      const name = literals[index];
      if (name !== null && fits(literals, segments.with(index, name))) names.add(name);
    }
    return [...names];
  }

  private ofLength(length: number): Pattern[] {
    return [...this.patterns].flatMap(([key, patterns]) => (key.endsWith(` ${length}`) ? patterns : []));
  }

  match(method: string, segments: readonly string[]): EndpointMatch | null {
    for (const pattern of this.patterns.get(`${method} ${segments.length}`) ?? []) {
      if (fits(pattern.literals, segments)) return pattern;
    }
    return null;
  }
}

function fits(literals: readonly (string | null)[], segments: readonly string[]): boolean {
  for (let i = 0; i < literals.length; i++) {
    if (literals[i] === null ? segments[i] === '' : literals[i] !== segments[i]) return false;
  }
  return true;
}
