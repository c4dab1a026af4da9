import { expectedCause } from '../logs/error-fields';
import { type ErrorKind, isQuiverError, QuiverError } from '../errors/quiver-error';
import { NumberTable } from '../tables/number-table';

/** The part of a MessagePort or Worker that carries messages in order. */
export interface ThreadPort {
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  on(event: 'message', listener: (message: ThreadMessage) => void): unknown;
}

/** What threads send each other. An `id` is chosen by the side that asks. */
export type ThreadMessage =
  | { type: 'ask'; id: number; name: string; args: unknown[] }
  | { type: 'tell'; name: string; args: unknown[] }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'failure'; id: number; failure: ThreadFailure };

/** An error on its way. `kind` undefined: no operating error. */
export interface ThreadFailure {
  kind: ErrorKind | undefined;
  name: string;
  message: string;
  stack: string | undefined;
  details: Readonly<Record<string, unknown>>;
  /** The stack of its cause, or where that is expected as it is, the message of the first one. */
  cause: string | undefined;
  /** The kind of that, or the system's code. */
  causeKind?: ErrorKind | undefined;
  causeCode?: string | undefined;
}

type Handler = (...args: never[]) => unknown;

/** What a side of a ThreadPeer may be asked and told, by name. */
export type ThreadHandlers = Record<string, Handler>;

/** What a handler answers when memory of it is to go over. */
export class HandedBack {
  constructor(
    readonly value: unknown,
    readonly transfer: readonly ArrayBuffer[],
  ) {}
}

interface Pending {
  done: (value: unknown) => void;
  fail: (error: unknown) => void;
}

/**
 * Calls between two threads of this process: what one side handles, the other may ask. Values are copied by structured
 * clone. Operating errors arrive as they are. Any other error arrives as one of the kind `internal`, with its stack as
 * the cause.
 */
export class ThreadPeer {
  private readonly pending = new NumberTable<Pending>();
  private readonly offered = new NumberTable<AsyncIterator<unknown>>();
  private readonly handlers = new Map<string, Handler>();
  private end: QuiverError | null = null;
  private closing: () => void = () => undefined;

  /** `handlers` by name; any other name fails as `internal`. */
  constructor(
    private readonly port: ThreadPort,
    handlers: ThreadHandlers,
  ) {
    this.handle(handlers);
    this.handlers.set(NEXT, (stream: number) => this.next(stream));
    this.handlers.set(RETURN, (stream: number) => this.withdraw(stream));
    port.on('message', (message) => this.take(message));
  }

  /** Handles these calls, too. To be called before the event loop turns: earlier messages wait until then. */
  handle(handlers: ThreadHandlers): void {
    for (const [name, handler] of Object.entries(handlers)) this.handlers.set(name, handler);
  }

  /** What the other side answers. Errors: those of its handler; unavailable when the other thread has ended. */
  ask<Value>(name: string, ...args: unknown[]): Promise<Value> {
    return this.send(name, args, []);
  }

  /** As `ask`, with the bytes as the first argument. Their memory goes over and is not to be used here any more. */
  hand<Value>(name: string, bytes: Buffer, ...args: unknown[]): Promise<Value> {
    return this.send(name, [bytes, ...args], [bytes.buffer as ArrayBuffer]);
  }

  private send<Value>(name: string, args: unknown[], transfer: ArrayBuffer[]): Promise<Value> {
    return new Promise<unknown>((done, fail) => {
      if (this.end !== null) return fail(this.end);
      const id = this.pending.add({ done, fail });
      try {
        this.port.postMessage({ type: 'ask', id, name, args } satisfies ThreadMessage, transfer);
      } catch (error) {
        this.pending.remove(id);
        fail(error);
      }
    }) as Promise<Value>;
  }

  /** As `ask`, without an answer. Does nothing once the other thread has ended. */
  tell(name: string, ...args: unknown[]): void {
    if (this.end === null) this.port.postMessage({ type: 'tell', name, args } satisfies ThreadMessage);
  }

  /** The number by which the other side can draw from `items` ({@link drawn}), one at a time. */
  offer(items: AsyncIterable<unknown>): number {
    return this.offered.add(items[Symbol.asyncIterator]());
  }

  /** Gives up what was offered, if the other side has not drawn all of it. */
  withdraw(stream: number): void {
    this.offered
      .remove(stream)
      ?.return?.()
      .catch(() => undefined);
  }

  /** What the other side offered under this number. To be drawn once. */
  async *drawn<Item>(stream: number): AsyncGenerator<Item> {
    let isOver = false;
    try {
      for (;;) {
        isOver = true;
        const step = await this.ask<IteratorResult<Item>>(NEXT, stream);
        if (step.done) return;
        isOver = false;
        yield step.value;
      }
    } finally {
      if (!isOver) this.tell(RETURN, stream);
    }
  }

  /** As {@link drawn}, one by one. `return` gives the rest up at once, also while an item is waited for. */
  taken<Item>(stream: number): {
    next(): Promise<IteratorResult<Item, undefined>>;
    return(): Promise<IteratorResult<Item, undefined>>;
  } {
    const over: IteratorResult<Item, undefined> = { done: true, value: undefined };
    let isOver = false;
    return {
      next: async () => {
        if (isOver) return over;
        try {
          const step = await this.ask<IteratorResult<Item, undefined>>(NEXT, stream);
          isOver ||= step.done === true;
          return isOver ? over : step;
        } catch (error) {
          isOver = true;
          throw error;
        }
      },
      return: async () => {
        if (!isOver) this.tell(RETURN, stream);
        isOver = true;
        return over;
      },
    };
  }

  /** Calls `listener`, the only one, when the other thread has ended. */
  onClose(listener: () => void): void {
    this.closing = listener;
  }

  /** The other thread has ended: all calls fail, and what was offered to it is given up. */
  close(reason: string): void {
    if (this.end !== null) return;
    this.end = new QuiverError('unavailable', reason);
    for (const { fail } of this.pending.removeAll()) fail(this.end);
    for (const iterator of this.offered.removeAll()) iterator.return?.().catch(() => undefined);
    this.closing();
  }

  private async next(stream: number): Promise<IteratorResult<unknown>> {
    let isOver = true;
    try {
      const step = await this.offered.get(stream)!.next();
      isOver = step.done === true;
      return step;
    } finally {
      if (isOver) this.offered.remove(stream);
    }
  }

  private take(message: ThreadMessage): void {
    if (this.end !== null) return;
    switch (message.type) {
      case 'answer':
        return this.pending.remove(message.id)?.done(message.value);
      case 'failure':
        return this.pending.remove(message.id)?.fail(errorOf(message.failure));
      case 'tell':
        this.call(message.name, message.args).catch(() => undefined);
        return;
      case 'ask':
        this.call(message.name, message.args).then(
          (value) =>
            value instanceof HandedBack
              ? this.reply({ type: 'answer', id: message.id, value: value.value }, value.transfer)
              : this.reply({ type: 'answer', id: message.id, value }),
          (error: unknown) => this.reply({ type: 'failure', id: message.id, failure: failureOf(error) }),
        );
    }
  }

  private async call(name: string, args: unknown[]): Promise<unknown> {
    const handler = this.handlers.get(name);
    if (handler === undefined) throw new Error(`no thread handles ${name}`);
    return handler(...(args as never[]));
  }

  private reply(message: Extract<ThreadMessage, { id: number }>, transfer: readonly ArrayBuffer[] = []): void {
    if (this.end !== null) return;
    try {
      this.port.postMessage(message, transfer);
    } catch (error) {
      this.port.postMessage({ type: 'failure', id: message.id, failure: failureOf(error) } satisfies ThreadMessage);
    }
  }
}

/** Names of the two calls by which a stream is drawn. */
const NEXT = 'stream.next';
const RETURN = 'stream.return';

/**
 * An object whose methods ask the other side for `<room>.<method>`. For interfaces all of whose methods answer
 * promises.
 */
export function remote<Service extends object>(peer: Pick<ThreadPeer, 'ask'>, room: string): Service {
  const methods = new Map<string | symbol, (...args: unknown[]) => Promise<unknown>>();
  return new Proxy({} as Service, {
    get: (_target, name) => {
      let method = methods.get(name);
      if (method === undefined && typeof name === 'string')
        methods.set(name, (method = (...args) => peer.ask(`${room}.${name}`, ...args)));
      return method;
    },
  });
}

/** Handlers for the named methods of a service, as {@link remote} asks for them. */
export function handlersOf<Service extends object>(
  room: string,
  service: Service,
  methods: readonly (keyof Service & string)[],
): ThreadHandlers {
  return Object.fromEntries(
    methods.map((name) => [`${room}.${name}`, (...args: never[]) => (service[name] as Handler).apply(service, args)]),
  );
}

/** An error as it goes to another thread. */
export function failureOf(error: unknown): ThreadFailure {
  const { name, message, stack, cause } = isErrorLike(error) ? error : new Error('what was thrown is no error');
  const isOperating = isQuiverError(error);
  const first = isOperating && cause instanceof Error ? expectedCause(error) : null;
  const own = {
    kind: isOperating ? error.kind : undefined,
    name,
    message,
    stack,
    details: isOperating ? plain(error.details) : {},
  };
  if (first === null || first === error)
    return { ...own, cause: cause instanceof Error ? (cause.stack ?? cause.message) : undefined };
  return {
    ...own,
    cause: first.message,
    ...(isQuiverError(first) ? { causeKind: first.kind } : { causeCode: (first as NodeJS.ErrnoException).code }),
  };
}

/** Errors of the runtime itself, such as of structured clone, need not be made by this realm's Error. */
function isErrorLike(error: unknown): error is Error {
  return typeof error === 'object' && error !== null && 'message' in error && 'stack' in error;
}

/** The error that came from another thread. */
export function errorOf({ kind, name, message, stack, details, cause, causeKind, causeCode }: ThreadFailure): Error {
  const reason =
    cause === undefined
      ? undefined
      : causeKind === undefined
        ? Object.assign(new Error(cause), causeCode === undefined ? {} : { code: causeCode })
        : new QuiverError(causeKind, cause);
  if (kind === undefined) {
    const error = new Error(message, { cause: reason });
    error.name = name;
    error.stack = stack;
    return error;
  }
  const error = new QuiverError(kind, message, { cause: reason, details: { ...details } });
  error.stack = stack;
  return error;
}

/** Facts for the log, as far as JSON can carry them. */
function plain(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(details)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
