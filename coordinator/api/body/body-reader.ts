import type { z } from 'zod';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import type { BodyList, JsonBody } from '../endpoints/endpoint';
import { firstNonFinite, tooLong } from '../fields/fields';
import type { RequestWarnings } from '../requests/request-warnings';
import { IgnoredFields, STRICT_FIELD } from '../fields/ignored-fields';
import { validate, validateEachElement, validateElements } from '../fields/issue';
import { type RequestFields, requestFieldsOf } from '../fields/request-fields';
import { longIntegers, warnOfLongIntegers } from './long-integers';
import { recentOf, type RecentResults } from '../answers/recent-results';
import { TURN_MS, type Turns } from '../load/turns';
import {
  type BodyScan,
  type BodyScanner,
  type EncodedBody,
  flawError,
  type JudgedBody,
  type JudgedList,
  type ScanBounds,
} from './body-scanner';
import { ClientGone } from './client-gone';

/** A body up to this size is scanned on the JavaScript thread, in a fraction of a millisecond. */
const AT_ONCE_BYTES = 64 * 1024;
/**
 * JSON text up to this length, without vectors, is parsed at once: any plain search. Longer text, for example a filter
 * of hundreds of conditions, takes a millisecond or two to parse and check, and a hundred clients may send it in one
 * round of the event loop.
 */
const AT_ONCE_CHARACTERS = 8 * 1024;

/** What may say a time from now, which is another one the next time: in dates of filters and of boosts. */
const OF_NOW = /"now|\\u/;

/** A longer text around a vector is hardly ever the same again. */
const RECENT_CHARACTERS = 1024;

type Members = Record<string, unknown>;

/** The output for a body, and what stood for its vector in the text around that. */
interface RecentBody {
  output: unknown;
  mark: string;
  isStrict: boolean;
}

export interface ReadOptions {
  /** Whether the body's client has disconnected; then the work ends. */
  isGone: () => boolean;
  /** Get what was ignored, and whether the body asks to be strict. */
  warnings: RequestWarnings;
}

/**
 * Makes an endpoint's checked input from the bytes of a JSON body. First it scans the whole body; only if that finds no
 * flaw does it parse and check, in parts, between which others have their turn. So the limits bound memory and time on
 * the thread, whatever the bytes are, and a large valid body blocks nobody.
 */
export class BodyReader {
  private readonly scanner: BodyScanner;
  private readonly bounds: ScanBounds;
  private readonly turns: Turns;
  private readonly clock: Clock;
  /** What {@link requestFieldsOf} answers. */
  private readonly fields = new Map<z.ZodType, RequestFields | null>();
  private readonly recent = new Map<JsonBody, RecentResults<RecentBody>>();

  constructor(options: { scanner: BodyScanner; bounds: ScanBounds; turns: Turns; clock: Clock }) {
    this.scanner = options.scanner;
    this.bounds = options.bounds;
    this.turns = options.turns;
    this.clock = options.clock;
  }

  /**
   * The output of `expected.schema` for the body; at once if it is one that differs from a recent one in nothing but
   * its vector. Errors: schema_violation, limit_exceeded and what the schema reports; ClientGone.
   */
  read(body: Buffer, expected: JsonBody, options: ReadOptions): unknown {
    const list = expected.list ?? null;
    if (body.length > AT_ONCE_BYTES) return this.readAside(body, expected, options);
    const scan = this.scanner.scan(body, list);
    if (scan.flaw === undefined && expected.withVector !== undefined) {
      const recent = this.recent.get(expected)?.get(scan.root);
      const vector = recent === undefined ? undefined : scan.vector(recent.mark);
      if (vector instanceof Float32Array && firstNonFinite(vector) < 0) {
        if (recent!.isStrict) options.warnings.isStrict = true;
        return expected.withVector(recent!.output, vector);
      }
    }
    return this.scanned(scan, body, expected, options);
  }

  private async readAside(body: Buffer, expected: JsonBody, options: ReadOptions): Promise<unknown> {
    const { list = null } = expected;
    const encoded =
      list?.encodes === undefined ? null : await this.scanner.encodeAside(body, list, list.encodes, options.isGone);
    if (list !== null && encoded !== null) return this.encoded(encoded, list.name, expected, options);
    return this.scanned(await this.scanner.scanAside(body, list, options.isGone), body, expected, options);
  }

  /** The output for a body whose list is encoded, in the same steps as in {@link scanned}. */
  private async encoded(
    { root: text, upserts }: EncodedBody,
    name: string,
    expected: JsonBody,
    { isGone, warnings }: ReadOptions,
  ): Promise<unknown> {
    try {
      if (text.length > AT_ONCE_CHARACTERS) await this.turn(isGone);
      const root = JSON.parse(text) as Members;
      this.lookAt(root, expected.schema, warnings).reportTo(warnings);
      warnOfLongIntegers(longIntegers(text), warnings);
      await this.turn(isGone);
      root[name] = [];
      const output = validate(expected.schema, root, 'body') as Members;
      output[name] = upserts;
      return output;
    } catch (error) {
      upserts.done();
      throw error;
    }
  }

  private async scanned(scan: BodyScan, body: Buffer, expected: JsonBody, options: ReadOptions): Promise<unknown> {
    const { isGone, warnings } = options;
    const list = expected.list ?? null;
    if (scan.flaw !== undefined) throw flawError(scan, body, list, this.bounds);
    if (scan.root.length > AT_ONCE_CHARACTERS) await this.turn(isGone);
    const root = JSON.parse(scan.root) as unknown;
    const mark = expected.withVector === undefined || !isObject(root) ? undefined : root.vector;
    takeVector(root, scan);
    const ignored = this.lookAt(root, expected.schema, warnings);
    if (scan.hasLongIntegers) warnOfLongIntegers(longIntegers(scan.root), warnings);
    if (list === null || !isObject(root)) {
      ignored.reportTo(warnings);
      const output = validate(expected.schema, root, 'body');
      if (
        typeof mark === 'string' &&
        warnings.list.length === 0 &&
        !OF_NOW.test(scan.root) &&
        isObject(root) &&
        root.vector instanceof Float32Array
      )
        this.remember(expected, scan, { mark, output, isStrict: warnings.isStrict });
      return output;
    }
    const judged = Object.hasOwn(root, list.name) && root[list.name] === scan.listMark ? scan.list : null;
    if (judged === null) {
      // Not an array, or its name is written with escapes. Then the scanner has treated it as a part of the root.
      const given = Object.hasOwn(root, list.name) ? root[list.name] : undefined;
      if (Array.isArray(given)) for (const element of given) takeVector(element, scan);
      ignored.reportTo(warnings);
      return validate(expected.schema, root, 'body');
    }
    if (judged.length > list.lengthMax)
      throw new QuiverError(list.excess ?? 'limit_exceeded', `${list.name} ${tooLong(judged.length, list)}`);
    if (body.length > AT_ONCE_CHARACTERS) await this.turn(isGone);
    root[list.name] = [];
    const output = validate(expected.schema, root, 'body') as Members;
    const check = list.keepsRefused?.(output) === true ? validateEachElement : validateElements;
    try {
      output[list.name] = await this.elements(judged, { list, check, ignored }, scan, options);
    } finally {
      ignored.reportTo(warnings);
    }
    return output;
  }

  /** The list's elements, parsed and checked in parts. */
  private async elements(
    judged: JudgedList,
    { list, check, ignored }: { list: BodyList; check: typeof validateEachElement; ignored: IgnoredFields },
    scan: JudgedBody,
    { isGone, warnings }: ReadOptions,
  ): Promise<unknown[]> {
    const outputs: unknown[] = [];
    let startedMs = this.clock.monotonicMs();
    for (let i = 0; i < judged.partCount; i++) {
      if (i > 0 && this.clock.monotonicMs() - startedMs > TURN_MS) {
        await this.turn(isGone);
        startedMs = this.clock.monotonicMs();
      }
      const text = judged.part(i);
      const elements = JSON.parse(text) as unknown[];
      for (const element of elements) takeVector(element, scan);
      if (scan.hasLongIntegers) warnOfLongIntegers(longIntegers(text, list.name, outputs.length), warnings);
      const common = commonOutputs(elements, list);
      // What is common has no other fields.
      if (common === null) this.lookAtElements(elements, list, outputs.length, ignored);
      for (const output of common ?? check(list.elements, elements, { list: list.name, first: outputs.length }))
        outputs.push(output);
    }
    return outputs;
  }

  /** Remembers the output for a body whose only vector is its own. */
  private remember(expected: JsonBody, scan: JudgedBody, body: RecentBody): void {
    if (scan.root.length > RECENT_CHARACTERS || scan.root.split(scan.listMark).length !== 2) return;
    recentOf(this.recent, expected).put(scan.root, body);
  }

  /** Notes the fields of a body that are not known, and whether it asks to be strict. Errors: schema_violation. */
  private lookAt(root: unknown, schema: z.ZodType, warnings: RequestWarnings): IgnoredFields {
    const ignored = new IgnoredFields();
    if (!isObject(root)) return ignored;
    const known = this.known(schema);
    if (known === null) return ignored;
    ignored.look(root, known);
    if (!Object.hasOwn(root, STRICT_FIELD) || known.names.has(STRICT_FIELD)) return ignored;
    const { strict } = root;
    if (typeof strict !== 'boolean' && strict !== null)
      throw new QuiverError('schema_violation', 'strict must be true or false');
    if (strict === true) warnings.isStrict = true;
    return ignored;
  }

  private lookAtElements(
    elements: readonly unknown[],
    { name, elements: schema }: BodyList,
    first: number,
    ignored: IgnoredFields,
  ): void {
    const known = this.known(schema.element);
    if (known !== null) ignored.lookAtEach(elements, known, { within: null, name, index: first });
  }

  private known(schema: z.ZodType): RequestFields | null {
    let fields = this.fields.get(schema);
    if (fields === undefined) this.fields.set(schema, (fields = requestFieldsOf(schema)));
    return fields;
  }

  private async turn(isGone: () => boolean): Promise<void> {
    await this.turns.next();
    if (isGone()) throw new ClientGone();
  }
}

/** Of a part, the outputs of elements that all hold what nearly all hold; null: the schema has to judge them. */
function commonOutputs(elements: unknown[], { common }: BodyList): unknown[] | null {
  if (common === undefined) return null;
  const outputs: unknown[] = [];
  for (const element of elements) {
    const output = common(element);
    if (output === undefined) return null;
    outputs.push(output);
  }
  return outputs;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Puts the vector into its member. Only an own member counts: `__proto__` is data like any other. */
function takeVector(owner: unknown, scan: JudgedBody): void {
  if (isObject(owner) && Object.hasOwn(owner, 'vector')) owner.vector = scan.vector(owner.vector);
}
