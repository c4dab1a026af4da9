import type { EndpointMatcher } from '../endpoints/endpoint-matcher';
import type { RequestTarget } from './request-target';
import { nearestName } from '../../../shared/base/text/nearest-name';

/** Longest path that a message shows. */
const SHOWN_MAX = 200;
const VERSION = 'v1';

/**
 * What to add to the message that there is no such endpoint: how the path is to be called, or which one was most likely
 * meant; '' if none is near.
 */
export function pathHint(
  matcher: EndpointMatcher,
  method: string,
  { segments }: Pick<RequestTarget, 'segments'>,
): string {
  const methods = matcher.methodsAt(segments);
  if (methods.length > 0) return `; it is ${methods.join(' or ')} ${shown(segments)}`;
  for (const other of othersOf(segments)) {
    const near = nearPath(matcher, other);
    if (near === null) continue;
    const there = matcher.methodsAt(near);
    return `; did you mean ${there.includes(method) ? method : there.join(' or ')} ${shown(near)}?`;
  }
  return '';
}

/** The path as it is, without a slash at its end, and below /v1. */
function othersOf(segments: readonly string[]): string[][] {
  const plain = segments.filter((segment) => segment !== '');
  return plain[0] === VERSION ? [plain] : [plain, [VERSION, ...plain]];
}

/**
 * The path itself if there is such a one, or the one that differs from it in the spelling of one fixed segment alone.
 */
function nearPath(matcher: EndpointMatcher, segments: readonly string[]): string[] | null {
  if (matcher.methodsAt(segments).length > 0) return [...segments];
  for (const [i, segment] of segments.entries()) {
    const near = nearestName(segment, matcher.namesAt(segments, i));
    if (near !== null) return segments.with(i, near);
  }
  return null;
}

function shown(segments: readonly string[]): string {
  return `/${segments.join('/')}`.slice(0, SHOWN_MAX);
}
