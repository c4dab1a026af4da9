import { z } from 'zod';

/** The fields that an object of a request may have, and those of the objects within it. */
export interface RequestFields {
  readonly names: ReadonlySet<string>;
  /** By the field that is an object or a list of objects; those that take any fields are left out. */
  readonly inner: ReadonlyMap<string, RequestFields>;
}

/** Fields that hold no objects. */
export function flatFields(names: Iterable<string>): RequestFields {
  return { names: new Set(names), inner: new Map() };
}

/**
 * The fields that a schema of an object knows, whatever is done with the object behind it; null: it takes any, or is of
 * no object.
 */
export function requestFieldsOf(schema: z.ZodType): RequestFields | null {
  if (schema instanceof z.ZodPipe)
    return requestFieldsOf(schema.in as z.ZodType) ?? requestFieldsOf(schema.out as z.ZodType);
  if (!(schema instanceof z.ZodObject) || schema.def.catchall !== undefined) return null;
  const shape = Object.entries(schema.shape as Record<string, z.ZodType>);
  const inner = shape.flatMap(([name, field]) => {
    const known = innerFieldsOf(field);
    return known === null ? [] : [[name, known] as const];
  });
  return { names: new Set(shape.map(([name]) => name)), inner: new Map(inner) };
}

/** Those of the object that a field is, or of each of its list. */
function innerFieldsOf(field: z.ZodType): RequestFields | null {
  const schema = bare(field);
  if (schema instanceof z.ZodArray) return innerFieldsOf(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodUnion)) return requestFieldsOf(schema);
  const found = schema.options.flatMap((option) => innerFieldsOf(option as z.ZodType) ?? []);
  return found.length === 1 ? found[0] : null;
}

/** A field's schema without what lets it be absent or null, and without what is done behind it. */
function bare(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return bare(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodPipe
    ? bare((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType)
    : schema;
}
