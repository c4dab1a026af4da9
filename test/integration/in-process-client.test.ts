import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openQuiver } from '../../embedded/library/index';
import { DATA_PARENT } from '../support/memory-folder';
import { clientSuite } from './client-suite';

/** The same client with the service in this process: one interface, two ways to it. */

clientSuite(
  async (settings) => {
    const folder = mkdtempSync(join(DATA_PARENT, 'quiver-in-process-'));
    const client = await openQuiver(folder, { settings: { EMBEDDING_MODEL: 'builtin', ...settings } });
    const close = async (): Promise<void> => {
      await client.close();
      rmSync(folder, { recursive: true, force: true });
    };
    return { client, server: null, close };
  },
  { isServed: false },
);
