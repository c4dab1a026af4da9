import assert from 'node:assert';
import { setMaxListeners } from 'node:events';
import { type ClientDuplexStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { RetryBackoff } from '../../base/time/retry-backoff';
import { EtcdCallError, isEtcdCallError } from './etcd-call-error';
import { type EtcdCertificates, EtcdEndpoint } from './etcd-endpoint';
import type { EtcdCallOutcome, EtcdObserver } from './etcd-observer';
import type { EtcdMethod, EtcdRequest, EtcdResponse } from './etcd-protocol';

/** Longer than an election of etcd's leader (about a second), and short enough for callers to wait. */
const CALL_TIMEOUT_MS = 3000;

/** How to reach etcd. `endpoints`: at least one of http://host:port, https://host:port, host:port. */
export interface EtcdOptions extends EtcdCertificates {
  endpoints: string[];
  username?: string;
  password?: string;
  /** The password of now, where it may be replaced; asked for with each new token. */
  currentPassword?: () => string | undefined;
  /** Deadline of every call, including the time to connect. */
  callTimeoutMs?: number;
  /** Called for every unary call. */
  observer?: EtcdObserver;
}

/**
 * Calls to an etcd of one or more members. It uses one member until that fails, then another that answers. A call that
 * may change something is sent at most once, unless etcd itself said that it did nothing. With a user name it fetches a
 * token when one is needed, and a new one when etcd no longer accepts it. While authentication is switched off in etcd,
 * calls go without a token.
 */
export class EtcdTransport {
  readonly callTimeoutMs: number;
  private readonly endpoints: EtcdEndpoint[];
  private readonly credentials: { name: string; password: () => string } | null;
  private preferred: EtcdEndpoint;
  /** Resolves to null when authentication is off. */
  private token: Promise<string | null> | null = null;
  private readonly closing = new AbortController();
  private readonly observer: EtcdObserver | null;

  constructor(options: EtcdOptions) {
    // Every call under way listens to this signal, and there may be many.
    setMaxListeners(0, this.closing.signal);
    assert(options.endpoints.length > 0, 'etcd has at least one endpoint');
    const { caFile, certFile, keyFile, renewed, currentPassword } = options;
    this.endpoints = options.endpoints.map((url) => new EtcdEndpoint(url, { caFile, certFile, keyFile, renewed }));
    this.preferred = this.endpoints[Math.floor(Math.random() * this.endpoints.length)];
    this.credentials =
      options.username === undefined
        ? null
        : { name: options.username, password: () => currentPassword?.() ?? options.password ?? '' };
    this.callTimeoutMs = options.callTimeoutMs ?? CALL_TIMEOUT_MS;
    this.observer = options.observer ?? null;
  }

  /**
   * Calls a unary method. `repeatable`: the call may be sent again when its answer is lost, and is, until the deadline.
   * Errors: EtcdCallError.
   */
  async call<Method extends EtcdMethod>(
    method: Method,
    request: EtcdRequest<Method>,
    options: { repeatable: boolean },
  ): Promise<EtcdResponse<Method>> {
    if (this.observer === null) return this.repeated(method, request, options);
    const startMs = performance.now();
    const report = (outcome: EtcdCallOutcome): void =>
      this.observer?.called(method, outcome, performance.now() - startMs);
    try {
      const answer = await this.repeated(method, request, options);
      report('answered');
      return answer;
    } catch (error) {
      // A call that failed because we closed the client says nothing about etcd.
      if (!this.closing.signal.aborted)
        report(isEtcdCallError(error) && error.outcome === 'refused' ? 'refused' : 'failed');
      throw error;
    }
  }

  private async repeated<Method extends EtcdMethod>(
    method: Method,
    request: EtcdRequest<Method>,
    options: { repeatable: boolean },
  ): Promise<EtcdResponse<Method>> {
    const deadlineMs = Date.now() + this.callTimeoutMs;
    const backoff = new RetryBackoff();
    let reauthenticated = false;
    for (;;) {
      const endpoint = await this.connected(deadlineMs);
      let isWithoutToken = false;
      try {
        const metadata = await this.metadata(endpoint, deadlineMs);
        isWithoutToken = metadata.get('token').length === 0;
        // Keep enough time to try another member when this one hangs.
        const share = options.repeatable && this.endpoints.length > 1 ? this.callTimeoutMs / 2 : this.callTimeoutMs;
        const attemptDeadlineMs = Math.min(deadlineMs, Date.now() + share);
        return await endpoint.unary(method, request, {
          metadata,
          deadlineMs: attemptDeadlineMs,
          signal: this.closing.signal,
        });
      } catch (error) {
        if (!isEtcdCallError(error)) throw error;
        if (this.mayBeToken(error, isWithoutToken) && !reauthenticated) {
          reauthenticated = true;
          this.token = null;
          continue;
        }
        if (error.outcome === 'refused') throw error;
        this.avoid(endpoint);
        if (error.outcome === 'unknown' && !options.repeatable) throw error;
        await backoff.pause(this.closing.signal);
        if (this.closing.signal.aborted || Date.now() >= deadlineMs) throw error;
      }
    }
  }

  /**
   * Opens a stream to a member that has a leader. Its `error` event says why it ended; then another stream may be
   * opened. Errors: EtcdCallError `unreached` when no member can be reached before the call deadline.
   */
  async stream<Method extends EtcdMethod>(
    method: Method,
    options: { deadlineMs?: number } = {},
  ): Promise<ClientDuplexStream<EtcdRequest<Method>, EtcdResponse<Method>>> {
    const deadlineMs = options.deadlineMs ?? Date.now() + this.callTimeoutMs;
    const endpoint = await this.connected(deadlineMs);
    const metadata = await this.metadata(endpoint, deadlineMs);
    // With this, a member that is cut off from the others ends the stream instead of staying silent.
    metadata.set('hasleader', 'true');
    const stream = endpoint.stream(method, { metadata, deadlineMs: options.deadlineMs });
    stream.on('error', (error: ServiceError) => {
      if (error.code === status.UNAUTHENTICATED) this.forgetToken();
      if (error.code !== status.CANCELLED) this.avoid(endpoint);
    });
    return stream;
  }

  /**
   * Makes the next call fetch a new token. For streams, where the refusal may come in a message instead of a status.
   */
  forgetToken(): void {
    this.token = null;
  }

  /** Aborted when the transport is closed. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** Ends everything that is under way. */
  close(): void {
    this.closing.abort();
    for (const endpoint of this.endpoints) endpoint.close();
  }

  private async connected(deadlineMs: number): Promise<EtcdEndpoint> {
    if (this.closing.signal.aborted) throw new EtcdCallError('the client is closed', status.UNAVAILABLE, 'unreached');
    if (this.preferred.isConnected) return this.preferred;
    try {
      this.preferred = await Promise.any(this.endpoints.map((endpoint) => endpoint.connected(deadlineMs)));
      return this.preferred;
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }

  private avoid(endpoint: EtcdEndpoint): void {
    if (this.preferred === endpoint)
      this.preferred = this.endpoints[(this.endpoints.indexOf(endpoint) + 1) % this.endpoints.length];
  }

  private async metadata(endpoint: EtcdEndpoint, deadlineMs: number): Promise<Metadata> {
    const metadata = new Metadata();
    if (this.credentials === null) return metadata;
    this.token ??= this.authenticate(this.credentials, endpoint, deadlineMs);
    const token = await this.token;
    if (token !== null) metadata.set('token', token);
    return metadata;
  }

  private async authenticate(
    { name, password }: { name: string; password: () => string },
    endpoint: EtcdEndpoint,
    deadlineMs: number,
  ): Promise<string | null> {
    try {
      const options = { metadata: new Metadata(), deadlineMs, signal: this.closing.signal };
      return (await endpoint.unary('Auth.Authenticate', { name, password: password() }, options)).token;
    } catch (error) {
      if (isEtcdCallError(error) && error.code === status.FAILED_PRECONDITION) return null;
      this.token = null;
      // Whatever happened to the request for a token, the call that needed it was not sent.
      if (isEtcdCallError(error) && error.outcome === 'unknown')
        throw new EtcdCallError(error.message, error.code, 'unreached', { cause: error });
      throw error;
    }
  }

  /**
   * Whether a token may be the reason. etcd answers "invalid argument" to a token from before a change of users, and to
   * a call without the token that it needs. To a client with a certificate and no token it may answer "permission
   * denied", because it takes the name in the certificate for the user.
   */
  private mayBeToken(error: EtcdCallError, isWithoutToken: boolean): boolean {
    if (this.credentials === null) return false;
    return (
      error.code === status.UNAUTHENTICATED ||
      error.code === status.INVALID_ARGUMENT ||
      (isWithoutToken && error.code === status.PERMISSION_DENIED)
    );
  }
}
