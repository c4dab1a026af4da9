import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddingThread } from '../../../../../coordinator/models/transformers/embedding-thread';
import type { ModelDescription } from '../../../../../coordinator/models/transformers/model-description';
import { stuckThreads } from '../../../../../shared/base/process/stuck-threads';
import { eventually } from '../../../../support/eventually';

/** A worker that never answers what it is asked, and does not end before it is let go. */
const HANGING = `
  const { parentPort } = require('node:worker_threads');
  const { existsSync } = require('node:fs');
  parentPort.postMessage({ type: 'ready', dim: 2, isInvariant: false });
  const look = () => (existsSync(__filename + '.go') ? process.exit() : setTimeout(look, 20));
  look();
`;

describe('EmbeddingThread', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'embedding-thread-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('one that is given up fails its requests at once, and counts as stuck until it has ended', async () => {
    const file = join(folder, 'worker.js');
    writeFileSync(file, HANGING);
    const thread = await EmbeddingThread.start({} as ModelDescription, file);
    const request = expect(thread.embed(['a'])).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('may be retried'),
    });
    const closed = thread.close();
    expect(stuckThreads()).toBe(1);
    thread.giveUp();
    await Promise.all([request, closed, thread.ended]);
    expect(stuckThreads()).toBe(1);
    await expect(thread.embed(['b'])).rejects.toMatchObject({ kind: 'unavailable' });
    writeFileSync(`${file}.go`, '');
    await eventually('it has ended', () => stuckThreads() === 0);
  });
});
