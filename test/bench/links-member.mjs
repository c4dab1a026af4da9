// One node, or all the others, as far as heartbeats between nodes go, in one process: what links-bench.mjs measures.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { folder, isMeasured, peers, shards, pauseMs, port } = JSON.parse(process.argv[2]);
const load = createRequire(join(folder, 'dist', 'index.js'));
const { StreamReplicationLinks } = load('./node/replication/links/stream-replication-links.js');
const { ReplicationService } = load('./node/replication/links/replication-service.js');
const { silentLogger } = load('./shared/base/logs/logger.js');
const { RpcChannels } = load('./shared/wire/streams/rpc-channels.js');
const { RpcServer } = load('./shared/wire/streams/rpc-server.js');
const { systemClock } = load('./shared/base/time/clock.js');

/** The measured node is the first. */
const numbers = Array.from({ length: peers + 1 }, (_, number) => number);
const others = numbers.slice(1);
const addressOf = (name) => `127.0.0.1:${port + Number(name.slice(1))}`;
const counts = { appends: 0, answers: 0 };
const members = [];
for (const number of isMeasured ? [0] : others) members.push(await start(`n${number}`));
process.on('message', (message) => {
  if (message === 'counts') process.send(counts);
  else members.forEach((member, i) => beginBeats(member, (i * pauseMs) / members.length));
});
process.send('ready');

async function start(name) {
  const credentials = { secret: 'links-bench-secret', tls: null, name };
  const channels = new RpcChannels({ credentials });
  const links = new StreamReplicationLinks({
    nodeId: name,
    addressOf,
    takesFrames: () => true,
    channels,
    credentials,
    clock: systemClock,
    log: silentLogger,
  });
  links.deliverTo({
    onAppend: (shard, { from, epoch, prev, sentAt, recorded }) => {
      counts.appends += 1;
      const { replica, match } = recorded[0];
      links.sendAck(from, shard, {
        epoch,
        replica,
        sentAt,
        awaited: 0,
        result: { type: 'match', match, agreed: prev.sequence },
      });
    },
    onAck: () => {
      counts.answers += 1;
    },
    onStreamStarted: () => undefined,
  });
  const service = new ReplicationService({ links, snapshots: null });
  const server = new RpcServer({ services: [service], ...credentials, addressOf: () => addressOf(name) });
  // An earlier version has gRPC alone.
  await server.listenBeside(addressOf(name), null, service.frames);
  return { name, links };
}

/** As primaries of shards that nobody reads: to each of the others that of `shards` of them, all at one moment. */
function beginBeats({ name, links }, afterMs) {
  const beats = (isMeasured ? others : [0]).flatMap((number) =>
    Array.from({ length: shards }, (_, i) => ({
      to: `n${number}`,
      shard: { collectionUid: `collection ${i}`, shard: isMeasured ? number : Number(name.slice(1)) },
      prev: { epoch: 1, sequence: 5 },
      recorded: [{ replica: { node: `n${number}`, store: `store of ${number}` }, epoch: 1, match: 5 }],
    })),
  );
  const beat = () => {
    const sentAt = systemClock.monotonicMs();
    for (const { to, shard, prev, recorded } of beats) {
      links.sendAppend(
        to,
        shard,
        {
          epoch: 1,
          from: name,
          prev,
          commit: 5,
          sentAt,
          releasesLease: false,
          sharesSince: 0,
          withdrawsShare: false,
          recorded,
          entries: [],
        },
        true,
      );
    }
  };
  setTimeout(() => {
    beat();
    setInterval(beat, pauseMs);
  }, afterMs);
}
