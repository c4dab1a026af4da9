import { ensureEtcdUsers } from '../cluster-store/etcd/etcd-users';
import { readEtcdConfig } from '../base/config/config';
import { etcdOptions } from './member-options';
import { STATE_PREFIX } from '../cluster-store/entries/members';

/** While etcd is being installed, it may have no majority yet. */
const PATIENCE_MS = 300_000;
const RETRY_MS = 2_000;

/**
 * `quiver etcd-users`: switches etcd's authentication on. The member user, ETCD_USERNAME with ETCD_PASSWORD, may read
 * and write Quiver's entries and nothing else. ETCD_ROOT_PASSWORD is the password of root: set now, or by an earlier
 * run. Exits with 0 when done, and with 1 and one line on standard error when it can't be done within five minutes.
 */
async function main(environment: NodeJS.ProcessEnv): Promise<void> {
  const config = readEtcdConfig(environment);
  const rootPassword = environment.ETCD_ROOT_PASSWORD;
  if (!rootPassword || config.etcdUsername === '' || !config.etcdPassword)
    throw new Error('ETCD_ROOT_PASSWORD, ETCD_USERNAME or ETCD_PASSWORD is not set');
  const { username: name, password: _password, ...options } = etcdOptions(config);
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await ensureEtcdUsers(options, rootPassword, {
        name: config.etcdUsername,
        password: config.etcdPassword,
        prefix: STATE_PREFIX,
      });
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
