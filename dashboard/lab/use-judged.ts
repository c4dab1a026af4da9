import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, call, path } from '../api/client';
import { type Edit, readJudged, sentJudged } from './judged';
import { JudgedKeeper, type JudgedStore, type KeptJudged } from './judged-keeper';

/** Grades that follow each other at once are one write. */
const GATHER_MS = 400;

export interface JudgedSet extends KeptJudged {
  /** Shows changes, and keeps them soon. */
  edit: (...edits: Edit[]) => void;
  /** Once more, after a failure. */
  again: () => void;
}

const NOTHING: KeptJudged = { judged: null, failure: null, isSaving: false, isUnkept: false };

/**
 * The judged queries of a name, read anew when `round` changes; none where the name is empty. `onKept` is told of each
 * write.
 */
export function useJudged(collection: string, name: string, round: number, onKept: () => void): JudgedSet {
  const [shown, setShown] = useState<KeptJudged>(NOTHING);
  const keeper = useRef<JudgedKeeper | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const kept = useRef(onKept);
  kept.current = onKept;

  useEffect(() => {
    setShown(NOTHING);
    if (name === '') return undefined;
    let isShown = true;
    const own = new JudgedKeeper(
      storeOf(collection, name, () => kept.current()),
      (next) => {
        if (isShown) setShown(next);
      },
    );
    keeper.current = own;
    void own.load();
    return () => {
      isShown = false;
      keeper.current = null;
      clearTimeout(timer.current);
      // What was graded last is kept, although nobody looks.
      void own.save();
    };
  }, [collection, name, round]);

  const isUnkept = shown.isUnkept;
  useEffect(() => {
    if (!isUnkept) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isUnkept]);

  return {
    ...shown,
    edit: (...edits) => {
      keeper.current?.edit(edits);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void keeper.current?.save(), GATHER_MS);
    },
    again: () => void (shown.judged === null ? keeper.current?.load() : keeper.current?.save()),
  };
}

function storeOf(collection: string, name: string, onKept: () => void): JudgedStore {
  return {
    read: async () => {
      try {
        const { judged } = await call<'get_collections_name_judgements_id'>(
          'GET',
          path('/v1/collections/', collection, '/judgements/', name),
        );
        return readJudged(judged);
      } catch (error) {
        if (error instanceof ApiError && error.code === 404) return [];
        throw error;
      }
    },
    write: async (judged) => {
      await call<'put_collections_name_judgements_id'>(
        'PUT',
        path('/v1/collections/', collection, '/judgements/', name),
        { body: sentJudged(judged) },
      );
      onKept();
    },
    remove: async () => {
      await call<'delete_collections_name_judgements_id'>(
        'DELETE',
        path('/v1/collections/', collection, '/judgements/', name),
      );
      onKept();
    },
  };
}
