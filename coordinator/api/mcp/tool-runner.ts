import assert from 'node:assert';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Caller } from '../../service/keys/caller';
import type { AnswerHold } from '../../service/answer-hold';
import { hitsPieces } from '../answers/answer-json';
import { mayReach, mustReach } from '../requests/authorisation';
import { type Answer, type Endpoint, type EndpointCall, NO_PROFILE } from '../endpoints/endpoint';
import {
  type HandlerOnce,
  handlerContext,
  IDEMPOTENCY_KEY_LENGTH_MAX,
  NOT_ONCE,
  RequestOnce,
} from '../requests/request-once';
import { JsonSchema, SchemaCollector } from '../openapi/json-schema';
import { RequestWarnings } from '../requests/request-warnings';
import { IgnoredFields, STRICT_FIELD } from '../fields/ignored-fields';
import { validate } from '../fields/issue';
import { type RequestFields, requestFieldsOf } from '../fields/request-fields';
import { IDEMPOTENCY_ARGUMENT, type McpTool } from './mcp-tools';

type Arguments = Record<string, unknown>;

/** With which a tool is done once. */
export type OnceParts = Pick<ConstructorParameters<typeof RequestOnce>[0], 'outcomes' | 'clock'>;

/** What a message came with. */
export type ToolCall = Pick<
  EndpointCall,
  'request' | 'warnings' | 'use' | 'resolve' | 'about' | 'becomes' | 'hold' | keyof HandlerOnce
> & { key: Caller };

/** Characters of a tool's answer: more than a model reads, and little to hold at once. */
const ANSWER_CHARACTERS_MAX = 1024 * 1024;

/** A text of more is counted while it grows. */
const COUNTED_CHARACTERS = 16 * 1024;
/** It becomes a string of a message, the message, and its bytes. */
const COPIES = 4;

/** Where a message has the arguments of a tool. */
const ARGUMENTS = /^params\.arguments\./;

const STRICT: JsonSchema = {
  type: 'boolean',
  description: 'Refuse arguments that are not known, and other likely mistakes, instead of warning of them.',
};

const IDEMPOTENCY_KEY: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
  description:
    'A call that is repeated with the same key and the same arguments within 24 hours is done once, and answered as the first time. A random UUID is a good one.',
};

/** Runs a tool as its endpoint would be called: the same roles, checks, limits and use case. */
export class ToolRunner {
  /** What the tool's caller may give, as JSON Schema. */
  readonly inputSchema: JsonSchema;
  private readonly endpoint: Endpoint;
  private readonly alternative: Endpoint | null;
  /** Members of the endpoint's body that the tool's caller may give, as JSON Schema. */
  private readonly fields: ReadonlyMap<string, JsonSchema>;
  /** Those that only the alternative has. */
  private readonly others: ReadonlySet<string>;
  private readonly known: RequestFields;

  constructor(
    readonly tool: McpTool,
    endpoints: readonly Endpoint[],
    private readonly onceParts: OnceParts,
  ) {
    const found = ({ method, template }: McpTool['endpoint']): Endpoint => {
      const endpoint = endpoints.find((one) => one.method === method && one.template === template);
      assert(endpoint !== undefined, `there is no ${method} ${template}`);
      return endpoint;
    };
    this.endpoint = found(tool.endpoint);
    this.alternative = tool.alternative === undefined ? null : found(tool.alternative.endpoint);
    const own = fieldsOf(tool, this.endpoint);
    const names = new Set(Object.values(tool.alternative?.names ?? {}));
    const others = [...(this.alternative === null ? [] : fieldsOf(tool, this.alternative))].filter(
      ([name]) => !own.has(name) && !names.has(name),
    );
    this.others = new Set(others.map(([name]) => name));
    this.fields = new Map([...own, ...others]);
    this.inputSchema = this.schema();
    const inner = [this.endpoint, this.alternative].flatMap((one) =>
      one?.body.type === 'json' ? [...(requestFieldsOf(one.body.schema)?.inner ?? [])] : [],
    );
    const given = new Set(Object.keys(this.inputSchema.properties as object));
    this.known = { names: given, inner: new Map(inner.filter(([name]) => given.has(name))) };
  }

  isFor(key: Caller): boolean {
    return mayReach(key, this.endpoint);
  }

  /**
   * JSON text of the endpoint's data, and warnings. Errors: as the endpoint; forbidden; limit_exceeded for an answer
   * that is too long.
   */
  async run(given: unknown, call: ToolCall): Promise<{ json: string; warnings: string[]; isReplayed: boolean }> {
    const { tool } = this;
    const owner = (given ?? {}) as Arguments;
    const isOther = [...this.others].some((name) => owner[name] !== undefined && owner[name] !== null);
    const endpoint = this.alternative !== null && isOther ? this.alternative : this.endpoint;
    const renamed = endpoint === this.endpoint ? {} : (tool.alternative?.names ?? {});
    call.about(`tool:${tool.name}`);
    call.becomes(endpoint);
    mustReach(call.key, endpoint);
    const warnings = this.doubtsOf(owner, call.warnings);
    for (const name of [...(tool.hasCollection ? ['collection'] : []), ...tool.required]) {
      if (owner[name] === undefined || owner[name] === null)
        throw new QuiverError('schema_violation', `${name} is required`);
    }
    for (const [name, most] of Object.entries(tool.maxima)) {
      if (Number(owner[name]) > most) throw new QuiverError('limit_exceeded', `${name} must be at most ${most} here`);
    }
    const chosen = Object.fromEntries(
      [...this.fields.keys()]
        .filter((name) => Object.hasOwn(owner, name))
        .map((name) => [renamed[name] ?? name, owner[name]]),
    );
    const field = tool.collectionField;
    const body = { ...tool.defaults, ...chosen, ...(field === null ? {} : { [field]: owner.collection }) };
    const path = endpoint.path === null ? {} : (validate(endpoint.path, { name: owner.collection }, 'path') as object);
    const checked = endpoint.body.type === 'json' ? validate(endpoint.body.schema, body, 'body') : undefined;
    warnings.mustBeCertain();
    const collection = tool.hasCollection ? await call.use(owner.collection as string) : '';
    let isReplayed = false;
    const once = await this.once(owner, body, call, () => (isReplayed = true));
    const answer = await endpoint.handle({
      ...call,
      ...once,
      warnings,
      path: tool.hasCollection && endpoint.path !== null ? { ...path, name: collection } : path,
      query: {},
      body: field === null ? checked : { ...(checked as object), [field]: collection },
      profile: NO_PROFILE,
    });
    if (isReplayed)
      warnings.warn('this was done by an earlier call with the same idempotency_key, and is answered as then');
    return { json: await textOf(answer, call.hold), warnings: warnings.list, isReplayed };
  }

  /** What is doubtful about the arguments; `message`: about the message that they came in. Errors: schema_violation. */
  private doubtsOf(owner: Arguments, message: RequestWarnings): RequestWarnings {
    const warnings = new RequestWarnings();
    const strict = owner[STRICT_FIELD] ?? false;
    if (typeof strict !== 'boolean') throw new QuiverError('schema_violation', `${STRICT_FIELD} must be true or false`);
    warnings.isStrict = message.isStrict || strict;
    // Of a message, only its numbers are looked at, and the tool has no other argument of this name.
    for (const doubt of message.list) warnings.doubt(doubt.replace(ARGUMENTS, ''));
    const ignored = new IgnoredFields();
    ignored.look(owner, this.known);
    ignored.reportTo(warnings);
    return warnings;
  }

  /**
   * A repetition is told by the tool, its collection and what it was given; its message has a number of its own.
   * Errors: invalid_parameter, unavailable.
   */
  private async once(
    owner: Arguments,
    body: Arguments,
    { key: caller, request }: ToolCall,
    repeated: () => void,
  ): Promise<HandlerOnce> {
    if (this.tool.isOnce !== true) return NOT_ONCE;
    const given = owner[IDEMPOTENCY_ARGUMENT] ?? null;
    const key = given === null ? RequestOnce.keyOf(request) : RequestOnce.checked(given);
    if (key === null) return NOT_ONCE;
    const once = new RequestOnce({ ...this.onceParts, key, caller, request, repeated });
    once.add(JSON.stringify([owner.collection, body]));
    once.end({ method: 'tool', url: this.tool.name });
    return handlerContext(once);
  }

  private schema(): JsonSchema {
    const { tool } = this;
    const collection = { type: 'string', description: 'The name of the collection, as list_collections has it.' };
    const fields = [...this.fields].map(([name, schema]): [string, JsonSchema] => {
      const most = tool.maxima[name];
      return [
        name,
        {
          ...schema,
          ...(most === undefined ? {} : { maximum: most }),
          ...(name in tool.defaults ? { default: tool.defaults[name] } : {}),
        },
      ];
    });
    return {
      type: 'object',
      properties: {
        ...(tool.hasCollection ? { collection } : {}),
        ...Object.fromEntries(fields),
        ...(tool.isOnce === true && { [IDEMPOTENCY_ARGUMENT]: IDEMPOTENCY_KEY }),
        [STRICT_FIELD]: STRICT,
      },
      required: [...(tool.hasCollection ? ['collection'] : []), ...tool.required],
    };
  }
}

function fieldsOf(tool: McpTool, { body, template }: Endpoint): Map<string, JsonSchema> {
  const { properties = {} } = (body.type === 'json' ? new SchemaCollector().schemaOf(body.schema, 'input') : {}) as {
    properties?: Record<string, JsonSchema>;
  };
  const named = 'allBut' in tool.fields ? tool.fields.allBut : tool.fields;
  for (const name of named) assert(properties[name] !== undefined, `${template} has no ${name}`);
  const names =
    'allBut' in tool.fields
      ? Object.keys(properties).filter((name) => !named.includes(name) && name !== tool.collectionField)
      : named;
  return new Map(names.map((name) => [name, properties[name]]));
}

async function textOf(answer: Answer, hold: AnswerHold): Promise<string> {
  if (answer.type === 'data') return answer.json;
  if (answer.type === 'events') {
    for (;;) {
      const { done, value } = await answer.events.next();
      if (done === true) return value;
    }
  }
  assert(answer.type === 'pieces' || answer.type === 'hits');
  let text = '';
  let counted = COUNTED_CHARACTERS;
  for await (const piece of answer.type === 'hits' ? hitsPieces(answer) : answer.pieces) {
    text += piece;
    if (text.length > ANSWER_CHARACTERS_MAX)
      throw new QuiverError(
        'limit_exceeded',
        `the answer has more than ${ANSWER_CHARACTERS_MAX} characters: ask for less`,
      );
    if (text.length <= counted) continue;
    counted = 2 * text.length;
    await hold.reserveText(COPIES * counted);
  }
  return text;
}
