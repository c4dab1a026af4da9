import {
  FIELD_OPERATORS,
  type FieldOperator,
  type FieldOperatorName,
  type OperandKind,
  OPERATOR_ROWS,
} from '../../shared/contract/filter/filter-operators';

/** Conditions on metadata, as a person builds them, and the API's filters that they make. */

export type Operator = FieldOperatorName | '$text';

/** Those that the form has, and what stands between a field and a value. */
export const OPERATORS: ReadonlyMap<string, string> = new Map(
  [
    ...OPERATOR_ROWS.map(([operator, { shown }]) => [operator, shown] as const),
    ['$text', 'has the words'] as const,
  ].flatMap(([operator, shown]): [string, string][] => (shown === undefined ? [] : [[operator, shown]])),
);

/** What is typed behind an operator. */
export function operandOf(operator: Operator): OperandKind {
  return operator === '$text' ? 'text' : (FIELD_OPERATORS[operator] as FieldOperator).takes;
}

export interface Condition {
  /** Empty: all that has keywords. Of `$text` alone. */
  field: string;
  operator: Operator;
  value: unknown;
}

/** The value that a person typed: JSON where it is a number, a truth value or null; else the text as it stands. */
export function valueFromText(text: string): unknown {
  const trimmed = text.trim();
  if (/^(?:true|false|null)$/.test(trimmed)) return JSON.parse(trimmed) as unknown;
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^".*"$/s.test(trimmed)) {
    try {
      return JSON.parse(trimmed) as unknown;
    } catch {
      return text;
    }
  }
  return text;
}

export function conditionFromText(field: string, operator: Operator, text: string): Condition {
  const takes = operandOf(operator);
  if (takes === 'flag') return { field, operator, value: text.trim() !== 'false' };
  if (takes === 'values') return { field, operator, value: text.split(',').map((part) => valueFromText(part.trim())) };
  // What is searched in texts is a text, also where it looks like a number.
  return { field, operator, value: takes === 'text' ? text : valueFromText(text) };
}

/** A body's `filters`; undefined without conditions. All of them must hold. */
export function filtersOf(conditions: Condition[]): Record<string, unknown> | undefined {
  if (conditions.length === 0) return undefined;
  return { $and: conditions.map(filterOf) };
}

/** The filter of one condition. */
export function filterOf({ field, operator, value }: Condition): Record<string, unknown> {
  if (operator !== '$text') return { [field]: { [operator]: value } };
  return { $text: { query: value, match: 'all', ...(field !== '' && { fields: [field] }) } };
}

export function withCondition(conditions: Condition[], added: Condition): Condition[] {
  const isSame = (one: Condition): boolean => JSON.stringify(one) === JSON.stringify(added);
  return conditions.some(isSame) ? conditions : [...conditions, added];
}

/** Whether a value of a field is chosen: by itself, or as one of several. */
export function isChosen(conditions: Condition[], field: string, value: unknown): boolean {
  return conditions.some((one) => one.field === field && chosenValues(one).includes(value));
}

/** Takes a value of a field away where it is chosen, else chooses it; several of one field are alternatives. */
export function toggled(conditions: Condition[], field: string, value: unknown): Condition[] {
  const isOurs = (one: Condition): boolean => one.field === field && (one.operator === '$eq' || one.operator === '$in');
  if (isChosen(conditions, field, value))
    return conditions.flatMap((one) => {
      const chosen = chosenValues(one);
      if (one.field !== field || !chosen.includes(value)) return [one];
      return ofValues(
        field,
        chosen.filter((other) => other !== value),
      );
    });
  const ours = conditions.find(isOurs);
  if (ours === undefined) return [...conditions, { field, operator: '$eq', value }];
  return conditions.flatMap((one) => (one === ours ? ofValues(field, [...chosenValues(one), value]) : [one]));
}

function chosenValues({ operator, value }: Condition): unknown[] {
  if (operator === '$eq') return [value];
  return operator === '$in' && Array.isArray(value) ? (value as unknown[]) : [];
}

function ofValues(field: string, values: unknown[]): Condition[] {
  if (values.length === 0) return [];
  return [
    values.length === 1 ? { field, operator: '$eq', value: values[0] } : { field, operator: '$in', value: values },
  ];
}

/** A condition in one line, with its field. */
export function conditionLine(condition: Condition): string {
  return `${condition.field} ${conditionText(condition)}`.trim();
}

export function conditionText({ operator, value }: Condition): string {
  const said = OPERATORS.get(operator) ?? operator;
  if (operator !== '$text' && operandOf(operator) === 'flag')
    return value === false ? ((FIELD_OPERATORS[operator] as FieldOperator).shownFalse ?? `not ${said}`) : said;
  const shown = Array.isArray(value)
    ? value.map(String).join(', ')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
  return `${said} ${shown}`;
}

/** For the address: what `conditionsFromParameter` reads. Empty for none. */
export function parameterOf(conditions: Condition[]): string {
  return conditions.length === 0
    ? ''
    : JSON.stringify(conditions.map(({ field, operator, value }) => [field, operator, value]));
}

/** Nothing of a text that somebody changed by hand. */
export function conditionsFromParameter(text: string | null): Condition[] {
  try {
    const rows = JSON.parse(text ?? '[]') as unknown;
    if (!Array.isArray(rows)) return [];
    return rows.flatMap((row: unknown) => {
      if (!Array.isArray(row) || typeof row[0] !== 'string' || !OPERATORS.has(String(row[1]))) return [];
      return [{ field: row[0], operator: row[1] as Operator, value: row[2] as unknown }];
    });
  } catch {
    return [];
  }
}

/** Whether a value can be clicked into a condition: scalars, and the elements of arrays. */
export function isFilterable(value: unknown): boolean {
  return (
    value === null ||
    typeof value === 'boolean' ||
    typeof value === 'number' ||
    (typeof value === 'string' && value.length <= 200)
  );
}
