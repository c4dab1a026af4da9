/** Pure: the parts of metadata that a caller named. */

/** JSON text of the members of `metadata`, JSON object text, whose keys are among `fields`; null: all of them. */
export function chosenMetadata(metadata: string, fields: readonly string[] | null): string {
  if (fields === null || metadata === NOTHING) return metadata;
  if (fields.length === 0) return NOTHING;
  const all = JSON.parse(metadata) as Record<string, unknown>;
  // A key such as __proto__ is a member like any other.
  const members = fields.filter((field) => Object.hasOwn(all, field)).map((field) => `${JSON.stringify(field)}:${JSON.stringify(all[field])}`);
  return `{${members.join(',')}}`;
}

const NOTHING = '{}';
