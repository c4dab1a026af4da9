import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import type { Connection } from '../connection/connection';
import { type ConnectionOptions, connect, connected } from './connected-command';

/** A message of JSON-RPC, as far as it is looked at. */
interface Message {
  id?: string | number | null;
  method?: string;
  result?: { protocolVersion?: unknown };
}

/** JSON-RPC's codes: for errors of a server's own, and for what is no JSON. */
const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;

export function addMcpCommand(program: Command, context: CommandContext): void {
  connected(
    program
      .command('mcp')
      .description('speak the Model Context Protocol over standard input and output, for a service with MCP=true'),
  ).action(async (options: ConnectionOptions) => {
    const session = new StdioSession(connect(context, options), (message) => void context.output.write(`${message}\n`));
    const open = new Set<Promise<void>>();
    for await (const line of createInterface({ input: context.input, crlfDelay: Infinity })) {
      if (line.trim() === '') continue;
      const taken: Promise<void> = session.take(line).finally(() => open.delete(taken));
      open.add(taken);
    }
    await Promise.all(open);
  });
}

/** Passes messages on to a service, each a request of its own, and its answers back. */
class StdioSession {
  /** What the service and the client have agreed on; '': nothing yet. */
  private version = '';

  constructor(
    private readonly connection: Connection,
    private readonly say: (message: string) => void,
  ) {}

  async take(line: string): Promise<void> {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      return this.fail(null, PARSE_ERROR, 'a message is no JSON');
    }
    const id = message.id ?? null;
    try {
      const { type, text } = await this.connection.message('/mcp', line, {
        accept: 'application/json, text/event-stream',
        ...(this.version !== '' && { 'mcp-protocol-version': this.version }),
      });
      const answers = type.startsWith('text/event-stream') ? dataIn(text) : [text];
      for (const answer of answers) this.answer(answer, message);
    } catch (error) {
      if (id !== null) this.fail(id, SERVER_ERROR, (error as Error).message);
    }
  }

  /** A notification has none. */
  private answer(text: string, { id, method }: Message): void {
    if (text.trim() === '') return;
    const answer = JSON.parse(text) as Message;
    if (method === 'initialize' && typeof answer.result?.protocolVersion === 'string')
      this.version = answer.result.protocolVersion;
    // What was refused before it was looked at says no id.
    if (id !== undefined) this.say(JSON.stringify({ ...answer, id: answer.id ?? id }));
  }

  private fail(id: Message['id'], code: number, message: string): void {
    this.say(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  }
}

/** The data of events. */
function dataIn(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((block) =>
      block
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trimStart())
        .join('\n'),
    )
    .filter((data) => data !== '');
}
