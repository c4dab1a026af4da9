/** Terms of a shard that begin with a term, or are at most so many edits (1 or 2) from it, a page at a time. */
export interface ExpansionRequest {
  term: string;
  by: 'prefix' | 1 | 2;
  /** Terms behind this one by code units; '': from the beginning. */
  after: string;
  limit: number;
}

/** In ascending order; as many as the limit: there may be more. */
export interface Expansions {
  terms: string[];
  /** Live items that have each; 0 of one that has just gone. */
  frequencies: number[];
}

/** As text, for messages between members. */
export function expansionRequestToText(request: ExpansionRequest): string {
  return JSON.stringify(request);
}

/** What {@link expansionRequestToText} wrote; null: it is no request. */
export function expansionRequestFromText(text: string): ExpansionRequest | null {
  const { term, by, after, limit } = parsed(text);
  const isRight =
    typeof term === 'string' &&
    (by === 'prefix' || by === 1 || by === 2) &&
    typeof after === 'string' &&
    Number.isSafeInteger(limit) &&
    (limit as number) > 0;
  return isRight ? { term, by, after, limit: limit as number } : null;
}

export function expansionsToText(found: Expansions): string {
  return JSON.stringify(found);
}

/** What {@link expansionsToText} wrote; null: it is none. */
export function expansionsFromText(text: string): Expansions | null {
  const { terms, frequencies } = parsed(text);
  const isRight =
    Array.isArray(terms) &&
    Array.isArray(frequencies) &&
    terms.length === frequencies.length &&
    terms.every((term) => typeof term === 'string') &&
    frequencies.every((frequency) => Number.isSafeInteger(frequency) && frequency >= 0);
  return isRight ? { terms, frequencies } : null;
}

function parsed(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
