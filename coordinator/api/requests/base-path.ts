import type { IncomingMessage } from 'node:http';
import { prefixIn } from '../../../shared/base/config/path-prefix';
import type { NetworkList } from '../../../shared/base/config/network-list';

/** What a proxy says. */
export const PREFIX_HEADER = 'x-forwarded-prefix';

/** The path under which clients reach this service, behind a proxy that takes it away or leaves it. */
export class BasePath {
  /** Whether answers may depend on a header. */
  readonly dependsOnProxy: boolean;
  private readonly ownSegments: readonly string[];

  /** `own`: BASE_PATH in its form of {@link prefixIn}, or ''. `proxies`: whose header is believed; it wins. */
  constructor(private readonly parts: { own: string; proxies: NetworkList }) {
    this.dependsOnProxy = !parts.proxies.isEmpty;
    this.ownSegments = parts.own.split('/').slice(1);
  }

  /** What stands before the paths of links in the answer to this request: '' or `/a/b`. */
  of({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    const { own, proxies } = this.parts;
    const told = headers[PREFIX_HEADER];
    if (told === undefined || proxies.isEmpty || !proxies.has(socket.remoteAddress ?? '')) return own;
    // Of several proxies, each adds its own. What is no plain path may be another's: nothing of it comes into an
    // answer.
    const prefixes = String(told)
      .split(',')
      .map((part) => prefixIn(part.trim()));
    return prefixes.some((prefix) => prefix === null) ? own : prefixes.join('');
  }

  /** The segments of a path without BASE_PATH, for proxies that leave it. */
  without(segments: string[]): string[] {
    const { ownSegments } = this;
    if (
      ownSegments.length === 0 ||
      ownSegments.length > segments.length ||
      !ownSegments.every((segment, i) => segment === segments[i])
    )
      return segments;
    const rest = segments.slice(ownSegments.length);
    return rest.length === 0 ? [''] : rest;
  }
}
