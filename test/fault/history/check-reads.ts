import type { KeyOperation } from './key-operation';
import type { KeyTimeline } from './key-timeline';
import { describeOperation, mayChange, type Operation, type SeenItem } from './operation';
import type { Violation } from './violation';

/**
 * The set rules over reads by id: nothing acknowledged is lost, nothing deleted comes back, nothing is shown that was
 * never written (or whose write failed, or was not yet called), and reads never go back to a value that was replaced.
 */
export function checkReads(timelines: ReadonlyMap<string, KeyTimeline>): Violation[] {
  const violations: Violation[] = [];
  for (const [id, timeline] of timelines) {
    for (const read of timeline.operations) {
      if (read.type !== 'read') continue;
      const item = read.source.result.items?.find((each) => each.id === id);
      const found = item === undefined ? lost(id, timeline, read) : impossibleItem('read', item, timeline, read.source);
      if (found !== null) violations.push(found);
    }
  }
  return violations;
}

/** What is wrong with an item that `reader` showed; null when it may have been live while the reader looked. */
export function impossibleItem(
  rule: string,
  item: SeenItem,
  timeline: KeyTimeline | undefined,
  reader: Operation,
): Violation | null {
  const { id, value } = item;
  const shown = `${describeOperation(reader, id)} showed ${id}=${value}`;
  const life = value === null ? undefined : timeline?.lives.get(value);
  if (value === null || life === undefined)
    return {
      rule: `${rule}: phantom`,
      sentence: `${shown}, which no write that can have succeeded wrote`,
      operations: [reader],
    };
  if (item.torn)
    return {
      rule: `${rule}: torn item`,
      sentence: `${shown} with a vector or a text that is not of that value`,
      operations: [life.write.source, reader],
    };
  const write = describeOperation(life.write.source, id);
  if (life.write.inv >= reader.ret)
    return {
      rule: `${rule}: phantom`,
      sentence: `${shown} before ${write} was called`,
      operations: [reader, life.write.source],
    };
  if (reader.inv < life.goneBy || life.goneEvidence === null) return null;
  const gone = life.goneEvidence;
  const isBack = gone.value === null;
  return {
    rule: `${rule}: ${isBack ? 'resurrected' : 'stale'}`,
    sentence: `${shown}, written by ${write}, after ${describeOperation(gone.source, id)} had ${verbOf(gone)}`,
    operations: [life.write.source, gone.source, reader],
  };
}

/**
 * While nothing is wrong with the service, every read is answered, whatever is written beside it. `operations`: of that
 * time.
 */
export function checkAnswered(operations: readonly Operation[]): Violation[] {
  return operations
    .filter(({ kind, outcome }) => !mayChange(kind) && outcome !== 'ok')
    .map((read) => ({
      rule: 'read: failed',
      sentence: `${describeOperation(read)} failed in peace: ${read.code ?? 'no code'}, ${read.message}`,
      operations: [read],
    }));
}

function verbOf(gone: KeyOperation): string {
  if (gone.type === 'read') return gone.value === null ? 'found it absent' : `found ${gone.value} in its place`;
  return gone.type === 'delete' ? 'deleted it' : `replaced it by ${gone.value}`;
}

function lost(id: string, timeline: KeyTimeline, read: KeyOperation): Violation | null {
  const evidence = timeline.presentThroughout(read.inv, read.ret);
  if (evidence === null) return null;
  const known = evidence.type === 'read' ? `had found ${evidence.value}` : 'was acknowledged';
  return {
    rule: 'read: lost',
    sentence: `${describeOperation(read.source, id)} found no ${id}, although ${describeOperation(evidence.source, id)} ${known} and no delete can have followed`,
    operations: [evidence.source, read.source],
  };
}
