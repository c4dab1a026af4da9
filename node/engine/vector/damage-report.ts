import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { nativeError } from './native-binding';

/** An index whose files may be damaged. */
export interface Damageable {
  /** Whether it has met damage, and is not being closed. */
  isDamaged: () => boolean;
  /** Gets the error that callers get, once for each call that fails so. */
  onDamaged: (damage: QuiverError) => void;
}

/** A call of the addon. Errors: as callers of an index get them; storage_failed of damage, which its owner is told. */
export function attempted<T>(call: () => T, index: Damageable): T {
  try {
    return call();
  } catch (error) {
    throw indexFailure(error, index);
  }
}

/** The error for the caller. If it comes from damage, the owner is notified, too. */
export function indexFailure(error: unknown, { isDamaged, onDamaged }: Damageable): QuiverError {
  const failure = nativeError(error);
  if (failure.kind !== 'storage_failed' || !isDamaged()) return failure;
  const damage = new QuiverError(
    'storage_failed',
    'the vectors of the index are damaged on the disk; it is made anew from the records',
    { cause: error, details: failure.details },
  );
  onDamaged(damage);
  return damage;
}
