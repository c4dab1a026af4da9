import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { type UnprovenBounds, UnprovenConnections } from '../../../../../shared/wire/handshake/unproven-connections';

class FakeSocket extends EventEmitter {
  isCut = false;

  constructor(
    readonly remotePort: number,
    readonly remoteAddress: string | undefined = '10.0.0.1',
  ) {
    super();
  }

  destroy(): void {
    this.isCut = true;
  }
}

/** So many connections, from the ports 1, 2 and so on. */
function connectionsOf(count: number, bounds: UnprovenBounds = {}) {
  const connections = new UnprovenConnections(bounds);
  const sockets = Array.from({ length: count }, (_, i) => new FakeSocket(i + 1));
  for (const socket of sockets) connections.add(socket as unknown as Socket);
  return { connections, sockets, cut: () => sockets.filter(({ isCut }) => isCut).map(({ remotePort }) => remotePort) };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('one that is not proven in time is cut, whatever it says meanwhile; one that is stays', () => {
  const { connections, sockets, cut } = connectionsOf(3, { withinMs: 1_000 });
  sockets[2].emit('data', Buffer.of(1));
  jest.advanceTimersByTime(999);
  connections.proven('10.0.0.1:2');
  connections.proven('10.0.0.1:9');
  expect(cut()).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(cut()).toEqual([1, 3]);
  expect(jest.getTimerCount()).toBe(0);
});

test('of too many, the oldest is cut at once', () => {
  const { connections, cut } = connectionsOf(10, { most: 4 });
  expect(cut()).toEqual([1, 2, 3, 4, 5, 6]);
  connections.proven('10.0.0.1:7');
  connections.add(new FakeSocket(20) as unknown as Socket);
  expect(cut()).toEqual([1, 2, 3, 4, 5, 6]);
});

test('of too many from one address, its oldest is cut, and no other', () => {
  const connections = new UnprovenConnections({ most: 6, mostOfAddress: 2 });
  const sockets = ['10.0.0.2', ...Array<string>(9).fill('10.0.0.1'), '10.0.0.3'].map(
    (address, i) => new FakeSocket(i, address),
  );
  for (const socket of sockets) connections.add(socket as unknown as Socket);
  expect(sockets.filter(({ isCut }) => !isCut).map(({ remotePort }) => remotePort)).toEqual([0, 8, 9, 10]);
  connections.proven('10.0.0.1:8');
  connections.add(new FakeSocket(11) as unknown as Socket);
  expect(sockets[9].isCut).toBe(false);
  connections.close();
  expect(jest.getTimerCount()).toBe(0);
});

test('one that is gone is forgotten, and another of the same address and port is another', () => {
  const { connections, sockets, cut } = connectionsOf(2, { withinMs: 1_000, most: 2 });
  sockets[0].emit('close');
  expect(jest.getTimerCount()).toBe(1);
  const again = new FakeSocket(2);
  connections.add(again as unknown as Socket);
  expect(cut()).toEqual([2]);
  sockets[1].emit('close');
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1_000);
  expect(again.isCut).toBe(true);
});

test('the closing cuts them all', () => {
  const { connections, cut } = connectionsOf(3);
  connections.close();
  expect(cut()).toEqual([1, 2, 3]);
  expect(jest.getTimerCount()).toBe(0);
});
