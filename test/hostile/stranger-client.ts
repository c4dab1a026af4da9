import { connect, type Socket } from 'node:net';
import { connect as connectSecured } from 'node:tls';
import type { Attack } from './attack';
import { type Address, RECONNECT_MS, type Tally } from './hostile-client';

/** How long a stranger waits for anything to come back before it tries again; who was heard closes at once. */
const HEARD_WITHIN_MS = 100;
/** A byte of a slow beginning each. */
const TRICKLE_EVERY_MS = 200;

type StrangerAttack = Pick<Attack, 'lanes' | 'mode' | 'door' | 'bySecured'>;

/** Connections of somebody who has no key and no secret, to every port of the kind. */
export function strangersOn(address: Address, attack: StrangerAttack, volleys: readonly Buffer[], tally: Tally): void {
  const ports = address.doors[attack.door ?? 'api'];
  if (ports.length === 0) return;
  for (let lane = 0; lane < attack.lanes; lane += 1)
    strangerOn(address, ports[lane % ports.length], attack, volleys, lane, tally);
}

function strangerOn(
  address: Address,
  port: number,
  attack: StrangerAttack,
  volleys: readonly Buffer[],
  turn: number,
  tally: Tally,
): void {
  const volley = volleys[turn % volleys.length];
  const socket = dial(address, port, attack.bySecured);
  let timer: NodeJS.Timeout | undefined;
  socket.on('error', () => undefined).resume();
  socket.on('close', () => {
    clearInterval(timer);
    tally[-1] = (tally[-1] ?? 0) + 1;
    setTimeout(() => strangerOn(address, port, attack, volleys, turn + 1, tally), RECONNECT_MS);
  });
  socket.on(attack.bySecured ? 'secureConnect' : 'connect', () => {
    tally[0] = (tally[0] ?? 0) + 1;
    if (attack.mode === 'volley') {
      socket.write(volley);
      timer = setTimeout(() => socket.destroy(), HEARD_WITHIN_MS);
    } else if (attack.mode === 'trickle') {
      let at = 0;
      timer = setInterval(() => socket.write(volley.subarray(at, ++at)), TRICKLE_EVERY_MS);
    } else if (volley.length > 0) socket.write(volley);
  });
}

function dial({ host, from }: Address, port: number, bySecured: boolean): Socket {
  const place = { host, port, ...(from === null ? {} : { localAddress: from }) };
  if (!bySecured) return connect(place);
  // Whose certificate it is does not matter to a stranger.
  return connectSecured({ ...place, ALPNProtocols: ['h2'], rejectUnauthorized: false });
}
