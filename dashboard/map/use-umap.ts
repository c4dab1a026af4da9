import { useEffect, useRef, useState } from 'preact/hooks';
import { isAbort, messageOf } from '../api/client';
import type { Collection } from '../api/shapes';
import type { Condition } from '../filters/filter-model';
import { normalised } from './camera';
import { fetchSample, type Sample } from './sample';
import { startUmap } from './umap';

/** What the server projects onto before UMAP: what further axes hold is mostly noise, and each costs time. */
const DIMENSIONS = 24;

export interface Umap {
  state: 'off' | 'running' | 'done';
  phase: 'sample' | 'neighbours' | 'layout';
  share: number;
  /** Where the points are now; null before it has any. */
  points: Float32Array | null;
  failure: string | null;
  start: () => void;
  stop: () => void;
}

type State = Omit<Umap, 'start' | 'stop'>;
const OFF: State = { state: 'off', phase: 'sample', share: 0, points: null, failure: null };

/** A UMAP of the points of a sample, made in a worker when somebody asks. Stopped, the points go back. */
export function useUmap(given: {
  collection: Collection;
  sample: Sample;
  size: number;
  conditions: Condition[];
  start: Float32Array;
}): Umap {
  const [state, setState] = useState<State>(OFF);
  const ending = useRef<() => void>(() => undefined);
  useEffect(() => () => ending.current(), []);

  const stop = (): void => {
    ending.current();
    setState(OFF);
  };
  const start = (): void => {
    if (state.state !== 'off') return;
    const abort = new AbortController();
    let terminate = (): void => undefined;
    ending.current = () => {
      abort.abort();
      terminate();
    };
    setState({ ...OFF, state: 'running' });
    const begin = async (): Promise<void> => {
      // The same seed and size: the points that are there, in the same order, unless items changed meanwhile.
      const { items, coordinates, dimensions } = await fetchSample(
        given.collection,
        { size: given.size, dimensions: DIMENSIONS, fields: [], conditions: given.conditions },
        abort.signal,
      );
      if (abort.signal.aborted) return;
      if (
        items.length !== given.sample.items.length ||
        items.some(({ external_id: id }, i) => id !== given.sample.items[i]?.external_id)
      )
        throw new Error('the collection has changed; load the map again');
      terminate = startUmap({ rows: coordinates, dimensions, start: given.start }, (news) => {
        if (news.type === 'failed') setState({ ...OFF, failure: news.reason });
        if (news.type === 'progress') setState((last) => ({ ...last, phase: news.phase, share: news.share }));
        if (news.type === 'places')
          setState((last) => ({ ...last, points: normalised(news.points), state: news.isLast ? 'done' : 'running' }));
      });
    };
    begin().catch((error: unknown) => {
      if (!abort.signal.aborted && !isAbort(error)) setState({ ...OFF, failure: messageOf(error) });
    });
  };
  return { ...state, start, stop };
}
