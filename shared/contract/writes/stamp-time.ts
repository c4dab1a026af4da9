/** 2020-01-01T00:00:00Z. From here, 2^53 / 4096 milliseconds last until 2089. */
export const STAMP_EPOCH_MS = 1_577_836_800_000;
/** Stamps per millisecond. A batch that needs more takes them from the following milliseconds. */
export const STAMPS_PER_MS = 4096;
/** From here on, in 2087, stamps only count up: two years' worth of them are left below 2^53. */
export const STAMPED_MS_MAX = STAMP_EPOCH_MS + 2 ** 41 - 2 ** 36;

/** The first stamp, or version, of a moment in milliseconds since 1970; 0 where stamps tell no time. */
export function stampAt(ms: number): number {
  return ms >= STAMP_EPOCH_MS && ms <= STAMPED_MS_MAX ? Math.floor(ms - STAMP_EPOCH_MS) * STAMPS_PER_MS : 0;
}

/** The millisecond since 1970 to which a stamp, or a version, belongs. */
export function timeOfStamp(stamp: number): number {
  return STAMP_EPOCH_MS + Math.floor(stamp / STAMPS_PER_MS);
}
