import {
  Metadata,
  type ServerDuplexStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { RpcService } from './rpc-server';

/** A service with one method, Exchange: it answers each message of a stream with a message of the same id. */
export class LossyRequestService<Request extends { id: number }, Answer extends { id: number }> implements RpcService {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
  /** Each with what is aborted when it ends. */
  private readonly streams = new Map<ServerDuplexStream<Request, Answer>, AbortController>();

  /**
   * `ended` is aborted when nobody can hear the answer any more. If `answer` rejects, `onError` is called and the
   * question gets no answer.
   */
  constructor(options: {
    definition: ServiceDefinition;
    answer: (request: Request, ended: AbortSignal) => Promise<Omit<Answer, 'id'>>;
    onError: (error: unknown) => void;
  }) {
    this.definition = options.definition;
    this.handlers = {
      Exchange: (call: ServerDuplexStream<Request, Answer>) => {
        call.sendMetadata(new Metadata());
        const ending = new AbortController();
        this.streams.set(call, ending);
        const end = (): void => this.end(call);
        call.on('data', (request: Request) => {
          options.answer(request, ending.signal).then(
            (answer) => this.streams.has(call) && call.write({ ...answer, id: request.id } as Answer),
            (error: unknown) => options.onError(error),
          );
        });
        call.on('end', () => {
          end();
          call.end();
        });
        for (const event of ['close', 'cancelled', 'error']) call.on(event, end);
      },
    };
  }

  async drain(): Promise<void> {
    for (const call of [...this.streams.keys()]) {
      this.end(call);
      call.end();
    }
  }

  private end(call: ServerDuplexStream<Request, Answer>): void {
    this.streams.get(call)?.abort();
    this.streams.delete(call);
  }
}
