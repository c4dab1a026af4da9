import { signal } from '@preact/signals';
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

const STORED = 'quiver.session';

export const session = signal<Session | null>(read());

/** Shown on the sign-in page: why somebody is there who was signed in. */
export const signedOutBecause = signal<string | null>(null);

export function signIn(next: Session): void {
  sessionStorage.setItem(STORED, JSON.stringify(next));
  signedOutBecause.value = null;
  session.value = next;
}

export function signOut(reason: string | null = null): void {
  sessionStorage.clear();
  signedOutBecause.value = reason;
  session.value = null;
}

export function mayWrite(): boolean {
  return session.value !== null && session.value.role !== 'readonly';
}

export function isAdmin(): boolean {
  return session.value?.role === 'admin';
}

function read(): Session | null {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORED) ?? 'null') as Session | null;
    return stored !== null && typeof stored.key === 'string' ? stored : null;
  } catch {
    return null;
  }
}
