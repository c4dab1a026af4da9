import { readFileSync } from 'node:fs';
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  experimental,
  type Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { RenewedCertificates } from '../../base/process/renewed-certificates';
import { EtcdCallError } from './etcd-call-error';
import { definitionOf, type EtcdMethod, type EtcdRequest, type EtcdResponse } from './etcd-protocol';

/**
 * Certificate files (PEM) for connections to etcd. They are read once; `renewed` has the same, where they may be
 * replaced.
 */
export interface EtcdCertificates {
  caFile?: string;
  certFile?: string;
  keyFile?: string;
  renewed?: RenewedCertificates;
}

const CHANNEL_OPTIONS: ChannelOptions = {
  // etcd disconnects clients that ping more often than every 5 s. A dead connection is detected within 9 s.
  'grpc.keepalive_time_ms': 6000,
  'grpc.keepalive_timeout_ms': 3000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // gRPC must not resend a call by itself: the caller decides.
  'grpc.enable_retries': 0,
  // A list of all collections comes as one message.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1,
};

/** The connection to one etcd member. It connects at the first call, and again after each loss. */
export class EtcdEndpoint {
  private readonly client: Client;
  private closed = false;

  /** `url`: http://host:port, https://host:port, or host:port, which means https when certificates are given. */
  constructor(url: string, certificates: EtcdCertificates = {}) {
    const given = Object.values(certificates).some((file) => file !== undefined);
    const secure = url.startsWith('https://') || (given && !url.startsWith('http://'));
    const target = url.replace(/^https?:\/\//, '').replace(/\/$/, '');
    this.client = new Client(
      target,
      secure ? secureCredentials(certificates) : credentials.createInsecure(),
      CHANNEL_OPTIONS,
    );
  }

  /** Whether it is connected right now. If not, this starts an attempt. */
  get isConnected(): boolean {
    return !this.closed && this.client.getChannel().getConnectivityState(true) === connectivityState.READY;
  }

  /**
   * Resolves when connected. Errors: EtcdCallError `unreached` when there is no connection before the deadline (Unix
   * ms) or the endpoint is closed.
   */
  async connected(deadlineMs: number): Promise<this> {
    const channel = this.client.getChannel();
    return new Promise((resolve, reject) => {
      const fail = (cause?: Error): void =>
        reject(new EtcdCallError('no connection to etcd', status.UNAVAILABLE, 'unreached', { cause }));
      const look = (error?: Error): void => {
        // Don't ask a closed channel for its state, as the client's own waitForReady does: that would reopen it.
        if (this.closed || error !== undefined) return fail(error);
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.READY) resolve(this);
        else channel.watchConnectivityState(state, deadlineMs, look);
      };
      look();
    });
  }

  /**
   * One request, one response, sent once. `signal` cancels the call, which then fails as `unknown`. Errors:
   * EtcdCallError of any outcome.
   */
  async unary<Method extends EtcdMethod>(
    method: Method,
    request: EtcdRequest<Method>,
    options: { metadata: Metadata; deadlineMs: number; signal: AbortSignal },
  ): Promise<EtcdResponse<Method>> {
    this.mustBeOpen();
    const { path, requestSerialize, responseDeserialize } = definitionOf(method);
    return new Promise((resolve, reject) => {
      const cancel = (): void => void setImmediate(() => call.cancel());
      const done = (error: ServiceError | null, response?: EtcdResponse<Method>): void => {
        options.signal.removeEventListener('abort', cancel);
        if (error === null) resolve(response as EtcdResponse<Method>);
        else reject(EtcdCallError.fromStatus(error));
      };
      const call = this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        options.metadata,
        { deadline: options.deadlineMs },
        done,
      );
      options.signal.addEventListener('abort', cancel);
    });
  }

  /**
   * A bidirectional stream. Without a deadline it lasts until one side ends it. Errors: EtcdCallError `unreached` when
   * the endpoint is closed.
   */
  stream<Method extends EtcdMethod>(
    method: Method,
    options: { metadata: Metadata; deadlineMs?: number },
  ): ClientDuplexStream<EtcdRequest<Method>, EtcdResponse<Method>> {
    this.mustBeOpen();
    const { path, requestSerialize, responseDeserialize } = definitionOf(method);
    return this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, options.metadata, {
      deadline: options.deadlineMs,
    });
  }

  close(): void {
    this.closed = true;
    this.client.close();
  }

  private mustBeOpen(): void {
    if (this.closed) throw new EtcdCallError('the connection to etcd is closed', status.UNAVAILABLE, 'unreached');
  }
}

function secureCredentials({
  caFile,
  certFile,
  keyFile,
  renewed,
}: EtcdCertificates): ReturnType<typeof credentials.createSsl> {
  if (renewed !== undefined)
    return experimental.createCertificateProviderChannelCredentials(
      renewed,
      renewed.current.cert === null ? null : renewed,
    );
  const read = (file: string | undefined): Buffer | null => (file === undefined ? null : readFileSync(file));
  return credentials.createSsl(read(caFile), read(keyFile), read(certFile));
}
