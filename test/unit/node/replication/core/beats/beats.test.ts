import type { Beat, BeatAck } from '../../../../../../node/replication/core/beats/beat';
import { beatFromWire, beatToWire } from '../../../../../../node/replication/links/beat-frames';
import { LANES, ReceivedLanes, SentLanes } from '../../../../../../node/replication/core/beats/beat-lanes';
import { BeatReceiver } from '../../../../../../node/replication/core/beats/beat-receiver';
import { BeatSender } from '../../../../../../node/replication/core/beats/beat-sender';
import type { AppendAck, AppendMessage } from '../../../../../../node/replication/core/messages';
import { Chance } from '../../../../../simulation/chance';

/** Beats stand for heartbeats, no more and no less, whatever becomes of the messages. */

const SHARDS = 12;
const MOMENTS = 150;
const SEED = Number(process.env.SEED ?? 1);
console.log(`beats: SEED=${SEED}`);

function heartbeat(sequence: number, sentAt: number, sharesSince = 0): AppendMessage {
  const recorded = [{ replica: { node: 'b', store: 'b.0' }, epoch: 1, match: sequence }];
  return {
    epoch: 1,
    from: 'a',
    prev: { epoch: 1, sequence },
    commit: sequence,
    sentAt,
    releasesLease: false,
    sharesSince,
    withdrawsShare: false,
    recorded,
    entries: [],
  };
}

function match(sequence: number, sentAt: number): AppendAck {
  return {
    epoch: 1,
    replica: { node: 'b', store: 'b.0' },
    sentAt,
    awaited: 0,
    result: { type: 'match', match: sequence, agreed: sequence },
  };
}

const shardOf = (shard: number): { collectionUid: string; shard: number } => ({ collectionUid: 'c', shard });

test('a beat stands for each heartbeat that is said again, and its answer for theirs', () => {
  const sender = new BeatSender({ to: 'b', sessionPrefix: 's' });
  const receiver = new BeatReceiver({ self: 'b', from: 'a' });
  expect([1, 2, 3].map((shard) => sender.take(shardOf(shard), heartbeat(shard, 100)))).toEqual([false, false, false]);
  expect(sender.flush()).toEqual({ beat: null, alone: [] });
  expect([1, 2, 3].map((shard) => sender.take(shardOf(shard), heartbeat(shard, 300, 100)))).toEqual([true, true, true]);
  const { beat } = sender.flush();
  const delivered: AppendMessage[] = [];
  const ack = receiver.receive(beat!, (shard, message) => {
    delivered.push(message);
    if (shard.shard !== 2) expect(receiver.covers(shard, match(shard.shard, 300))).toBe(true);
    else expect(receiver.covers(shard, { ...match(2, 300), awaited: 7 })).toBe(false);
  })!;
  expect(delivered).toEqual([1, 2, 3].map((shard) => heartbeat(shard, 300, 100)));
  expect(sender.answered(ack)).toEqual([1, 3].map((shard) => ({ shard: shardOf(shard), ack: match(shard, 300) })));
  expect(sender.answered(ack)).toEqual([]);
});

test('while nothing changes a beat names no member', () => {
  const { sender, receiver, exchange } = pair();
  for (let sentAt = 100; sentAt < 1000; sentAt += 200) exchange(sentAt);
  for (let shard = 0; shard < SHARDS; shard += 1) sender.take(shardOf(shard), heartbeat(1, 1100));
  const { beat, alone } = sender.flush();
  expect([beat!.joined, beat!.left, alone]).toEqual([[], [], []]);
  let delivered = 0;
  receiver.receive(beat!, () => (delivered += 1));
  expect(delivered).toBe(SHARDS);
});

test('a few heartbeats at a moment of their own go alone, and leave the set as it is', () => {
  const { sender, exchange } = pair();
  for (let sentAt = 100; sentAt < 1000; sentAt += 200) exchange(sentAt);
  sender.take(shardOf(3), heartbeat(1, 1050));
  expect(sender.flush()).toEqual({ beat: null, alone: [{ shard: shardOf(3), message: heartbeat(1, 1050) }] });
  expect(exchange(1100).beat!.left).toEqual([]);
});

test('a set that most have left for good becomes that of those who stay', () => {
  const { sender, exchange } = pair();
  for (let sentAt = 100; sentAt < 1000; sentAt += 200) exchange(sentAt);
  const staying = (sentAt: number): { joined: number; left: number; alone: number } => {
    for (let shard = 0; shard < 3; shard += 1) sender.take(shardOf(shard), heartbeat(1, sentAt));
    const { beat, alone } = sender.flush();
    return { joined: beat?.joined.length ?? 0, left: beat?.left.length ?? 0, alone: alone.length };
  };
  const moments = Array.from({ length: 15 }, (_, i) => staying(1100 + i * 200));
  // The last beat with all of them was at 900.
  expect(moments.slice(0, 14)).toEqual(Array.from({ length: 14 }, () => ({ joined: 0, left: 0, alone: 3 })));
  expect(moments[14]).toEqual({ joined: 0, left: SHARDS - 3, alone: 0 });
});

test('heartbeats that come less often have a lane of their own, so neither set changes by the other', () => {
  const sender = new SentLanes({ to: 'b', sessionPrefix: 's', count: LANES });
  const receiver = new ReceivedLanes({ self: 'b', from: 'a' });
  const paceOf = (shard: number): 'quiet' | 'unread' | 'dormant' =>
    shard < 3 ? 'quiet' : shard < 6 ? 'unread' : 'dormant';
  const pauses = { quiet: 200, unread: 600, dormant: 4800 };
  const isDue = (shard: number, sentAt: number): boolean => sentAt % pauses[paceOf(shard)] === 0;
  const counted: number[][] = [];
  for (let sentAt = 4800; sentAt <= 19_200; sentAt += 200) {
    for (let shard = 0; shard < SHARDS; shard += 1)
      if (isDue(shard, sentAt)) sender.take(shardOf(shard), heartbeat(shard, sentAt), paceOf(shard));
    const answered: number[] = [];
    for (const beat of sender.flush().beats) {
      const delivered: number[] = [];
      const ack = receiver.receive(beatFromWire(beatToWire(beat)), (shard, message) => {
        delivered.push(shard.shard);
        expect(receiver.covers(shard, match(shard.shard, message.sentAt))).toBe(true);
      })!;
      expect(new Set(delivered.map(paceOf))).toEqual(new Set([['quiet', 'unread', 'dormant'][beat.lane]]));
      if (sentAt > 14_400) expect([beat.joined, beat.left]).toEqual([[], []]);
      answered.push(...sender.answered(ack).map(({ shard }) => shard.shard));
    }
    counted.push([sentAt, answered.length]);
  }
  const later = counted.filter(([sentAt]) => sentAt > 9_600);
  expect(later).toEqual(
    later.map(([sentAt]) => [
      sentAt,
      Array.from({ length: SHARDS }, (_, shard) => isDue(shard, sentAt)).filter(Boolean).length,
    ]),
  );
});

test.each([
  [1, [[0, SHARDS]]],
  [
    2,
    [
      [0, 4],
      [1, SHARDS - 4],
    ],
  ],
  [
    3,
    [
      [0, 4],
      [1, 2],
      [2, SHARDS - 6],
    ],
  ],
])(
  'a receiver that knows %i lanes gets what would be in others in the last of them, and none in a lane unknown here',
  (count, expected) => {
    const sender = new SentLanes({ to: 'b', sessionPrefix: 's', count });
    for (const sentAt of [2400, 4800])
      for (let shard = 0; shard < SHARDS; shard += 1)
        sender.take(shardOf(shard), heartbeat(shard, sentAt), shard < 4 ? undefined : shard < 6 ? 'unread' : 'dormant');
    const { beats } = sender.flush();
    expect(beats.map(({ lane, joined }) => [lane, joined.length])).toEqual(expected);
    expect(
      new ReceivedLanes({ self: 'b', from: 'a' }).receive({ ...beats[0], lane: LANES }, () => fail('delivered')),
    ).toBe(null);
  },
);

test('a receiver that began anew takes nothing of a set that it never had, and gets it whole', () => {
  const { sender, exchange } = pair();
  for (let sentAt = 100; sentAt < 1000; sentAt += 200) exchange(sentAt);
  const anew = new BeatReceiver({ self: 'b', from: 'a' });
  for (let shard = 0; shard < SHARDS; shard += 1) sender.take(shardOf(shard), heartbeat(1, 1100));
  const refusal = anew.receive(sender.flush().beat!, () => fail('delivered'))!;
  expect(refusal.isUnknown).toBe(true);
  expect(sender.answered(refusal)).toEqual([]);
  for (let shard = 0; shard < SHARDS; shard += 1) sender.take(shardOf(shard), heartbeat(1, 1300));
  let delivered = 0;
  const ack = anew.receive(sender.flush().beat!, (shard) => {
    delivered += 1;
    anew.covers(shard, match(1, 1300));
  })!;
  expect([delivered, sender.answered(ack).length]).toEqual([SHARDS, SHARDS]);
});

test('what is not shipped yet is told again and again, and by a heartbeat of its own once it is another entry', () => {
  const sender = new BeatSender({ to: 'b', sessionPrefix: 's' });
  const receiver = new BeatReceiver({ self: 'b', from: 'a' });
  const told = (sentAt: number, unshippedFrom: number): AppendMessage => ({ ...heartbeat(5, sentAt), unshippedFrom });
  expect(sender.take(shardOf(1), told(100, 3))).toBe(false);
  expect(sender.take(shardOf(1), told(300, 3))).toBe(true);
  const delivered: AppendMessage[] = [];
  receiver.receive(beatFromWire(beatToWire(sender.flush().beat!)), (_shard, message) => delivered.push(message));
  expect(delivered).toEqual([told(300, 3)]);
  expect(sender.take(shardOf(1), told(500, 6))).toBe(false);
});

test('what says something of leases, carries entries or has no known answer is never abbreviated', () => {
  const sender = new BeatSender({ to: 'b', sessionPrefix: 's' });
  const plain = heartbeat(1, 100);
  const others: AppendMessage[] = [
    { ...plain, releasesLease: true },
    { ...plain, withdrawsShare: true },
    { ...plain, entries: [{ epoch: 1, sequence: 2, write: null }] },
    { ...plain, recorded: [] },
    { ...plain, prev: { epoch: 1, sequence: 9 } },
  ];
  for (const message of others)
    expect([sender.take(shardOf(1), message), sender.take(shardOf(1), message)]).toEqual([false, false]);
});

test.each(Array.from({ length: 8 }, (_, i) => SEED + i))(
  'messages that are lost, doubled and late stand for nothing that was not said, seed %i',
  (seed) => {
    const chance = new Chance(seed);
    const said = new Set<string>();
    const say = (what: unknown): void => void said.add(JSON.stringify(what));
    const mustBeSaid = (what: unknown): void => {
      if (!said.has(JSON.stringify(what))) throw new Error(`nobody said ${JSON.stringify(what)}`);
    };
    const sequences = Array.from({ length: SHARDS }, () => 1);
    let receiver = new BeatReceiver({ self: 'b', from: 'a' });
    let sender = new BeatSender({ to: 'b', sessionPrefix: `s${seed}` });
    const beats: Beat[] = [];
    const acks: BeatAck[] = [];
    let delivered = 0;
    let acknowledged = 0;
    const takeBeat = (beat: Beat): void => {
      const ack = receiver.receive(beat, (shard, message) => {
        mustBeSaid([shard.shard, message.prev.sequence, message.sentAt, message.sharesSince]);
        delivered += 1;
        // Closed, behind, or as expected.
        const answer = chance.happens(0.05)
          ? null
          : match(chance.happens(0.05) ? message.prev.sequence - 1 : message.prev.sequence, message.sentAt);
        if (answer === null) return;
        say([shard.shard, answer]);
        receiver.covers(shard, answer);
      });
      if (ack !== null) acks.push(ack);
    };
    const takeAck = (ack: BeatAck): void => {
      for (const one of sender.answered(ack)) {
        mustBeSaid([one.shard.shard, one.ack]);
        acknowledged += 1;
      }
    };
    for (let moment = 1; moment <= MOMENTS; moment += 1) {
      const sharesSince = chance.happens(0.7) ? (moment - 1) * 100 : 0;
      for (let shard = 0; shard < SHARDS; shard += 1) {
        if (chance.happens(0.03)) sequences[shard] += 1;
        if (chance.happens(0.05)) continue;
        const message = heartbeat(sequences[shard], moment * 100, chance.happens(0.02) ? 0 : sharesSince);
        say([shard, message.prev.sequence, message.sentAt, message.sharesSince]);
        sender.take(shardOf(shard), message);
      }
      const { beat } = sender.flush();
      if (beat !== null) beats.push(beat);
      for (const [queue, take] of [
        [beats, takeBeat],
        [acks, takeAck],
      ] as [unknown[], (what: unknown) => void][]) {
        while (queue.length > 0 && chance.happens(0.7)) {
          const [what] = queue.splice(chance.happens(0.8) ? 0 : chance.below(queue.length), 1);
          if (chance.happens(0.1)) continue;
          take(what);
          if (chance.happens(0.1)) queue.push(what);
        }
      }
      if (chance.happens(0.02)) receiver = new BeatReceiver({ self: 'b', from: 'a' });
      if (chance.happens(0.02)) sender = new BeatSender({ to: 'b', sessionPrefix: `s${seed}.${moment}` });
    }
    expect(delivered).toBeGreaterThan(MOMENTS);
    expect(acknowledged).toBeGreaterThan(MOMENTS / 2);
  },
);

/** Both ends, and a moment at which all shards say what they said before. */
function pair(): { sender: BeatSender; receiver: BeatReceiver; exchange: (sentAt: number) => { beat: Beat | null } } {
  const sender = new BeatSender({ to: 'b', sessionPrefix: 's' });
  const receiver = new BeatReceiver({ self: 'b', from: 'a' });
  const exchange = (sentAt: number): { beat: Beat | null } => {
    for (let shard = 0; shard < SHARDS; shard += 1) sender.take(shardOf(shard), heartbeat(1, sentAt));
    const { beat } = sender.flush();
    if (beat === null) return { beat };
    const ack = receiver.receive(beat, (shard) => void receiver.covers(shard, match(1, sentAt)));
    if (ack !== null) sender.answered(ack);
    return { beat };
  };
  return { sender, receiver, exchange };
}
