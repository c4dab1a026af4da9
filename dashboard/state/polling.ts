import { useEffect, useRef, useState } from 'preact/hooks';
import { isAbort, quota } from '../api/client';

/** Below this share of the key's requests in a minute, the page asks less often: the rest is for the person. */
const QUOTA_LOW = 0.25;
/** The same for what is urgent: two tabs must not use up a key. */
const QUOTA_SCARCE = 0.1;
const SLOWED = 5;

export interface Polled<Data> {
  data: Data | null;
  error: unknown;
  /** Asks now, whatever the time. */
  refresh: () => void;
}

/**
 * Calls `load` now, when `key` changes, and again and again while the tab is seen. Keeps the last data when a call
 * fails. With the key null it asks nothing. What is urgent is slowed later than the rest when few of the key's requests
 * are left.
 */
export function usePolling<Data>(
  key: string | null,
  intervalMs: number,
  load: (stop: AbortSignal) => Promise<Data>,
  isUrgent = false,
): Polled<Data> {
  const [state, setState] = useState<{ key: string | null; data: Data | null; error: unknown }>({
    key: null,
    data: null,
    error: null,
  });
  const latest = useRef(load);
  latest.current = load;
  const again = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (key === null) return undefined;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      if (isAsking) return;
      isAsking = true;
      try {
        const data = await latest.current(stop.signal);
        if (!stop.signal.aborted) setState({ key, data, error: null });
      } catch (error) {
        if (!stop.signal.aborted && !isAbort(error))
          setState((last) => ({ key, data: last.key === key ? last.data : null, error }));
      }
      isAsking = false;
      if (!stop.signal.aborted && intervalMs > 0) timer = setTimeout(wake, intervalMs * slowing(isUrgent));
    };
    const wake = (): void => {
      if (!document.hidden) void ask();
    };
    again.current = () => void ask();
    document.addEventListener('visibilitychange', wake);
    void ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', wake);
    };
  }, [key, intervalMs, isUrgent]);

  const isCurrent = state.key === key;
  return { data: isCurrent ? state.data : null, error: isCurrent ? state.error : null, refresh: () => again.current() };
}

function slowing(isUrgent: boolean): number {
  const left = quota.value;
  return left !== null && left.remaining < left.limit * (isUrgent ? QUOTA_SCARCE : QUOTA_LOW) ? SLOWED : 1;
}
