import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '../../../../cli/connection/connection';
import { ItemsMove, type MoveOptions, type MoveState } from '../../../../cli/migrate/move-items';
import type { PeerPage } from '../../../../cli/migrate/peer-source';
import type { ResumeFile } from '../../../../cli/writing/resume-file';

const folder = mkdtempSync(join(tmpdir(), 'quiver-move-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A move of pages of one item each to a service that takes all; `saved` are the states that were written, in order. */
async function move(
  next: (page: number) => string | null,
  pagesMax: number,
  count = 0,
): Promise<{ saved: MoveState[]; pages: number; run: Promise<void> }> {
  const saved: MoveState[] = [];
  let pages = 0;
  const connection = {
    call: async () => ({ dim: 2, distance_metric: 'cosine', vector_count: count, created_at: 'now' }),
  } as unknown as Connection;
  const page = async (): Promise<PeerPage> => {
    pages += 1;
    if (pages > pagesMax) throw new Error('too many pages');
    return { items: [{ id: `i${pages}`, vector: [1, 2], metadata: {}, text: null }], next: next(pages) };
  };
  const moving = await ItemsMove.begin({
    connection,
    source: { page },
    move: {
      from: { name: 'there', description: null },
      vector: { name: '', dim: 2 },
      to: 'here',
      metric: 'cosine',
      textField: null,
    },
    resume: {
      read: () => null,
      write: (state: MoveState) => saved.push({ ...state }),
    } as unknown as ResumeFile<MoveState>,
    rejectPath: join(folder, 'rejects.jsonl'),
    lanes: {
      lanes: 1,
      batchItemsMax: 1,
      batchCharactersMax: 1000,
      requestTimeoutMs: 1000,
      patienceMs: 1000,
      signal: new AbortController().signal,
    },
    pageItems: 1,
    newCollection: {},
    isIntoExisting: false,
    isRestart: false,
    onProgress: () => {},
    say: () => {},
  } as unknown as MoveOptions);
  return { saved, pages, run: moving.run() };
}

test('once the last page is settled, nothing that is saved would have it all read again', async () => {
  const { saved, run } = await move((page) => (page < 3 ? `page ${page}` : null), 3);
  await run;
  expect(saved.at(-1)).toMatchObject({ read: 3, isRead: true });
  expect(saved.filter(({ read, cursor, isRead }) => read > 0 && cursor === null && !isRead)).toEqual([]);
});

test('a peer that answers one page again and again is given up on', async () => {
  const { run } = await move(() => 'page 1', 50);
  await expect(run).rejects.toThrow('there: the peer answers the same page again and again');
});

test('a collection that can not be counted, because shards do not answer, is not taken for an empty one', async () => {
  await expect(move(() => null, 1, -1)).rejects.toThrow(
    'how many vectors "here" holds is not known, because some of its shards do not answer',
  );
});
