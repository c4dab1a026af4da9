import { open } from 'node:fs/promises';
import { SPOOL_MEMORY_BYTES, SpooledFile } from '../../../../../coordinator/api/requests/spooled-file';
import { runSeed, seededRandom } from '../../../../support/values/random';

const KIB = 1024;

type Write = (buffer: Buffer, offset: number, length: number, position: number) => Promise<{ bytesWritten: number }>;

/** A piece whose bytes tell its number. */
const piece = (number: number, size: number): Buffer => Buffer.alloc(size, `${number},`);

async function all(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const one of content) pieces.push(one);
  return Buffer.concat(pieces);
}

describe('a spooled file', () => {
  test('gives everything in order, whoever is faster', async () => {
    const random = seededRandom(runSeed('spooled-file'));
    for (let round = 0; round < 20; round++) {
      const spool = new SpooledFile();
      const sent: Buffer[] = [];
      const pause = async (share: number): Promise<void> => {
        if (random() < share) await new Promise((resolve) => setImmediate(resolve));
      };
      const [writerPauses, readerPauses] = [random(), random()];
      const writing = (async () => {
        for (let i = 0; i < 60; i++) {
          sent.push(piece(i, Math.floor(random() * 100 * KIB)));
          await spool.append(sent[i]);
          await pause(writerPauses);
        }
        spool.complete();
      })();
      const received: Buffer[] = [];
      for await (const one of spool.content()) {
        received.push(one);
        await pause(readerPauses);
      }
      await writing;
      expect(Buffer.concat(received).equals(Buffer.concat(sent))).toBe(true);
      await spool.close();
    }
  });

  test('holds no more in memory than it may, and gives it back when all was written first', async () => {
    const spool = new SpooledFile();
    const sent = Array.from({ length: 50 }, (_, i) => piece(i, 64 * KIB));
    for (const one of sent) {
      await spool.append(one);
      expect((spool as unknown as { waitingBytes: number }).waitingBytes).toBeLessThanOrEqual(SPOOL_MEMORY_BYTES);
    }
    spool.complete();
    expect((await all(spool.content())).equals(Buffer.concat(sent))).toBe(true);
    await spool.close();
  });

  test('what the disk takes in parts has no gaps', async () => {
    const handle = await open(__filename);
    const prototype = Object.getPrototypeOf(handle) as { write: Write };
    await handle.close();
    const { write } = prototype;
    prototype.write = function inParts(buffer, offset, length, position) {
      return write.call(this, buffer, offset, Math.ceil(length / 3), position);
    };
    const spool = new SpooledFile();
    const sent = [piece(1, SPOOL_MEMORY_BYTES), piece(2, 100 * KIB), piece(3, 100 * KIB)];
    try {
      for (const one of sent) await spool.append(one);
    } finally {
      prototype.write = write;
    }
    spool.complete();
    expect((await all(spool.content())).equals(Buffer.concat(sent))).toBe(true);
    await spool.close();
  });

  test('fails its reader at once, whatever is still waiting', async () => {
    const spool = new SpooledFile();
    await spool.append(piece(1, 10));
    await spool.append(piece(2, 2 * SPOOL_MEMORY_BYTES));
    const content = spool.content();
    expect((await content.next()).value).toEqual(piece(1, 10));
    spool.fail(new Error('the client is gone'));
    await expect(content.next()).rejects.toThrow('the client is gone');
    await spool.close();
  });

  test('a reader that waits hears of an end and of a failure', async () => {
    const [ended, failed] = [new SpooledFile(), new SpooledFile()];
    const [reading, failing] = [all(ended.content()), all(failed.content())];
    ended.complete();
    expect((await reading).length).toBe(0);
    failed.fail(new Error('wrong form'));
    await expect(failing).rejects.toThrow('wrong form');
    await Promise.all([ended.close(), failed.close()]);
  });

  test('closing while a piece is being written, or twice, harms nobody', async () => {
    const spool = new SpooledFile();
    const writing = spool.append(piece(1, 2 * SPOOL_MEMORY_BYTES));
    await Promise.all([spool.close(), spool.close(), writing]);
    await spool.append(piece(2, 10));
    await expect(spool.content().next()).rejects.toThrow('closed');
  });
});
