import { availableParallelism } from 'node:os';
import { SocketEntrance } from '../coordinator/api/connections/socket-entrance';
import { LINK_MINUTES } from '../coordinator/service/keys/sign-in';
import { type Config, readConfig } from '../shared/base/config/config';
import { secretsOf } from '../shared/base/config/config-secrets';
import { describeUnknown, unknownSettings } from '../shared/base/config/unknown-settings';
import type { Logger } from '../shared/base/logs/logger';
import { createLogger } from '../shared/base/logs/pino-logger';
import { runUntilSignal } from '../shared/base/process/life-cycle';
import type { LineOutput } from '../shared/base/process/line-output';
import { listenHost, reachableHost, withPort } from '../shared/base/process/listen-host';
import { opsPortNotice } from '../shared/base/process/ops-port';
import { type ShutdownStack, startWithShutdown } from '../shared/base/process/shutdown-stack';
import { sayOnStandardError, StandardOutput } from '../shared/base/process/standard-output';
import { openEmbedded } from './embedded-service';

/** The embedded form as a process of its own. */

/**
 * `--private SOCKET`, of a program that starts the service for itself: it is served there alone, without a key, and
 * ends with its standard input, which that program holds open: so it does not outlive it, however that ends.
 */
const PRIVATE = '--private';

async function serve(
  given: Config,
  log: Logger,
  output: LineOutput,
  shutdown: ShutdownStack,
  stopSignal: AbortSignal,
): Promise<void> {
  const config = { ...given, host: await listenHost(given.host, Boolean(process.env.HOST)) };
  const socket = privateSocket();
  const entrance = socket === null ? null : new SocketEntrance(socket);
  const opened = await openEmbedded({ config, environment: process.env, log, output, shutdown, stopSignal, entrance });
  if (socket !== null) return;
  const { port, opsPort, first, modelNotice } = opened;
  const notices = [
    ...unknownSettings(process.env).map(describeUnknown),
    config.opsPort === 0 || opsPort === config.opsPort ? null : opsPortNotice(config.opsPort, opsPort),
    modelNotice,
  ];
  announce(output, config, { port, first, notices: notices.filter((notice) => notice !== null) });
}

/** Tells the person at the terminal where the service is; the only time that a key's secret is shown. */
function announce(
  output: LineOutput,
  config: Config,
  { port, first, notices }: { port: number; first: { secret: string; token: string } | null; notices: string[] },
): void {
  const origin = `${config.apiTlsCertFile === '' ? 'http' : 'https'}://${withPort(reachableHost(config.host), port)}${config.basePath}`;
  const lines = [`Quiver serves on ${origin}  (explorer: ${origin}/docs)`];
  if (config.apiUi === 'true') lines.push(`Dashboard: ${origin}/ui`);
  if (first !== null) lines.push(`Admin key, shown this once: ${first.secret}`);
  if (first !== null && config.apiUi === 'true')
    lines.push(
      `Or open the dashboard by this link, which works once and for ${LINK_MINUTES} minutes: ${origin}/ui#sign-in=${first.token}`,
    );
  if (config.rateLimitPerMinute > 0)
    lines.push(
      `Each key may make ${config.rateLimitPerMinute} requests a minute (RATE_LIMIT_PER_MINUTE; 0: any number).`,
    );
  output.write(`${[...lines, ...notices].join('\n')}\n`);
}

function privateSocket(): string | null {
  const at = process.argv.indexOf(PRIVATE);
  return at < 0 ? null : process.argv[at + 1];
}

/** Nobody is left who could ask for anything; what runs ends as by SIGTERM. */
function endWithInput(): void {
  const end = (): void => void process.kill(process.pid, 'SIGTERM');
  process.stdin.once('end', end).once('error', end).resume();
}

function main(): void {
  let config: Config;
  const isPrivate = privateSocket() !== null;
  try {
    config = readConfig(
      isPrivate ? { ...process.env, RATE_LIMIT_PER_MINUTE: '0' } : process.env,
      availableParallelism(),
    );
  } catch (error) {
    sayOnStandardError((error as Error).message);
    process.exitCode = 1;
    return;
  }
  const output = new StandardOutput(process.env);
  const log = createLogger({
    level: config.logLevel,
    secrets: secretsOf(config),
    output,
  });
  runUntilSignal({
    start: (stopSignal) => startWithShutdown((shutdown) => serve(config, log, output.lines, shutdown, stopSignal)),
    hardStopMs: config.shutdownTimeoutMs,
    logger: log,
  });
  if (isPrivate) endWithInput();
}

main();
