import { useState } from 'preact/hooks';
import { call, messageOf } from '../api/client';
import { Busy, Failure } from '../parts/notice';
import { go } from '../state/route';
import { mayWrite } from '../state/session';

/** Texts are embedded meanwhile, on a small machine for a while. */
const DEMO_DEADLINE_MS = 600_000;

/** What somebody sees who has nothing yet: two ways to something. */
export function EmptyHome({ onCreate, onLoaded }: { onCreate: () => void; onLoaded: () => void }) {
  const [isLoading, setLoading] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const load = async (): Promise<void> => {
    setLoading(true);
    setFailure(null);
    try {
      const { collection } = await call<'post_demo'>('POST', '/v1/demo', { deadlineMs: DEMO_DEADLINE_MS });
      onLoaded();
      go(`#/collections/${collection}`);
    } catch (error) {
      setFailure(messageOf(error));
      setLoading(false);
    }
  };
  return (
    <section class="card empty">
      <h2>Nothing is stored yet</h2>
      {mayWrite() ? (
        <>
          <p>
            Load a small collection of real texts to try search, hybrid search and the map, or make one of your own.
          </p>
          <div class="row">
            <button type="button" class="primary" onClick={() => void load()} disabled={isLoading}>
              Load the demo
            </button>
            <button type="button" onClick={onCreate} disabled={isLoading}>
              New collection
            </button>
          </div>
          {isLoading && <Busy>Embedding and storing the texts…</Busy>}
          <Failure error={failure} />
        </>
      ) : (
        <p>Your key may only read. Somebody with a key that may write has to make a collection first.</p>
      )}
    </section>
  );
}
