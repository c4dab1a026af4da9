import type { Logger } from '../logs/logger';
import { isPortTaken } from '../errors/port-refused';
import type { OpsServer } from './ops-server';

/**
 * Opens the operations port and answers it. The default port is that of other programs, too (9090 of Prometheus): where
 * it is taken and nobody asked for it (`isGiven`), the system chooses another, and the log says which. Errors: as
 * OpsServer.listen.
 */
export async function openOpsPort(
  ops: Pick<OpsServer, 'listen'>,
  place: { port: number; host: string; isGiven: boolean; log: Pick<Logger, 'warn'> },
): Promise<number> {
  const { port, host, isGiven, log } = place;
  try {
    return await ops.listen(port, host);
  } catch (error) {
    if (isGiven || !isPortTaken(error)) throw error;
    const taken = await ops.listen(0, host);
    log.warn({ opsPort: taken }, opsPortNotice(port, taken));
    return taken;
  }
}

/** What people are told where the operations port is another than the usual one. */
export function opsPortNotice(usual: number, port: number): string {
  return `Port ${usual} is taken by another program: the operations port (/metrics, /readyz, /livez) is ${port} this time. OPS_PORT sets one.`;
}
