import type { ShardManifest } from '../../../shared/backup-store/backup-format';
import type { Damage } from './damage';
import type { Outcome } from './expectations';

/** What meets a damaged object of a backup. `backup`: the next one, which builds upon the one that is damaged. */
export const TARGET_MOMENTS = ['list', 'verify', 'restore', 'backup', 'backup after a verification'] as const;
export type TargetMoment = (typeof TARGET_MOMENTS)[number];

/** Whose target it is. */
export type ServiceForm = 'embedded' | 'cluster';

/** What is right where an object of a backup is damaged in the target. */
export interface TargetRow {
  kind: string;
  /** Its key in the target. `id`: of the backup; `shard`: what the manifest of its only shard says. */
  object: (id: string, shard: ShardManifest & { key: string }) => string | undefined;
  right: Record<Damage, Record<TargetMoment, readonly Outcome[]>>;
}

const SERVED = ['served'] as const;
const TOLD = ['told'] as const;
const all = (right: Record<TargetMoment, readonly Outcome[]>): TargetRow['right'] => ({
  missing: right,
  truncated: right,
  flipped: right,
});
/** Of what a restore needs. Once it is known, the next backup does without it. */
const NEEDED = all({
  list: SERVED,
  verify: TOLD,
  restore: TOLD,
  backup: ['served', 'told'],
  'backup after a verification': SERVED,
});

export const TARGET_FILES: readonly TargetRow[] = [
  // Nothing can be done with it, and the next one does without it.
  {
    kind: 'manifest of a backup',
    object: (id) => `backups/${id}.json`,
    right: all({ list: TOLD, verify: TOLD, restore: TOLD, backup: SERVED, 'backup after a verification': SERVED }),
  },
  {
    kind: 'manifest of a shard',
    object: (_, { key }) => key,
    right: all({ list: SERVED, verify: TOLD, restore: TOLD, backup: SERVED, 'backup after a verification': SERVED }),
  },
  { kind: 'segment of records', object: (_, { segments }) => segments[0]?.key, right: NEEDED },
  { kind: 'list of the records that are there', object: (_, { live }) => live[0]?.key, right: NEEDED },
  { kind: 'part of the journal', object: (_, { journal }) => journal[0]?.key, right: { ...NEEDED } },
  // The indexes are made again from the records.
  {
    kind: 'part of an index',
    object: (_, { index }) => index?.files[0].parts[0].key,
    right: all({ list: SERVED, verify: TOLD, restore: SERVED, backup: SERVED, 'backup after a verification': SERVED }),
  },
  // Without it nobody has looked, as far as is known.
  {
    kind: 'result of a verification',
    object: (id) => `checks/${id}.json`,
    right: all({
      list: SERVED,
      verify: SERVED,
      restore: SERVED,
      backup: SERVED,
      'backup after a verification': SERVED,
    }),
  },
];

/** The same of the target of a service, as kinds of their own. */
export function targetFilesOf(form: ServiceForm): TargetRow[] {
  return TARGET_FILES.map((row) => ({ ...row, kind: `${row.kind}, ${form}` }));
}
