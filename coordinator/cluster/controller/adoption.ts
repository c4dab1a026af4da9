import { NODES_PREFIX, storeOf } from '../../../shared/cluster-store/entries/members';
import type { NodeReport } from '../../../shared/cluster-store/entries/node-report';
import {
  assignmentFromEntry,
  assignmentPath,
  assignmentToValue,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import type { ClusterMap } from '../cluster-map';
import { repliesOn } from './node-reports';

/**
 * What operators decided about shards whose map was put back, by `<collection uid>/<shard>`: the last decision of each.
 * The value says when, for which node, under which epoch, and what the map and the nodes said before.
 */
const ADOPTIONS_PREFIX = '/q/adoptions/';

/**
 * Makes one node's replica of a shard what counts, on an operator's word: it leads, in sync with nobody, and others
 * copy from it. What it lacks is lost, so this is for shards alone whose map is earlier than what nodes know and can't
 * be put right without people (see decideRepair).
 */
export class Adoption {
  constructor(
    private readonly parts: {
      store: ClusterStore;
      map: ClusterMap;
      reports: () => Promise<Map<string, NodeReport>>;
      clock: Clock;
      log: Logger;
    },
  ) {}

  /** Answers the new epoch. Errors: not_found, invalid_parameter when there is nothing to decide, unavailable. */
  async adopt(id: ShardId, node: string): Promise<{ epoch: number; before: number }> {
    const { store, map, clock, log } = this.parts;
    const path = assignmentPath(id);
    const entry = await store.get(path);
    if (entry === null) throw new QuiverError('not_found', `shard ${id.shard} does not exist`);
    const known = map.behind().get(path);
    if (known === undefined)
      throw new QuiverError(
        'invalid_parameter',
        `the map of shard ${id.shard} is not earlier than what nodes know: there is nothing to adopt`,
      );
    const member = map.nodes.get(NODES_PREFIX + node);
    if (member === null) throw new QuiverError('not_found', `node ${node} does not exist or is down`);
    const reports = repliesOn(id, await this.parts.reports());
    if ((reports.get(node) ?? null) === null)
      throw new QuiverError('invalid_parameter', `node ${node} holds no replica of shard ${id.shard}`);
    const found = assignmentFromEntry(entry);
    const base = known.get(node)?.assignment ?? map.inForce(path) ?? found;
    const epochs = [
      found.epoch,
      ...[...known.values()].map((one) => one.assignment.epoch),
      ...[...reports.values()].map((report) => report?.epoch ?? 0),
    ];
    const primary = { node, store: storeOf(member.value, id) };
    const at = new Date(clock.wallMs()).toISOString();
    const adopted: ShardAssignment = {
      ...base,
      epoch: Math.max(...epochs) + 1,
      primary,
      inSync: [primary],
      eligible: [],
      replicas: base.replicas.includes(node) ? base.replicas : [node, ...base.replicas],
      adding: [],
      removing: [],
      changeId: `adopted ${at}`,
    };
    const record = {
      at,
      node,
      epoch: adopted.epoch,
      lastSequence: reports.get(node)?.lastSequence,
      map: found,
      known: Object.fromEntries(known),
    };
    const value = assignmentToValue(adopted);
    const result = await store.transact(
      // As for a promotion: without the node's entry, a store that is gone meanwhile could become the only one that
      // counts.
      [
        { key: path, revision: entry.revision },
        { key: member.key, revision: member.revision },
      ],
      [
        { type: 'put', key: path, value },
        { type: 'put', key: `${ADOPTIONS_PREFIX}${id.collectionUid}/${id.shard}`, value: JSON.stringify(record) },
      ],
    );
    if (!result.applied)
      throw new QuiverError(
        'unavailable',
        `shard ${id.shard} or the entry of node ${node} was changed meanwhile; the call may be retried`,
      );
    map.assignments.put({ key: path, value, revision: result.revision });
    log.warn({ ...id, ...record }, 'an operator made one replica of a shard what counts; what it lacks is lost');
    return { epoch: adopted.epoch, before: found.epoch };
  }
}
