import { createHash, timingSafeEqual } from 'node:crypto';
import { Metadata, type ServerInterceptor, ServerInterceptingCall, status } from '@grpc/grpc-js';

/** The metadata key under which each call carries the cluster's secret. */
const SECRET_KEY = 'x-quiver-cluster-secret';

/** What a caller sends along so that it is let in. */
export function secretMetadata(secret: string): Metadata {
  const metadata = new Metadata();
  metadata.set(SECRET_KEY, secret);
  return metadata;
}

/** Ends every call `unauthenticated` that does not carry the secret, before its handler hears of it. */
export function secretInterceptor(secret: string): ServerInterceptor {
  const expected = digest(secret);
  return (_method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            const given = metadata.get(SECRET_KEY)[0];
            // Digests have one length, so neither the length nor the place of a difference shows in the time taken.
            if (typeof given === 'string' && timingSafeEqual(digest(given), expected)) pass(metadata);
            else call.sendStatus({ code: status.UNAUTHENTICATED, details: 'the cluster secret is missing or wrong' });
          },
        }),
    });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
