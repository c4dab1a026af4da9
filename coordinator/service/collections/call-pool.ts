/** Calls at once: enough to keep disks and nodes busy, few enough to bound memory and sockets. */
const AT_ONCE = 16;
/** What answers at all answers within this, unless everything is slow. */
const PATIENCE_MS = 50;

/**
 * Runs `run` on each item, some at once, and resolves with the results in the order of the items. One that takes longer
 * than `patienceMs` goes on, and the next begins all the same: what waits for something that is away holds up nothing
 * else. Rejects with the first error.
 */
export function inPool<T, R>(
  items: readonly T[],
  run: (item: T) => Promise<R>,
  { atOnce = AT_ONCE, patienceMs = PATIENCE_MS } = {},
): Promise<R[]> {
  return new Promise((resolve, reject) => {
    const results: R[] = new Array(items.length);
    let begun = 0;
    let ended = 0;
    let counted = 0;
    if (items.length === 0) resolve(results);
    const next = (): void => {
      while (counted < atOnce && begun < items.length) begin(begun++);
    };
    const begin = (place: number): void => {
      counted += 1;
      let isCounted = true;
      const release = (): void => {
        clearTimeout(timer);
        if (!isCounted) return;
        isCounted = false;
        counted -= 1;
        next();
      };
      const timer = patienceMs === Infinity ? undefined : setTimeout(release, patienceMs);
      run(items[place]).then(
        (result) => {
          results[place] = result;
          ended += 1;
          if (ended === items.length) resolve(results);
          release();
        },
        (error: unknown) => {
          // Nothing more is begun.
          begun = items.length;
          reject(error);
          release();
        },
      );
    };
    next();
  });
}
