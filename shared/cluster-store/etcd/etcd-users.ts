import { status } from '@grpc/grpc-js';
import { isEtcdCallError } from './etcd-call-error';
import { prefixToRange } from './etcd-messages';
import type { EtcdMethod, EtcdRequest } from './etcd-protocol';
import { type EtcdOptions, EtcdTransport } from './etcd-transport';

/**
 * The name that etcd reserves for the user and the role that may do everything. Both must exist before authentication
 * can be switched on.
 */
const ROOT = 'root';
/** The least possible key. Clients read it to learn the store's revision; nothing is stored there. */
const LEAST_KEY = Buffer.of(0);

/** The user with which members of a cluster log in to etcd. */
export interface EtcdUser {
  name: string;
  password: string;
  /** The user may read and write the keys that start with this. */
  prefix: string;
}

/**
 * Switches etcd's authentication on, with two users: `root`, and one that may read and write only under a prefix. May
 * be repeated, also by several processes at once: what exists stays, except that a different password of the user is
 * replaced. Errors: EtcdCallError, also when authentication is on and `rootPassword` is not root's password.
 */
export async function ensureEtcdUsers(
  options: Omit<EtcdOptions, 'username' | 'password'>,
  rootPassword: string,
  user: EtcdUser,
): Promise<void> {
  const asRoot = new EtcdTransport({ ...options, username: ROOT, password: rootPassword });
  try {
    const call = <Method extends EtcdMethod>(method: Method, request: EtcdRequest<Method>): Promise<unknown> =>
      asRoot.call(method, request, { repeatable: true });
    await unlessThere(call('Auth.UserAdd', { name: ROOT, password: rootPassword }));
    await unlessThere(call('Auth.RoleAdd', { name: ROOT }));
    await call('Auth.UserGrantRole', { user: ROOT, role: ROOT });

    await unlessThere(call('Auth.RoleAdd', { name: user.name }));
    const { key, range_end } = prefixToRange(user.prefix);
    await call('Auth.RoleGrantPermission', { name: user.name, perm: { permType: 'READWRITE', key, range_end } });
    await call('Auth.RoleGrantPermission', { name: user.name, perm: { permType: 'READ', key: LEAST_KEY } });
    await unlessThere(call('Auth.UserAdd', { name: user.name, password: user.password }));
    await call('Auth.UserGrantRole', { user: user.name, role: user.name });
    await call('Auth.AuthEnable', {});
    // Only if it differs: changing a password invalidates the tokens of all members.
    if (!(await isPassword(options, user)))
      await call('Auth.UserChangePassword', { name: user.name, password: user.password });
  } finally {
    asRoot.close();
  }
}

/** etcd answers "failed precondition" when the user, role or grant exists already. */
async function unlessThere(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isEtcdCallError(error) || error.code !== status.FAILED_PRECONDITION) throw error;
  }
}

async function isPassword(
  options: Omit<EtcdOptions, 'username' | 'password'>,
  { name, password, prefix }: EtcdUser,
): Promise<boolean> {
  const asUser = new EtcdTransport({ ...options, username: name, password });
  try {
    await asUser.call('KV.Range', { ...prefixToRange(prefix), count_only: true }, { repeatable: true });
    return true;
  } catch (error) {
    if (isEtcdCallError(error) && error.outcome === 'refused') return false;
    throw error;
  } finally {
    asUser.close();
  }
}
