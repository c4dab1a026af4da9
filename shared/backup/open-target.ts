import { fileURLToPath } from 'node:url';
import { QuiverError } from '../errors/quiver-error';
import type { BackupTarget, OpenTarget } from './backup-target';
import { FolderTarget } from './folder-target';

/** Opens targets by name, below the one that is configured. */
export function targetOpener(configured: string): OpenTarget {
  const open = new Map<string, BackupTarget>();
  return (name) => {
    const found = open.get(name) ?? targetOf(checkedName(configured, name));
    open.set(name, found);
    return found;
  };
}

/**
 * The name of a target: `configured` itself, or something below it: whoever may ask for a backup must not choose where
 * processes write. Errors: invalid_parameter.
 */
export function checkedName(configured: string, name: string): string {
  if (configured === '') throw new QuiverError('invalid_parameter', 'there is no place for backups: BACKUP_TARGET is not set');
  const rest = name.slice(configured.length);
  const isBelow = name.startsWith(configured) && /^(?:\/[A-Za-z0-9_][A-Za-z0-9._-]*)*\/?$/.test(configured.endsWith('/') && rest !== '' ? `/${rest}` : rest);
  if (!isBelow) throw new QuiverError('invalid_parameter', 'target must be BACKUP_TARGET, or a folder below it');
  return name;
}

/** Why a name is none of a target; null if it is one. */
export function targetProblem(name: string): string | null {
  try {
    targetOf(name);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function targetOf(name: string): BackupTarget {
  if (name.startsWith('file:/')) {
    let path: string;
    try {
      path = fileURLToPath(name);
    } catch {
      throw unknown();
    }
    return new FolderTarget(name, path);
  }
  throw unknown();
}

function unknown(): QuiverError {
  return new QuiverError('invalid_parameter', 'expected a folder as file:/path/of/it');
}
