import { attack, type Attack, gzipped, library, post, type Shot } from '../attack';

const MIB = 1024 * 1024;
const SIZES = [1.9 * MIB, 30 * MIB];

/** One body of about `bytes` bytes: `head`, as many `unit`s as fit, `tail`. */
function filled(head: string, unit: string, tail: string, bytes: number): Buffer {
  return Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(Math.floor(bytes / unit.length) * unit.length, unit),
    Buffer.from(tail),
  ]);
}

function bomb(name: string, head: string, unit: string, tail: string): Attack {
  return attack({
    name: `json:${name}`,
    shots: () => SIZES.map((bytes) => post(library('search'), filled(head, unit, tail, bytes))),
  });
}

function distinctKeys(bytes: number): Shot {
  const members = Array.from({ length: Math.floor(bytes / 13) }, (_, i) => `"${i.toString(36)}":0`);
  return post(library('search'), `{"vector":[1],"filters":{${members.join(',')}}}`);
}

/** JSON that costs more to build than to send. */
export const BODY_ATTACKS: Attack[] = [
  bomb('nested-arrays', '{"x":[', '[', ''),
  bomb('objects', '{"x":[{}', ',{}', ']}'),
  bomb('broken-objects', '{"x":[{}', ',{}', ']'),
  bomb('nested-objects', '{"x":', '{"a":', ''),
  bomb('numbers', '{"x":[1', ',1', ']}'),
  bomb('vector', '{"vector":[1', ',1', ']}'),
  bomb('broken-vector', '{"vector":[1', ',1', ',x]}'),
  bomb('escapes', '{"x":"', '\\u0061', '"}'),
  bomb('spaces', '{', ' ', '}'),
  bomb('same-key', '{"x":0', ',"x":0', '}'),
  attack({ name: 'json:distinct-keys', shots: () => SIZES.map(distinctKeys) }),
  attack({
    name: 'json:gzip-bomb',
    shots: () =>
      [1.9 * MIB, 60 * MIB, 200 * MIB].map((bytes) =>
        post(library('search'), gzipped('{"x":[0', ',0', bytes / 2, ']}'), { 'content-encoding': 'gzip' }),
      ),
  }),
  attack({
    name: 'json:queries',
    shots: () => SIZES.map((bytes) => post(library('bulk_search'), filled('{"queries":[{}', ',{}', ']}', bytes))),
  }),
];
