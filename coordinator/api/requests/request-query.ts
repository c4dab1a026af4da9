import { z } from 'zod';
import type { RequestWarnings } from './request-warnings';
import { parseQuery } from './request-target';
import { flagText } from '../fields/fields';
import { IgnoredFields, STRICT_FIELD } from '../fields/ignored-fields';
import { validate } from '../fields/issue';
import { requestFieldsOf, flatFields } from '../fields/request-fields';

/** The header that makes errors of doubts (RequestWarnings), as the field and the parameter `strict` do. */
export const STRICT_HEADER = 'x-strict';

const NO_FIELDS = flatFields([]);

/**
 * The checked parameters of a query string; `schema` null: there are none. Those that are not known are told. Errors:
 * invalid_parameter.
 */
export function queryOf(schema: z.ZodObject | null, text: string, warnings: RequestWarnings): unknown {
  const given = parseQuery(text);
  const ignored = new IgnoredFields();
  ignored.look(given, schema === null ? NO_FIELDS : (requestFieldsOf(schema) ?? NO_FIELDS));
  if (STRICT_FIELD in given && isStrict(given[STRICT_FIELD], STRICT_FIELD)) warnings.isStrict = true;
  ignored.reportTo(warnings);
  return schema === null ? {} : validate(schema, given, 'query');
}

/** What the text of a flag says; `name` is for the message. Errors: invalid_parameter. */
export function isStrict(text: unknown, name: string): boolean {
  return validate(z.object({ [name]: flagText }), { [name]: text }, 'query')[name];
}
