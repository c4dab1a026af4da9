import { signal } from '@preact/signals';
import { storedAs } from '../api/base';
import type { Role } from '../api/shapes';

/** Who is signed in. The key is kept for this tab alone, until it is closed or signed out. */
export interface Session {
  key: string;
  role: Role;
  name: string;
  /** null: it is a bearer token. */
  keyId: number | null;
  /** Of the key or token; null: never. */
  expiresAt: string | null;
}

const STORED = storedAs('quiver.session');
/** Where the console keeps its requests. */
export const CONSOLE_HISTORY = storedAs('quiver.console');

export const session = signal<Session | null>(read());

/** Shown on the sign-in page: why somebody is there who was signed in. */
export const signedOutBecause = signal<string | null>(null);

export function signIn(next: Session): void {
  sessionStorage.setItem(STORED, JSON.stringify(next));
  signedOutBecause.value = null;
  session.value = next;
}

export function signOut(reason: string | null = null): void {
  forget();
  signedOutBecause.value = reason;
  session.value = null;
}

export function mayWrite(): boolean {
  return session.value !== null && session.value.role !== 'readonly';
}

export function isAdmin(): boolean {
  return session.value?.role === 'admin';
}

/** All that this page has in the tab, and nothing of a service under another path. */
function forget(): void {
  for (const name of [STORED, CONSOLE_HISTORY]) sessionStorage.removeItem(name);
}

function read(): Session | null {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORED) ?? 'null') as Session | null;
    return stored !== null && typeof stored.key === 'string' ? stored : null;
  } catch {
    return null;
  }
}
