import type { ServiceDefinition } from '@grpc/grpc-js';
import { exchangeFrames } from '../../../node/replication/links/exchange-frames';
import { replicationDefinition } from '../../../node/replication/links/replication-definition';
import { administrationDefinition } from '../../../shared/wire/administration';
import { loadService, readsDefinition, writesDefinition } from '../../../shared/wire/streams/protocol';
import { stringsToBytes } from '../../../shared/wire/codecs/string-list-codec';
import { operationsToBytes } from '../../../shared/contract/writes/operation-codec';
import { mutateBytes } from '../byte-mutation';
import { below, pick } from '../fuzz-target';
import { mutateJson } from '../json-mutation';
import type { RpcCase, Standing } from './rpc-case';

interface KnownMethod {
  kind: 'call' | 'framed';
  to: 'node' | 'coordinator';
  path: string;
  serialize: (message: never) => Buffer;
  /** Messages that work. Bytes are base64, as protobuf's JSON has them. */
  frames: object[];
}

function methodOf(definition: ServiceDefinition, name: string, to: KnownMethod['to'], frames: object[]): KnownMethod {
  const { path, requestSerialize } = definition[name];
  return { kind: 'call', to, path, serialize: requestSerialize as KnownMethod['serialize'], frames };
}

/** The form of protobuf. */
function framedOf({ path }: { path: string }, frames: object[]): KnownMethod {
  const { serialize } = methodOf(replicationDefinition as unknown as ServiceDefinition, 'Exchange', 'node', []);
  return {
    kind: 'framed',
    to: 'node',
    path,
    serialize: (message) => Buffer.concat([Buffer.of(0), serialize(message)]),
    frames,
  };
}

function base64(bytes: Buffer | Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

const FILTERS = [
  '',
  '{"type":"equals","path":"a","value":1}',
  '{"type":"and","filters":[]}',
  '{"type":"not","filter":{"type":"exists","path":"a"}}',
  '{"type":"in","path":"a","values":[1,null]}',
];

/** Frames of every service, to one shard that nobody else uses: valid, with other values, or other bytes. */
export class RpcCases {
  private readonly methods: KnownMethod[];

  constructor(uid: string) {
    const shard = { collectionUid: uid, shard: 0 };
    const read = { id: 1, shard, epoch: 1, remainingMs: 1_000 };
    const vector = base64(new Uint8Array(Float32Array.of(1, 2, 3).buffer));
    const terms = base64(stringsToBytes(['seed', 'words']));
    const payload = operationsToBytes([
      {
        type: 'upsert',
        externalId: 'seed-0',
        vector: Float32Array.of(1, 2, 3),
        stamp: 1,
        metadata: '{"a":1}',
        text: 'a text',
        expected: 0,
      },
      { type: 'delete', externalId: 'seed-1', filter: { type: 'equals', path: 'a', value: 1 } },
    ]);
    const write = {
      id: 1,
      shard,
      epoch: 1,
      remainingMs: 1_000,
      session: 'fuzz',
      requestNumber: 1,
      settledBelow: 0,
      payloadBytes: payload.length,
      payload: base64(payload),
    };
    const entry = {
      epoch: 1,
      sequence: 1,
      write: { session: 'fuzz', requestNumber: 1, settledBelow: 0, payload: base64(payload), payloadId: 0 },
    };
    // Of a shard that is not there: a member that leads may take away what it has not committed, and is believed.
    const append = {
      collectionUid: 'nobody',
      shard: 0,
      epoch: 1,
      prev: { epoch: 0, sequence: 0 },
      commit: 0,
      sentAt: 1,
      releasesLease: false,
      sharesSince: 1,
      withdrawsShare: false,
      recorded: [{ replica: { node: 'node-0', store: 'a' }, epoch: 1, match: 1 }],
      entries: [entry],
    };
    const peers = loadService<ServiceDefinition>('quiver/v1/peers.proto', 'quiver.v1.Peers');
    this.methods = [
      methodOf(readsDefinition as ServiceDefinition, 'Exchange', 'node', [
        ...FILTERS.map((filter) => ({
          requests: [{ ...read, search: { vector, k: 2, filter, ef: 0, exact: false, texts: true } }],
        })),
        { requests: [{ ...read, score: { vector, externalIds: base64(stringsToBytes(['seed-0', 'absent'])) } }] },
        {
          requests: [
            { ...read, keywordStatistics: { terms } },
            {
              ...read,
              id: 2,
              keywordSearch: {
                terms,
                statistics: { documentCount: 3, totalLength: 9, documentFrequencies: [1, 2] },
                k: 3,
                filter: '',
              },
            },
          ],
        },
        { requests: [{ ...read, fetch: { externalIds: base64(stringsToBytes(['seed-0'])), vectors: true } }] },
        {
          requests: [
            {
              ...read,
              scan: {
                afterExternalId: '',
                afterStamp: 0,
                limit: 10,
                filter: FILTERS[1],
                vectors: true,
                withoutTexts: false,
              },
            },
          ],
        },
        {
          requests: [
            { ...read, count: {} },
            { ...read, id: 2, status: {} },
          ],
          cancelledIds: [1, 7],
        },
      ]),
      methodOf(writesDefinition as ServiceDefinition, 'Exchange', 'node', [
        { requests: [write], parts: [{ id: 1, payload: base64(payload) }], cancelledIds: [] },
        { requests: [{ ...write, payloadBytes: payload.length * 2 }], parts: [{ id: 1, payload: base64(payload) }] },
      ]),
      framedOf(exchangeFrames, [
        { node: 'node-9', pieces: [{ payloadId: 1, bytes: base64(payload) }], appends: [append] },
        { node: 'node-0', pieces: [], appends: [{ ...append, epoch: 3, entries: [{ ...entry, epoch: 3 }] }] },
      ]),
      methodOf(replicationDefinition as unknown as ServiceDefinition, 'Install', 'node', [
        { header: { collectionUid: 'nobody', shard: 0, epoch: 9 } },
        { piece: { bytes: base64(payload), isLast: true } },
      ]),
      methodOf(administrationDefinition as unknown as ServiceDefinition, 'Exchange', 'node', [
        { id: 1, probe: false },
        { id: 2, probe: true },
        { id: 3, probe: false, digestOf: shard },
      ]),
      methodOf(peers, 'Exchange', 'coordinator', [{ id: 1, subject: 'key:7' }]),
    ];
  }

  generate(random: () => number): RpcCase {
    if (random() < 0.15)
      return { kind: 'bytes', to: pick(random, ['node', 'coordinator']), pieces: http2Pieces(random) };
    const method = pick(random, this.methods);
    const standing = pick<Standing>(random, ['member', 'member', 'member', 'wrong', 'none']);
    const frames = Array.from({ length: 1 + below(random, 4) }, () => this.frame(random, method).toString('base64'));
    return { kind: method.kind, to: method.to, path: method.path, standing, frames };
  }

  private frame(random: () => number, method: KnownMethod): Buffer {
    const valid = pick(random, method.frames);
    let bytes = method.serialize(valid as never);
    if (random() < 0.6) {
      try {
        bytes = method.serialize(mutateJson(random, valid) as never);
      } catch {
        // Not every value fits into a message; its bytes are changed instead.
        return mutateBytes(random, bytes);
      }
    }
    return random() < 0.4 ? mutateBytes(random, bytes) : bytes;
  }
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const FRAME_TYPES = 11;

/** A preface and frames of any type, flags, stream and length; or bytes that are none of it. */
function http2Pieces(random: () => number): string[] {
  const frames = Array.from({ length: 1 + below(random, 12) }, () => {
    const payload = Buffer.from(
      Array.from({ length: pick(random, [0, 4, 5, 6, 8, 40, 300]) }, () => below(random, 256)),
    );
    const head = Buffer.alloc(9);
    head.writeUIntBE(random() < 0.9 ? payload.length : below(random, 0xffffff), 0, 3);
    head[3] = below(random, FRAME_TYPES);
    head[4] = pick(random, [0, 1, 4, 5, 8, 0x20, 0xff]);
    head.writeUInt32BE(pick(random, [0, 0, 1, 1, 2, 3, 0x7fffffff, 0xffffffff]), 5);
    return Buffer.concat([head, payload]);
  });
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const whole = Buffer.concat([...(random() < 0.9 ? [PREFACE, settings] : []), ...frames]);
  return [(random() < 0.3 ? mutateBytes(random, whole) : whole).toString('base64')];
}
