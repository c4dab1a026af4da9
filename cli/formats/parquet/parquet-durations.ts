import type { Field, Schema } from 'apache-arrow';
import type { FileMetaData, SchemaElement, SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };
import { loadArrow } from '../arrow/arrow';
import { ARROW_TIME_UNITS } from '../arrow/arrow-values';
import type { TimeUnitName } from '../table-values';

/** The note in which writers of Arrow tables keep what their columns were. */
const NOTE = 'ARROW:schema';
/** In front of a message: a mark, which early writers left out, and its length. */
const MARK = 0xffff_ffff;

const durations = new WeakMap<SchemaElement, TimeUnitName>();

/** The unit of a column of lengths of time; undefined: it is none. */
export function durationUnitOf(element: SchemaElement): TimeUnitName | undefined {
  return durations.get(element);
}

/**
 * Finds columns of lengths of time: Parquet has only numbers for them, and what they are is in a note of the writer. A
 * note that can't be read says nothing.
 */
export async function noteDurations({ key_value_metadata: notes = [] }: FileMetaData, root: SchemaTree): Promise<void> {
  const note = notes.find(({ key }) => key === NOTE)?.value;
  if (note === undefined || !hasPlainIntegers(root)) return;
  try {
    const bytes = Buffer.from(note, 'base64');
    const { Message, DataType } = await loadArrow();
    const message = Message.decode(bytes.subarray(bytes.readUInt32LE(0) === MARK ? 8 : 4));
    if (!message.isSchema()) return;
    const { fields } = message.header() as unknown as Schema;
    for (const column of root.children) look(column, fieldNamed(fields, column), DataType);
  } catch {
    // What the numbers are is not known then.
  }
}

type Kinds = (typeof import('apache-arrow'))['DataType'];

function look({ element, children }: SchemaTree, field: Field | undefined, kinds: Kinds): void {
  if (field === undefined) return;
  const { type } = field;
  if (kinds.isDuration(type)) {
    if (isPlainInteger({ element, children })) durations.set(element, ARROW_TIME_UNITS[type.unit]);
  } else if (kinds.isStruct(type)) {
    for (const child of children) look(child, fieldNamed(type.children, child), kinds);
  } else if (kinds.isList(type) || kinds.isLargeList(type) || kinds.isFixedSizeList(type)) {
    const inner = children[0]?.children[0];
    if (inner !== undefined) look(inner, type.children[0] as Field, kinds);
  }
}

function fieldNamed(fields: readonly Field[], { element }: SchemaTree): Field | undefined {
  return fields.find(({ name }) => name === element.name);
}

function hasPlainIntegers(node: SchemaTree): boolean {
  return isPlainInteger(node) || node.children.some(hasPlainIntegers);
}

function isPlainInteger({ element, children }: Pick<SchemaTree, 'element' | 'children'>): boolean {
  const { type, converted_type: converted, logical_type: logical } = element;
  return children.length === 0 && type === 'INT64' && converted === undefined && logical === undefined;
}
