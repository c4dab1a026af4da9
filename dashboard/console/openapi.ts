/** An endpoint, as the console offers it. */
export interface Operation {
  method: string;
  path: string;
  summary: string;
  /** A body to begin with, as JSON; empty without one. */
  example: string;
  /** Names that its body may hold. */
  fields: BodyField[];
}

export interface BodyField {
  name: string;
  type: string;
  description: string;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
}
export interface ApiDocument {
  paths: Record<
    string,
    Record<
      string,
      { summary?: string; requestBody?: { content?: Record<string, { schema?: Schema; example?: unknown }> } }
    >
  >;
  components?: { schemas?: Record<string, Schema> };
}

/** How deep the bodies' objects are looked into: items of a list, and what they hold. */
const DEPTH_MAX = 4;

export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary = '', requestBody }]) => {
      const body = requestBody?.content?.['application/json'];
      return {
        method: method.toUpperCase(),
        path,
        summary,
        example: body?.example === undefined ? '' : JSON.stringify(body.example, null, 2),
        fields: body?.schema === undefined ? [] : fieldsOf(body.schema, document, 0),
      };
    }),
  );
}

function fieldsOf(schema: Schema, document: ApiDocument, depth: number): BodyField[] {
  if (depth > DEPTH_MAX) return [];
  const found =
    schema.$ref === undefined ? schema : (document.components?.schemas?.[schema.$ref.split('/').pop() ?? ''] ?? {});
  const own = Object.entries(found.properties ?? {}).map(([name, property]) => ({
    name,
    type: typeOf(property),
    description: property.description ?? '',
  }));
  const inner = [
    ...Object.values(found.properties ?? {}),
    ...(found.items === undefined ? [] : [found.items]),
    ...(found.oneOf ?? []),
    ...(found.anyOf ?? []),
  ];
  const all = [...own, ...inner.flatMap((one) => fieldsOf(one, document, depth + 1))];
  return [...new Map(all.map((field) => [field.name, field] as const).reverse()).values()].reverse();
}

function typeOf({ type, enum: choices, oneOf, anyOf }: Schema): string {
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(' | ');
  if (type !== undefined) return [type].flat().join(' | ');
  return (oneOf ?? anyOf ?? []).map(typeOf).filter(Boolean).join(' | ');
}
