// All nodes but the measured one, as far as members-bench.mjs says, in one process.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { MEASURED, nodeName, SECRET, sealedStore } from './members-map.mjs';

const { folder, scratch, etcdAt, addresses } = JSON.parse(process.argv[2]);
const load = createRequire(join(folder, 'dist', 'index.js'));
const { AssignmentChanges } = load('./node/hosting/replicas/assignment-changes.js');
const { ReplicatedShard } = load('./node/hosting/replicas/replicated-shard.js');
const { indexFactories } = load('./node/engine/index-factories.js');
const { RocksKeyValueStore } = load('./node/engine/kv/rocks-key-value-store.js');
const { StoreBudget } = load('./node/engine/kv/store-budget.js');
const { StreamReplicationLinks } = load('./node/replication/links/stream-replication-links.js');
const { ReplicaTicks } = load('./node/replication/replica-ticks.js');
const { ReplicationService } = load('./node/replication/links/replication-service.js');
const { WriteBudget } = load('./node/engine/shard/writing/write-queue.js');
const { LATER_ASSIGNMENTS_PREFIX, NODES_PREFIX } = load('./shared/cluster-store/entries/members.js');
const { RegisteredEntry } = load('./shared/cluster-store/entries/registered-entry.js');
const { ASSIGNMENTS_PREFIX, assignmentFromEntry } = load('./shared/cluster-store/entries/shard-assignment.js');
const { WatchedEntries } = load('./shared/cluster-store/entries/watched-entries.js');
const { silentLogger } = load('./shared/base/logs/logger.js');
const { OWN_VERSION, versionToFields } = load('./shared/base/process/member-version.js');
const { FRAME_TYPES, FrameLink } = load('./shared/wire/frames/frame-link.js');
const { RpcChannels } = load('./shared/wire/streams/rpc-channels.js');
const { RpcServer } = load('./shared/wire/streams/rpc-server.js');
const { systemClock } = load('./shared/base/time/clock.js');

const SESSION_SECONDS = 3;
const TOMBSTONES_PREFIX = '/q/dropped/';
/** The moments of heartbeats of nodes on machines of their own have nothing to do with each other. */
const CLOCKS_APART_MS = 997;

const counted = countMessages();
let said = 0;
const numbers = addresses.map((_, number) => number).slice(1);
const members = new Map();
for (const number of numbers) members.set(nodeName(number), await start(number));
const map = new WatchedEntries({
  store: sealedStore(load, etcdAt),
  prefix: ASSIGNMENTS_PREFIX,
  decode: assignmentFromEntry,
  onUnreadable: fail,
});
await map.follow();
map.onChange(() => {
  for (const { value, revision } of map.all())
    if (value.replicas.includes(MEASURED))
      for (const node of value.replicas) members.get(node)?.assigned(value, revision);
});
process.on('message', (word) => {
  if (word === 'counts') process.send({ ...counted(), said });
  else watchAll().then(() => process.send('watching'), fail);
});
process.send('ready');

async function watchAll() {
  for (const { watch } of members.values()) await watch();
}

function fail(error) {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
}

/**
 * Counts what goes both ways between these nodes and the measured one: a connection of two of these has both its ends
 * here.
 */
function countMessages() {
  const links = new Map();
  for (const name of ['send', 'take']) {
    const original = FrameLink.prototype[name];
    FrameLink.prototype[name] = function noted(type, ...rest) {
      let link = links.get(this);
      if (link === undefined)
        links.set(this, (link = { ends: [this.socket.localPort, this.socket.remotePort], messages: 0, pings: 0 }));
      if (type === FRAME_TYPES.message) link.messages += 1;
      else if (type === FRAME_TYPES.ping || type === FRAME_TYPES.pong) link.pings += 1;
      return original.call(this, type, ...rest);
    };
  }
  return () => {
    const here = new Set([...links.values()].map(({ ends }) => ends.join('-')));
    const sum = { messages: 0, pings: 0 };
    for (const { ends, messages, pings } of links.values()) {
      if (here.has(`${ends[1]}-${ends[0]}`)) continue;
      sum.messages += messages;
      sum.pings += pings;
    }
    return sum;
  };
}

async function start(number) {
  const nodeId = nodeName(number);
  const address = addresses[number];
  const startedMs = number * CLOCKS_APART_MS;
  const clock = { wallMs: () => systemClock.wallMs(), monotonicMs: () => systemClock.monotonicMs() + startedMs };
  const store = sealedStore(load, etcdAt);
  const credentials = { secret: SECRET, tls: null, name: nodeId };
  const channels = new RpcChannels({ credentials });
  const links = new StreamReplicationLinks({
    nodeId,
    addressOf: (node) => addresses[Number(node.slice(5))],
    takesFrames: () => true,
    channels,
    credentials,
    clock,
    log: silentLogger,
  });
  const hosted = new Map();
  const keyOf = ({ collectionUid, shard }) => `${collectionUid}/${shard}`;
  links.deliverTo({
    onAppend: (shard, message, nowMs) => {
      if (message.from === MEASURED) said += 1;
      hosted.get(keyOf(shard))?.open?.replica.received(message, nowMs);
    },
    onAck: (shard, ack, nowMs) => {
      if (ack.replica.node === MEASURED) said += 1;
      hosted.get(keyOf(shard))?.open?.replica.acknowledged(ack, nowMs);
    },
    onStreamStarted: (node) => {
      for (const { open } of hosted.values()) open?.replica.streamStarted(node);
    },
  });
  const service = new ReplicationService({ links, snapshots: null });
  const server = new RpcServer({ services: [service], ...credentials, addressOf: () => address });
  await server.listenBeside(address, null, service.frames);

  const own = `store-of-${nodeId}`;
  const entry = {
    id: nodeId,
    address,
    store: own,
    incarnation: randomUUID(),
    zone: '',
    pid: process.pid,
    startedAt: new Date().toISOString(),
    diskBytes: 0,
    freeBytes: 0,
    ...versionToFields(OWN_VERSION),
  };
  const registration = new RegisteredEntry({
    store,
    key: NODES_PREFIX + nodeId,
    value: JSON.stringify(entry),
    ttlSeconds: SESSION_SECONDS,
  });
  while (!registration.isRegistered) await new Promise((done) => setTimeout(done, 20));

  const changes = new AssignmentChanges({ store });
  const ticks = new ReplicaTicks(clock);
  const budget = new WriteBudget();
  const storeBudget = new StoreBudget();
  const shardOptions = {
    factories: indexFactories,
    openStore: (path) => RocksKeyValueStore.open(path, storeBudget),
    recallTarget: 0.99,
    buildThreads: 1,
    logger: silentLogger,
  };
  const open = (assignment) =>
    ReplicatedShard.open({
      folder: join(scratch, nodeId, assignment.spec.collectionUid, String(assignment.spec.shard)),
      spec: assignment.spec,
      assignment,
      self: { node: nodeId, store: own },
      mayBeNew: true,
      changeIdPrefix: randomUUID(),
      shardOptions,
      budget,
      clock,
      ticks,
      log: silentLogger,
      dependencies: () => ({
        links,
        changeAssignment: (change) => changes.make(change),
        sendSnapshot: async () => fail(new Error('a copy is asked for')),
        onFailed: fail,
      }),
    });
  return {
    /** What every node watches. What it is told is not kept: a hundred maps take gigabytes. */
    async watch() {
      const { revision } = await store.list(NODES_PREFIX + nodeId);
      for (const prefix of [NODES_PREFIX, ASSIGNMENTS_PREFIX, TOMBSTONES_PREFIX, LATER_ASSIGNMENTS_PREFIX])
        store.watch(prefix, revision, () => undefined);
    },
    assigned(assignment, revision) {
      const key = keyOf(assignment.spec);
      const known = hosted.get(key);
      if (known !== undefined) {
        if (known.revision === revision) return;
        known.revision = revision;
        known.assignment = assignment;
        known.open?.replica.assigned(assignment, revision);
        return;
      }
      const place = { open: null, assignment, revision };
      hosted.set(key, place);
      open(assignment).then((replicated) => {
        place.open = replicated;
        replicated.replica.assigned(place.assignment, place.revision);
      }, fail);
    },
  };
}
