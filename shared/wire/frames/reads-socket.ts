import { randomBytes } from 'node:crypto';
import { readdirSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { MemberVersion } from '../../base/process/member-version';

/**
 * A node's threads that answer reads are also reached by a path of its machine, which costs less than TCP to the same
 * machine. The node says the name in its handshake, as a name among its features. The folder is fixed: so nobody is
 * sent to a path of somebody else's choice, and paths stay shorter than the 104 bytes that some systems allow. On
 * another machine, or in another container, the path is not there, and TCP is used.
 */
const FOLDER = '/tmp';
const FEATURE = /^read-socket-([0-9a-f]{32})$/;
const FILE = /^quiver-[0-9a-f]{32}\.sock$/;

/** A name that nobody can guess: 32 characters of 0-9a-f. */
export function newSocketName(): string {
  return randomBytes(16).toString('hex');
}

export function socketPath(name: string, folder = FOLDER): string {
  return join(folder, `quiver-${name}.sock`);
}

/** What the node says beside its features. */
export function socketFeature(name: string): string {
  return `read-socket-${name}`;
}

/** The path that a node has said; null: none. */
export function socketPathOf({ features }: MemberVersion): string | null {
  for (const feature of features) {
    const [, name] = FEATURE.exec(feature) ?? [];
    if (name !== undefined) return socketPath(name);
  }
  return null;
}

/**
 * Removes what killed processes left in the folder: sockets at which nobody listens. They harm nobody. Never fails, and
 * ends by itself.
 */
export function removeStaleSockets(folder = FOLDER): void {
  let paths: string[];
  try {
    paths = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isSocket() && FILE.test(entry.name) ? [join(folder, entry.name)] : [],
    );
  } catch {
    return;
  }
  for (const path of paths) {
    const socket = connect({ path });
    socket.unref();
    socket.once('connect', () => socket.destroy());
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNREFUSED') return;
      try {
        unlinkSync(path);
      } catch {
        // Somebody else's, or gone meanwhile.
      }
    });
  }
}
