import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../../support/targets/api-client';
import { EmbeddedProcess, type Envelope } from '../../support/processes/embedded-process';
import { CALL_DEADLINE_MS, type Call, type CollectionModel, type Seen } from './collection-model';
import type { Moment } from './expectations';

const AT_ONCE = 8;
/** Of a backup, a restore or a reshard of a few items, on a machine that has other work. */
const OVER_DEADLINE_MS = 120_000;
const CHECK_MS = 100;
/** What a reshard waits for that others are before. */
const IN_TURN = 'which are copied first';
/** A refusal says what to do, or that it goes on by itself. */
const WAYS_OUT = /restore|repair|backup|tries again|tried again|is opened|put .* back|until|may be retried/;

/** Beside lines of the log, the one that says why there is no start, and what to do. */
export const ONE_LINE =
  /(gone|damaged|later|not|cannot|can not).*(quiver repair|put (it |the file )?back|restore|docs\/|from)/;

/** A service of a data folder, whose backups lie beside it. */
export function serviceIn(dataDir: string, environment: Record<string, string> = {}): EmbeddedProcess {
  return new EmbeddedProcess({ dataDir, environment: { BACKUP_TARGET: `file:${dataDir}-backups`, ...environment } });
}

/** A copy of the folder in which nothing is damaged. */
export function soundCopy(folder: string, number: number): string {
  const dataDir = join(folder, `copy-${number}`);
  cpSync(join(folder, 'sound'), dataDir, { recursive: true });
  return dataDir;
}

/** Calls of a service with its admin key, each for so long at most. One that is not answered has the code 0. */
export function callOf({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }): Call {
  return async (method, path, body) => {
    const signal = AbortSignal.timeout(CALL_DEADLINE_MS);
    try {
      for (;;) {
        const { text } = await new ApiClient({ baseUrl, adminKey: apiKey }).call({ method, path, body, signal });
        const envelope = JSON.parse(text) as Envelope;
        // As it asks for: a machine that has other work keeps it from its turns.
        if (envelope.error?.code !== 429) return envelope;
        await pause(CHECK_MS);
      }
    } catch (error) {
      return { status: 'error', data: null, error: { code: 0, message: `no answer: ${(error as Error).message}` } };
    }
  };
}

/** An outcome, or what is wrong. `isTold`: whether the log says that something was made again. */
export function outcomeOf({ wrong, refused }: Seen, name: string, isTold: () => boolean): string {
  if (wrong.length > 0) return `wrong: ${wrong.join('; ')}`;
  const unclear = refused.filter((message) => !message.includes(`"${name}"`) || !WAYS_OUT.test(message));
  if (unclear.length > 0) return `refused without a name or a way out: ${unclear.join('; ')}`;
  // A shard that is opened again meanwhile.
  if (refused.length > 0) return refused.every((message) => message.endsWith('may be retried')) ? 'waits' : 'refused';
  return isTold() ? 'rebuilt' : 'served';
}

/**
 * Does what a moment is about to a collection. Answers null, or what it came to where that is not as it should be or
 * was told.
 */
export async function during(call: Call, moment: Moment, model: CollectionModel, seed: number): Promise<string | null> {
  const path = `/v1/collections/${model.name}`;
  const named = (message: string | null | undefined): string =>
    message?.includes(model.name) ? 'told' : `failed without a name: ${message}`;
  if (moment === 'load') {
    const refusal = await model.change(call, 5);
    return refusal === null ? null : named(refusal);
  }
  if (moment === 'backup') {
    const begun = await call('POST', '/v1/admin/backups', { collections: [model.name] });
    if (begun.status === 'error') return named(begun.error?.message);
    const backup = await over(() => call('GET', `/v1/admin/backups/${begun.data.id}`));
    if (backup === null) return `the backup is not over after ${OVER_DEADLINE_MS / 1000} s, and nothing says why`;
    if (backup.state === 'running') {
      await call('DELETE', `/v1/admin/backups/${begun.data.id}`);
      return named(`a backup waits for ${backup.waits_for}`);
    }
    if (backup.state !== 'done' || !backup.collections.some(({ name }: { name: string }) => name === model.name))
      return named(backup.error ?? JSON.stringify(backup));
    // What is in it is what was acknowledged.
    const name = `${model.name}-restored`;
    const restore = await call('POST', '/v1/admin/restore', { backup: backup.id, rename: { [model.name]: name } });
    if (restore.status === 'error') return `no restore of what is done: ${restore.error?.message}`;
    const ended = await over(() => call('GET', `/v1/admin/restores/${restore.data.id}`));
    if (ended?.state !== 'done') return `no restore of what is done: ${JSON.stringify(ended)}`;
    const { wrong, refused } = await model.copy(seed, name).read(call);
    return wrong.length + refused.length > 0 ? `the backup is wrong: ${[...wrong, ...refused].join('; ')}` : null;
  }
  if (moment === 'reshard') {
    const begun = await call('POST', `${path}/reshard`, { shards: 2 });
    if (begun.status === 'error') {
      // An earlier one, or this one, may be done though its answer was an error.
      const { data } = await call('GET', path);
      return data?.shards === 2 ? null : named(begun.error?.message);
    }
    const ended = await resharded(call, model.name);
    if (ended === null) return null;
    // What is given up leaves the collection as it was.
    await call('DELETE', `${path}/reshard`);
    return named(ended);
  }
  return null;
}

/** Does what failed while a fault lasted, which may still be given up. Null when it is done; else what keeps it. */
export async function doneAgain(
  call: Call,
  moment: Moment,
  model: CollectionModel,
  seed: number,
): Promise<string | null> {
  let last: string | null = null;
  for (const end = performance.now() + OVER_DEADLINE_MS; performance.now() < end; await pause(10 * CHECK_MS)) {
    const noted: Call = async (method, path, body) => {
      const answer = await call(method, path, body);
      if (answer.error !== null) last = answer.error.message;
      return answer;
    };
    const told = await during(noted, moment, model, seed);
    if (told === null) return null;
    last = told === 'told' ? last : told;
  }
  return `${moment} after the fault: ${last}`;
}

/** Waits until a backup or restore is over, or says what it waits for, and answers it; null if it is not in time. */
export async function over(ask: () => Promise<Envelope>): Promise<any> {
  for (const end = performance.now() + OVER_DEADLINE_MS; performance.now() < end; await pause(CHECK_MS)) {
    const { data } = await ask();
    if (
      data !== null &&
      ((data.state !== 'running' && data.state !== 'cancelling') || (data.waits_for ?? null) !== null)
    )
      return data;
  }
  return null;
}

/** null: the collection has its new number of shards. Else why not. */
async function resharded(call: Call, name: string): Promise<string | null> {
  let last: unknown = null;
  for (const end = performance.now() + OVER_DEADLINE_MS; performance.now() < end; await pause(CHECK_MS)) {
    const { data } = await call('GET', '/v1/cluster');
    const reshard = data?.reshards?.find(({ collection }: { collection: string }) => collection === name);
    last = reshard ?? last;
    // The new shards have taken over, and the old ones go later.
    if (reshard === undefined || reshard.state === 'retiring')
      return (await call('GET', `/v1/collections/${name}`)).data?.shards === 2
        ? null
        : `the reshard of ${name} is gone`;
    if (reshard.state === 'failed') return `reshard of ${name} failed: ${reshard.error}`;
    // One is copied after the other; what keeps the first ends it, or is that one's.
    if (reshard.waits_for !== null && !reshard.waits_for.endsWith(IN_TURN))
      return `a reshard waits for ${reshard.waits_for}`;
  }
  return `the reshard is not over after ${OVER_DEADLINE_MS / 1000} s, and nothing says why: ${JSON.stringify(last)}`;
}

/** Works through a list, some of it at a time. */
export async function inTurns<Part>(parts: readonly Part[], work: (part: Part) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < parts.length) await work(parts[next++]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Asks a process to stop; null if it did in order, else what was wrong. */
export async function stopInTime(
  service: { stop(): Promise<number | null>; kill(): Promise<void> },
  deadlineMs: number,
): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((done) => (timer = setTimeout(() => done('late'), deadlineMs)));
  const code = await Promise.race([service.stop(), late]);
  clearTimeout(timer);
  if (code === 'late') await service.kill();
  return code === 0 ? null : code === 'late' ? `no stop within ${deadlineMs / 1000} s` : `ended with ${code}`;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
