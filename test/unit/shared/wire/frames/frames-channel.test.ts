import { FramesChannel } from '../../../../../shared/wire/frames/frames-channel';
import { readFramesMethod } from '../../../../../shared/wire/frames/read-frames';
import type { StreamEnd } from '../../../../../shared/wire/streams/rpc-stream';

/** A member says its address itself, and what it says may be wrong. */
const NO_ADDRESS = 'localhost:70000';

/** How a stream to the address ends; fails if it is told before there is one. */
async function endOf(address: string): Promise<StreamEnd> {
  const channel = new FramesChannel({ address, credentials: { secret: 'sixteen letters!', tls: null } });
  let isOpened = false;
  const ended = new Promise<StreamEnd>((resolve, reject) => {
    channel.open(readFramesMethod, {
      ready: () => reject(new Error('it is ready')),
      frame: () => reject(new Error('it has a frame')),
      ended: (end) => (isOpened ? resolve(end) : reject(new Error('it ends before it is there'))),
    });
  });
  isOpened = true;
  return ended;
}

test('a stream to an address with a port that there can not be ends as one that can not be connected', async () => {
  expect(await endOf(NO_ADDRESS)).toEqual({ isRefused: false, reason: expect.stringContaining('70000') });
});

test('a stream to such an address can be given up before it has ended, and ends once', async () => {
  const ends: string[] = [];
  const channel = new FramesChannel({ address: NO_ADDRESS, credentials: { secret: 'sixteen letters!', tls: null } });
  channel.open(readFramesMethod, {
    ready: () => undefined,
    frame: () => undefined,
    ended: ({ reason }) => ends.push(reason),
  });
  channel.close();
  await new Promise((turn) => setImmediate(turn));
  expect(ends).toEqual(['the channel is closed']);
});
