import { hkdfSync } from 'node:crypto';

/**
 * The key for secrets in the outcome of one request, hexadecimal: it follows from what only the caller knows, the
 * secret that it calls with and its Idempotency-Key. So what is stored can't be read by who has the store alone.
 */
export function sealingKeyOf(callerSecret: string, idempotencyKey: string): string {
  return Buffer.from(hkdfSync('sha256', callerSecret, idempotencyKey, 'quiver idempotency secret 1', 32)).toString(
    'hex',
  );
}

/**
 * The key for what a mark says of items, hexadecimal: it follows from the caller, by the id that stays when its secret
 * is replaced, and its Idempotency-Key, which is stored nowhere.
 */
export function dedupKeyOf(identity: string, idempotencyKey: string): string {
  return Buffer.from(hkdfSync('sha256', idempotencyKey, identity, 'quiver idempotency mark 1', 32)).toString('hex');
}
