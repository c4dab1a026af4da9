import { SLICE_MS } from '../../../shared/base/time/work-slices';

/**
 * The clock goes on by its readings alone: long work leaves the event loop to others after every `steps` of it, on a
 * machine of any speed. Returns how to go back to the real clock.
 */
export function sliceAfter(steps: number): () => void {
  let nowMs = performance.now();
  const spy = jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += SLICE_MS / steps));
  return () => spy.mockRestore();
}
