import { status } from '@grpc/grpc-js';
import { isEtcdCallError } from './etcd-call-error';
import { prefixToRange } from './etcd-messages';
import type { EtcdMethod, EtcdRequest } from './etcd-protocol';
import { type EtcdOptions, EtcdTransport } from './etcd-transport';

/** etcd's own name of the user and the role that may do everything; it asks for both before users count. */
const ROOT = 'root';
/** The least key there is: what a client reads to learn the store's revision. Nothing is kept there. */
const LEAST_KEY = Buffer.of(0);

/** The user by which members of a cluster reach etcd. */
export interface EtcdUser {
  name: string;
  password: string;
  /** What it may read and write. */
  prefix: string;
}

/**
 * Makes etcd ask for users: `root`, and one that may read and write what lies under a prefix and nothing else. May be
 * done again and again, by several at once too: what is there already stays, a user's other password is replaced.
 * Errors: EtcdCallError, also when users are in force and `rootPassword` is not root's.
 */
export async function ensureEtcdUsers(options: Omit<EtcdOptions, 'username' | 'password'>, rootPassword: string, user: EtcdUser): Promise<void> {
  const asRoot = new EtcdTransport({ ...options, username: ROOT, password: rootPassword });
  try {
    const call = <Method extends EtcdMethod>(method: Method, request: EtcdRequest<Method>): Promise<unknown> => asRoot.call(method, request, { repeatable: true });
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
    // Only then: every change of a password ends the tokens of all members.
    if (!(await isPassword(options, user))) await call('Auth.UserChangePassword', { name: user.name, password: user.password });
  } finally {
    asRoot.close();
  }
}

/** etcd says "failed precondition" of what is there already. */
async function unlessThere(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isEtcdCallError(error) || error.code !== status.FAILED_PRECONDITION) throw error;
  }
}

async function isPassword(options: Omit<EtcdOptions, 'username' | 'password'>, { name, password, prefix }: EtcdUser): Promise<boolean> {
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
