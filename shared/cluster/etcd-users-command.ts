import { ensureEtcdUsers } from '../cluster-store/etcd-users';
import { readEtcdConfig } from '../config/config';
import { etcdOptions } from './member-options';
import { STATE_PREFIX } from './members';

/** An etcd that is being installed has no majority at first. */
const PATIENCE_MS = 300_000;
const RETRY_MS = 2_000;

/**
 * `quiver etcd-users`: makes etcd ask for users, and the one of ETCD_USERNAME and ETCD_PASSWORD its member's, who may read
 * and write what Quiver keeps there and nothing else. ETCD_ROOT_PASSWORD is root's, from now on or since the last time.
 * Ends with 0 when it is so, with 1 and one line on standard error when it can't be done within five minutes.
 */
async function main(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readEtcdConfig(environment);
  const rootPassword = environment.ETCD_ROOT_PASSWORD;
  if (!rootPassword || config.etcdUsername === '' || !config.etcdPassword) throw new Error('ETCD_ROOT_PASSWORD, ETCD_USERNAME or ETCD_PASSWORD is not set');
  const { username: name, password: _password, ...options } = etcdOptions(config);
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await ensureEtcdUsers(options, rootPassword, { name: config.etcdUsername, password: config.etcdPassword, prefix: STATE_PREFIX });
      process.stdout.write(`etcd asks for users; ${name} may read and write ${STATE_PREFIX}\n`);
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      process.stderr.write(`not yet: ${(error as Error).message}\n`);
      await new Promise((wake) => setTimeout(wake, RETRY_MS));
    }
  }
}

main(process.env).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
