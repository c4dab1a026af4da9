import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partOf } from '../../../../cli/export/item-writer';
import { JsonLinesWriter } from '../../../../cli/export/json-lines-writer';
import { madeVector } from '../../../support/values/made-vectors.cjs';

const folder = mkdtempSync(join(tmpdir(), 'quiver-writer-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Linux's device that is always full stands for the disk. */
test.each(['x.jsonl', 'x.jsonl.gz'])(
  'a full disk fails the writing of %s, rather than to have it wait',
  async (name) => {
    symlinkSync('/dev/full', partOf(join(folder, name)));
    const writer = new JsonLinesWriter(join(folder, name), process.stdout, new AbortController().signal);
    const items = Array.from({ length: 100 }, (_, i) => ({
      external_id: `i${i}`,
      vector: madeVector(64, i),
      metadata: {},
    }));
    const writing = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) await writer.write(items);
      await writer.finish();
    };
    await expect(writing()).rejects.toThrow('ENOSPC');
    await writer.abandon();
  },
);
