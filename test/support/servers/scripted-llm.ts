import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LlmMessage {
  role: string;
  content: string;
}

/** A request as the server got it. */
export interface LlmRequest {
  headers: IncomingMessage['headers'];
  path: string;
  body: { model: string; messages: LlmMessage[]; max_tokens: number; temperature: number; stream: boolean };
  /** As it came. */
  text: string;
}

/** What the server answers; what is left out is as a good server has it. */
export interface LlmScript {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as the body, in place of all else, in these parts. */
  raw?: (string | Buffer)[];
  /** What the model writes, a chunk each. */
  text?: string[];
  finish?: string | null;
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  /** Whether [DONE] ends it. */
  isDone?: boolean;
  /** What is waited for before the part of that number is sent. */
  before?: (part: number) => Promise<void> | undefined;
  /** How it ends: as it should, by closing the connection, or never. */
  end?: 'end' | 'cut' | 'hang';
}

/** Speaks OpenAI's protocol of chat completions as a test tells it, lies and breaks off. */
export class ScriptedLlm {
  readonly requests: LlmRequest[] = [];
  /** Requests whose client broke off before the answer ended. */
  abandoned = 0;
  /** What it says next, and from then on. */
  script: LlmScript | ((request: LlmRequest) => LlmScript) = { text: ['Nothing.'] };
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  static async start(): Promise<ScriptedLlm> {
    const llm = new ScriptedLlm();
    await new Promise<void>((resolve) => llm.server.listen(0, '127.0.0.1', resolve));
    return llm;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  get last(): LlmRequest {
    return this.requests.at(-1)!;
  }

  /** What the last request said at the end: passages and question. */
  get prompt(): string {
    return this.last.body.messages.at(-1)!.content;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString('utf8');
    const asked = { headers: request.headers, path: request.url ?? '', body: JSON.parse(text), text };
    this.requests.push(asked);
    const script = typeof this.script === 'function' ? this.script(asked) : this.script;
    const { status = 200, headers = {}, before, end = 'end' } = script;
    response.on('close', () => {
      if (!response.writableFinished) this.abandoned += 1;
    });
    response.on('error', () => undefined);
    response.writeHead(status, { 'content-type': 'text/event-stream', ...headers });
    for (const [i, part] of partsOf(script).entries()) {
      const gate = before?.(i);
      if (gate !== undefined) await gate;
      if (response.destroyed) return;
      response.write(part);
    }
    if (end === 'cut') response.destroy();
    else if (end === 'end') response.end();
  }
}

function partsOf({ raw, text = [], finish = 'stop', usage, isDone = true }: LlmScript): (string | Buffer)[] {
  if (raw !== undefined) return raw;
  const chunk = (members: object): string =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', ...members })}\n\n`;
  return [
    ...text.map((content) => chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    ...(finish === null ? [] : [chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] })]),
    ...(usage === null || usage === undefined ? [] : [chunk({ choices: [], usage })]),
    ...(isDone ? ['data: [DONE]\n\n'] : []),
  ];
}

/** A gate for `before`: what waits at it goes on when it is opened. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
