import type { McpHttpHandler, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { identityOf } from '../../service/keys/caller';
import { namesSeenBy } from '../requests/authorisation';
import type { Endpoint } from '../endpoints/endpoint';
import { publicError } from '../answers/envelope';
import { explainedError } from '../answers/explained-error';
import type { JsonSchema } from '../openapi/json-schema';
import { MCP_TOOLS } from './mcp-tools';
import { type OnceParts, type ToolCall, ToolRunner } from './tool-runner';

const INSTRUCTIONS =
  'Quiver keeps collections of texts and vectors with metadata. list_collections shows which there are, ' +
  'describe_collection what is in one; search and query find texts, ask answers a question from them; ' +
  'fetch answers items by id. ' +
  'filters restrict by metadata, for example {"year": {"$gte": 1990}, "topic": {"$in": ["rivers", "seas"]}}.';

/** A caller, and what must not be told to it. */
interface Caller {
  call: ToolCall;
  /** What its tool was refused with; null: it was not. */
  code: number | null;
  isReplayed: boolean;
  /** A failure of ours, for the log. */
  failure: unknown;
}

/**
 * Speaks the Model Context Protocol (Streamable HTTP, without sessions: any process answers any request). The SDK is
 * loaded with the first of these, 24 MB and a fifth of a second.
 */
export class McpHandler {
  private readonly runners: ToolRunner[];
  private readonly handler: McpHttpHandler;
  private readonly sdk = require('@modelcontextprotocol/server') as typeof import('@modelcontextprotocol/server');

  constructor(
    private readonly parts: {
      endpoints: readonly Endpoint[];
      collectionNames: () => Promise<string[]>;
      version: string;
    } & OnceParts,
  ) {
    this.runners = MCP_TOOLS.map((tool) => new ToolRunner(tool, parts.endpoints, parts));
    // Nothing here changes while a client listens, and a stream without end would hold a request for ever.
    this.handler = this.sdk.createMcpHandler(({ authInfo }) => this.serverFor(authInfo?.extra?.caller as Caller), {
      maxSubscriptions: 0,
    });
  }

  /** Answers one message. Errors: as the tools, when it is this service that failed. */
  async answer(
    message: unknown,
    call: ToolCall,
  ): Promise<{ status: number; code: number | null; isReplayed: boolean; contentType: string | null; bytes: Buffer }> {
    const { request, key } = call;
    const caller: Caller = { call, code: null, isReplayed: false, failure: null };
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers))
      if (typeof value === 'string' && PASSED.test(name)) headers.set(name, value);
    const authInfo = { token: '', clientId: identityOf(key), scopes: [], extra: { caller } };
    const answer = await this.handler.fetch(new Request('http://quiver/mcp', { method: 'POST', headers }), {
      parsedBody: message,
      authInfo,
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (caller.failure !== null) throw caller.failure;
    return {
      status: answer.status,
      code: caller.code,
      isReplayed: caller.isReplayed,
      contentType: answer.headers.get('content-type'),
      bytes,
    };
  }

  /** For one message of one caller, as the SDK wants it. */
  private serverFor(caller: Caller): McpServer {
    const server = new this.sdk.McpServer(
      { name: 'quiver', version: this.parts.version },
      { instructions: INSTRUCTIONS },
    );
    for (const runner of this.runners) {
      const { name, title, description, isReadOnly } = runner.tool;
      if (!runner.isFor(caller.call.key)) continue;
      const annotations = {
        readOnlyHint: isReadOnly,
        destructiveHint: !isReadOnly,
        idempotentHint: true,
        openWorldHint: false,
      };
      server.registerTool(
        name,
        { title, description, inputSchema: describedBy(runner.inputSchema), annotations },
        (given) => this.run(runner, given, caller),
      );
    }
    return server;
  }

  private async run(
    runner: ToolRunner,
    given: unknown,
    caller: Caller,
  ): Promise<{
    content: { type: 'text'; text: string }[];
    structuredContent?: Record<string, unknown>;
    isError?: boolean;
  }> {
    try {
      const { json, warnings, isReplayed } = await runner.run(given, caller.call);
      caller.isReplayed = isReplayed;
      return {
        content: [json, ...warnings.map((warning) => `Warning: ${warning}`)].map((text) => ({ type: 'text', text })),
        // The same for programs. Digits of whole numbers beyond 2^53 are in the text alone.
        structuredContent: JSON.parse(json) as Record<string, unknown>,
      };
    } catch (error) {
      const { code, message } = publicError(
        await explainedError(error, async () => namesSeenBy(caller.call.key, await this.parts.collectionNames())),
      );
      caller.code = code;
      if (code === 500) caller.failure = error;
      return { content: [{ type: 'text', text: `Error ${code}: ${message}` }], isError: true };
    }
  }
}

/** Headers that say how an answer is to look; the key is none of them. */
const PASSED = /^(?:accept|content-type|mcp-[a-z-]+)$/;

/** What a tool takes, to be shown; it is checked as the endpoint checks it, in its words. */
function describedBy(schema: JsonSchema): StandardSchemaWithJSON {
  return {
    '~standard': {
      version: 1,
      vendor: 'quiver',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
