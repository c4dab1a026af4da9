/** What a field may hold: a number is a varint, a float32 is said to be one, a list repeats the field. */
export type FieldValue = number | string | Uint8Array | { float: number } | FieldValue[];

/**
 * One protobuf message from its fields: `[number, value]` in any order. Texts, bytes and messages (already encoded) are
 * length-delimited. Numbers are non-negative safe integers.
 */
export function protobufMessage(fields: [number, FieldValue][]): Uint8Array {
  return Buffer.concat(fields.flatMap(([number, value]) => encoded(number, value)));
}

function encoded(number: number, value: FieldValue): Uint8Array[] {
  if (Array.isArray(value)) return value.flatMap((one) => encoded(number, one));
  if (typeof value === 'number') return [varint(number * 8), varint(value)];
  if (typeof value === 'object' && 'float' in value) {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value.float);
    return [varint(number * 8 + 5), bytes];
  }
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return [varint(number * 8 + 2), varint(bytes.length), bytes];
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
