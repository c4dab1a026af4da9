/** What a shard knows of the fields of its items' metadata. */
export interface FieldFacts {
  /** Items in the shard. */
  items: number;
  /** Of each path that was asked for: whether some item has it. */
  present: boolean[];
  /** Of each path whose dates were asked for: how they are written (dateForm), as far as was looked. */
  forms: string[][];
  /** Paths that items have, the first of very many; none where all that was asked for is present. */
  names: string[];
}

/** The paths of filters, and those of them whose dates are compared. */
export interface FieldFactsRequest {
  paths: string[];
  dates: string[];
}

export function fieldFactsRequestToText(request: FieldFactsRequest): string {
  return JSON.stringify(request);
}

/** null for text that is none. */
export function fieldFactsRequestFromText(text: string): FieldFactsRequest | null {
  const request = parsed(text) as Partial<FieldFactsRequest> | null;
  return areTexts(request?.paths) && areTexts(request?.dates)
    ? { paths: request!.paths!, dates: request!.dates! }
    : null;
}

export function factsToText(facts: FieldFacts): string {
  return JSON.stringify(facts);
}

/** null for text that is none. */
export function factsFromText(text: string): FieldFacts | null {
  const facts = parsed(text) as Partial<FieldFacts> | null;
  if (facts === null || typeof facts.items !== 'number' || !areTexts(facts.names)) return null;
  const { items, present, forms, names } = facts;
  const isWhole =
    Array.isArray(present) &&
    present.every((one) => typeof one === 'boolean') &&
    Array.isArray(forms) &&
    forms.every(areTexts);
  return isWhole ? { items, present, forms, names: names! } : null;
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
