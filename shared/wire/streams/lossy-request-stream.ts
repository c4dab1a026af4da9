import type { RpcStream, StreamMethod } from './rpc-channel';
import type { RpcChannels } from './rpc-channels';
import { NumberTable } from '../../base/tables/number-table';

/** A member that could not be reached is not tried again before this, so that questions to it fail at once. */
const RETRY_MS = 250;
/**
 * A connection that is not ready after this is given up, however short the time of a question is. It is a little less
 * than a handshake may take, so that the channel of one that was never answered is replaced, too: it may try to connect
 * for minutes.
 */
const UNREADY_MS = 4_500;

/** A message with the number of its question. */
interface Numbered {
  id: number;
}

interface Open<Answer> {
  settle: (answer: Answer | null) => void;
  timer: NodeJS.Timeout;
}

interface Connection<Request> {
  stream: RpcStream<Request>;
  openedAtMs: number;
  /** `late`: it is still being made, and a question waited for it in vain. */
  state: 'opening' | 'late' | 'ready';
}

/**
 * Questions to another member over one long-lived stream; answers come in any order. The answer is null if the member
 * can't be reached in time; while a connection takes longer to be made than a question waited, at once. For small
 * messages that may be lost.
 */
export class LossyRequestStream<Request extends Numbered, Answer extends Numbered> {
  private readonly address: string;
  private readonly method: StreamMethod<Request, Answer>;
  private readonly channels: RpcChannels;
  private readonly open = new NumberTable<Open<Answer>>();
  private connection: Connection<Request> | null = null;
  private brokeAtMs = -Infinity;
  private closed = false;

  constructor(options: { address: string; method: StreamMethod<Request, Answer>; channels: RpcChannels }) {
    this.address = options.address;
    this.method = options.method;
    this.channels = options.channels;
  }

  /** The answer, or null when there is none within `timeoutMs`. */
  ask(request: Omit<Request, 'id'>, timeoutMs: number): Promise<Answer | null> {
    const connection = this.connected();
    if (connection === null || connection.state === 'late') return Promise.resolve(null);
    return new Promise((settle) => {
      const timer = setTimeout(() => {
        this.open.remove(id);
        settle(null);
        if (connection.state === 'opening') connection.state = 'late';
      }, timeoutMs);
      const id = this.open.add({ settle, timer });
      connection.stream.write({ ...request, id } as Request, () => undefined);
    });
  }

  close(): void {
    this.closed = true;
    this.disconnect();
  }

  private connected(): Connection<Request> | null {
    if (this.connection !== null && !isGivenUp(this.connection)) return this.connection;
    if (this.connection !== null) this.replace();
    else if (this.closed || performance.now() - this.brokeAtMs < RETRY_MS) return null;
    const connection: Connection<Request> = {
      openedAtMs: performance.now(),
      state: 'opening',
      stream: this.channels.to(this.address).open<Request, Answer>(this.method, {
        ready: () => (connection.state = 'ready'),
        frame: (answer) => {
          const found = this.open.remove(answer.id);
          if (found === undefined) return;
          clearTimeout(found.timer);
          found.settle(answer);
        },
        ended: () => {
          if (this.connection !== connection) return;
          if (isGivenUp(connection)) this.replace();
          else this.disconnect();
        },
      }),
    };
    this.connection = connection;
    return connection;
  }

  /** The other side accepted the connection and stays silent, or does not even do that. */
  private replace(): void {
    this.disconnect();
    this.channels.replace(this.address);
  }

  private disconnect(): void {
    const { connection } = this;
    this.connection = null;
    this.brokeAtMs = performance.now();
    connection?.stream.cancel();
    for (const { settle, timer } of this.open.removeAll()) {
      clearTimeout(timer);
      settle(null);
    }
  }
}

function isGivenUp({ state, openedAtMs }: Connection<unknown>): boolean {
  return state !== 'ready' && performance.now() - openedAtMs >= UNREADY_MS;
}
