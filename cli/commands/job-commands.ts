import type { Command } from 'commander';
import type { Job } from '../../clients/typescript/src/generated/api-types';
import type { JobsQuery } from '../../clients/typescript/src/api';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { printJson } from '../terminal/print';
import { showProgress } from '../terminal/progress';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, wholeNumber } from './connected-command';

/** The largest that the service gives. */
const PAGE = 1_000;

type JobOptions = ConnectionOptions & { json?: true };

/** Long work of the service: what there is, how far it is, and to wait for it. */
export function addJobCommands(program: Command, context: CommandContext): void {
  const jobs = program
    .command('jobs')
    .description('long work, such as backups and reshards: list, show, wait, cancel, pause, resume, switch, back');
  const command = (name: string, description: string): Command =>
    connected(jobs.command(name).description(description)).option('--json', 'print JSON');

  connected(jobs.command('list', { isDefault: true }).description('list jobs, the newest first'))
    .option('--json', 'print JSON')
    .option('--kind <kind>', 'those of one kind, as "backup"')
    .option('--state <state>', 'those that are queued, running, paused, done, failed or cancelled')
    .option('--collection <name>', 'those that work on a collection')
    .action(async (options: JobOptions & Pick<JobsQuery, 'kind' | 'state' | 'collection'>) => {
      const found: Job[] = [];
      const { kind, state, collection } = options;
      for await (const job of connect(context, options).client.jobs.list({ kind, state, collection, limit: PAGE }))
        found.push(job);
      if (options.json) return printJson(context, found);
      context.output.write(
        table(
          ['id', 'state', 'done', 'collection', 'subject', 'since', 'waits for', 'error'],
          found.map((job) => [
            job.id,
            stateOf(job),
            `${Math.floor(job.progress * 100)} %`,
            job.collection ?? '',
            job.subject,
            job.created_at ?? '',
            job.waits_for ?? '',
            job.error ?? '',
          ]),
        ),
      );
    });
  command('show', 'show how far a job is')
    .argument('<id>')
    .action(async (id: string, options: JobOptions) =>
      printJob(context, await connect(context, options).client.jobs.get(id), options),
    );
  command('wait', 'wait until a job is over; one that failed or was cancelled ends with an error')
    .argument('<id>')
    .action(async (id: string, options: JobOptions) => {
      const progress = showProgress(context, { label: id, unit: '%', isQuiet: false });
      let job: Job;
      try {
        const onProgress = (seen: Job): void => progress.report(seen.progress, Math.floor(seen.progress * 100));
        job = await connect(context, options).client.jobs.wait(id, { signal: context.signal, onProgress });
      } finally {
        progress.stop();
      }
      printJob(context, job, options);
      if (job.state !== 'done')
        throw new CommandError(
          `job ${id} ${job.state === 'failed' ? 'failed' : 'was cancelled'}${job.error === null ? '' : `: ${job.error}`}`,
          EXIT_CODES.failed,
        );
    });
  command('switch', 'let the new vectors of a reembed that is ready take over')
    .argument('<id>')
    .option('--keep-hours <hours>', 'how long there is a way back; also of one that has switched', wholeNumber(0, 744))
    .action(async (id: string, options: JobOptions & { keepHours?: number }) => {
      const { keepHours: keep_hours } = options;
      const { jobs: api } = connect(context, options).client;
      printJob(context, await api.switch(id, keep_hours === undefined ? {} : { keep_hours }), options);
    });
  for (const [verb, description] of [
    ['cancel', 'give a job up, and take back what it made'],
    ['pause', 'let a job rest'],
    ['resume', 'go on with a job that is paused'],
    ['back', 'go back to the vectors of before the switch of a reembed'],
  ] as const) {
    command(verb, description)
      .argument('<id>')
      .action(async (id: string, options: JobOptions) =>
        printJob(context, await connect(context, options).client.jobs[verb](id), options),
      );
  }
}

function printJob(context: CommandContext, job: Job, { json }: JobOptions): void {
  if (json) return printJson(context, job);
  const { id, kind, collection, subject, progress, done, total, unit, seconds_left: left } = job;
  const lines = [
    `${id}: ${stateOf(job)}, ${Math.floor(progress * 100)} %`,
    `${kind}${collection === null ? '' : ` of ${collection}`}${subject === '' ? '' : `: ${subject}`}`,
    ...(total > 0 ? [`${done} of ${total} ${unit}${left === null ? '' : `, ${Math.ceil(left)} s left`}`] : []),
    ...(job.waits_for === null ? [] : [`waits for: ${job.waits_for}`]),
    ...(job.error === null ? [] : [`error: ${job.error}`]),
    ...(job.result === null ? [] : [`result: ${JSON.stringify(job.result)}`]),
  ];
  context.output.write(`${lines.join('\n')}\n`);
}

function stateOf({ state, step }: Job): string {
  return step === null ? state : `${state} (${step})`;
}
