import { z } from 'zod';

export type JsonSchema = Record<string, unknown>;

const DEFINITION = '#/$defs/';
const COMPONENT = '#/components/schemas/';

/**
 * Schemas in the form of OpenAPI 3.1 (JSON Schema 2020-12). Schemas with an id become components, collected here; the
 * others are inlined.
 */
export class SchemaCollector {
  readonly components: Record<string, JsonSchema> = {};

  /** What a client may send (`input`) or will get (`output`). */
  schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const converted = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as JsonSchema;
    const {
      $schema: _dialect,
      $defs: definitions,
      ...root
    } = JSON.parse(JSON.stringify(converted).replaceAll(DEFINITION, COMPONENT)) as JsonSchema;
    for (const [id, definition] of Object.entries((definitions ?? {}) as Record<string, JsonSchema>))
      this.add(id, definition);
    // A schema with an id comes as a reference to its own definition, which is among the others.
    return open(root);
  }

  private add(id: string, schema: JsonSchema): void {
    const { id: _id, ...rest } = schema;
    this.components[id] = open(rest) as JsonSchema;
  }
}

/** Bounds that only say that a number is an integer. */
const NO_BOUNDS: readonly unknown[] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

/**
 * Removes what means nothing to a reader, and leaves objects open: answers may gain fields, which a client must accept.
 */
function open<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(open) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key, value]) => {
    if (key === 'additionalProperties') return value !== false;
    return !(key === 'minimum' || key === 'maximum') || !NO_BOUNDS.includes(value);
  });
  return Object.fromEntries(entries.map(([key, value]) => [key, open(value)])) as T;
}
