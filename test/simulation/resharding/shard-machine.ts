import { type StageState, mustAnswer, OPEN_STAGE } from '../../../node/engine/records/shard-stage-state';
import { UNCOUNTED, type VersionCount } from '../../../node/engine/records/version-count';
import { type PlanGround, planWrites, type PriorItem } from '../../../node/engine/shard/writing/write-plan';
import type { ShardSpec, WriteOperation, WriteResult } from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf, ShardTransfer } from '../../../shared/contract/shard/shard-read';
import { resultOf } from '../../../shared/base/time/work-slices';
import { answerPlainly, type PlainItem } from '../../support/shards/plain-shard-client';
import type { StateMachine } from '../simulated-storage';

const known = new WeakMap<Buffer, WriteOperation[]>();

/** A write as it is in a log. */
export function payloadOfOperations(operations: WriteOperation[]): Buffer {
  const payload = Buffer.from(operations.map(({ type }) => type).join(' '));
  known.set(payload, operations);
  return payload;
}

/** What a backup has of a shard. */
export interface ArchivedShard {
  items: PlainItem[];
  /** The highest version that was given. */
  lastVersion: number;
}

const archived = new WeakMap<Buffer, ArchivedShard>();

/** What a restored shard begins with, as it is in a log. */
export function payloadOfArchive(shard: ArchivedShard): Buffer {
  const payload = Buffer.from('seed');
  archived.set(payload, shard);
  return payload;
}

/** What a broken variant does to a shard. */
export interface ShardTamper {
  /** What is applied in the place of a write. */
  operations?: (operations: WriteOperation[], stageState: StageState) => WriteOperation[];
  /** The gate by which a write is judged. What it becomes counts from the shard's own. */
  stageState?: (stageState: StageState) => StageState;
  /** Whether what a write changes is noted. */
  notes?: (operations: WriteOperation[]) => boolean;
  /** Whether a read is answered whatever the gate says. */
  answers?: (stageState: StageState) => boolean;
}

/**
 * A shard's items, its gate and its versions after the operations of its log: planned as the shard plans them, kept in
 * a map.
 */
export class ShardMachine implements StateMachine {
  private items = new Map<string, PlainItem & { slot: number }>();
  private readonly bySlot = new Map<number, PlainItem>();
  private slots = 0;
  private stageState: StageState = OPEN_STAGE;
  private versions: VersionCount = UNCOUNTED;
  private changes: { change: number; externalId: string }[] = [];
  private operations = 0;
  private lastStamp = 0;

  constructor(
    private readonly spec: ShardSpec,
    private readonly tamper: ShardTamper = {},
    /** Told of every operation that came in a term that was over. */
    private readonly onOutdated: (type: WriteOperation['type'] | 'harmful_import') => void = () => undefined,
    /** Rows that are in no graph yet. */
    private readonly rowsToIndex: () => number = () => 0,
  ) {}

  reset(): void {
    this.items.clear();
    this.bySlot.clear();
    this.slots = 0;
    this.stageState = OPEN_STAGE;
    this.versions = UNCOUNTED;
    this.changes = [];
    this.operations = 0;
    this.lastStamp = 0;
  }

  apply(payload: Buffer): WriteResult {
    const { tamper } = this;
    const beginning = archived.get(payload);
    if (beginning !== undefined) return this.beginWith(beginning);
    const operations = known.get(payload)!;
    for (const operation of operations)
      if ('term' in operation && operation.term < this.stageState.term)
        this.onOutdated(this.isHarmful(operation) ? 'harmful_import' : operation.type);
    const judged = tamper.stageState?.(this.stageState) ?? this.stageState;
    const ground: PlanGround = {
      priorOf: (externalId) => this.priorOf(externalId),
      vectorOf: (slot) => this.bySlot.get(slot)!.vector,
      stageState: judged,
      versions: this.versions,
      highestVersion: (except) =>
        Math.max(
          0,
          ...[...this.items.values()]
            .filter(({ slot }) => !except.has(slot))
            .map(({ version, stamp }) => version || stamp),
        ),
    };
    const plan = resultOf(planWrites([tamper.operations?.(operations, this.stageState) ?? operations], ground));
    for (const { externalId } of plan.deletes) this.items.delete(externalId);
    for (const { item } of plan.puts) {
      const { externalId, stamp, version, metadata, text, vector } = item;
      this.store({ externalId, stamp, version, metadata, text, vector });
    }
    if (tamper.notes?.(operations) !== false)
      this.changes.push(...plan.changes.sort((one, other) => one.change - other.change));
    this.versions = plan.versions;
    const isStaged = plan.stageState.stage !== judged.stage || plan.stageState.term !== judged.term;
    this.stageState =
      isStaged || judged === this.stageState
        ? plan.stageState
        : { ...this.stageState, lastChange: plan.stageState.lastChange };
    this.operations += 1;
    return plan.results[0];
  }

  /** Errors: as a shard's. */
  answer<Kind extends ReadKind>(kind: Kind, request: RequestOf<Kind>): AnswerOf<Kind> {
    const { spec, items, stageState, changes, versions, operations, lastStamp } = this;
    if (this.tamper.answers?.(stageState) !== true) mustAnswer(stageState, kind, request);
    const answer = answerPlainly(
      {
        spec,
        items,
        stageState,
        changes,
        lastVersion: versions.last,
        lastOperation: operations,
        lastStamp,
        marks: new Map(),
      },
      kind,
      request,
    );
    const left = this.rowsToIndex();
    if (kind === 'transfer' && left > 0)
      Object.assign((answer as ShardTransfer).index!, { state: 'indexing', rows: left });
    return answer;
  }

  /** Whether it would put something else in the place of what is there, if its term did not count. */
  private isHarmful(operation: WriteOperation): boolean {
    if (operation.type !== 'import' || this.stageState.stage !== 'filling') return false;
    return (this.items.get(operation.externalId)?.stamp ?? 0) > (operation.item?.stamp ?? Infinity);
  }

  /** In the order of their numbers. */
  archive(): ArchivedShard {
    const items = [...this.items.values()].sort((one, other) => one.slot - other.slot);
    return { items: items.map(({ slot: _slot, ...item }) => item), lastVersion: this.versions.last };
  }

  private beginWith({ items, lastVersion }: ArchivedShard): WriteResult {
    for (const item of items) this.store(item);
    this.versions = { isCounting: true, last: lastVersion };
    this.operations += 1;
    return { outcomes: [], firstVersion: 0, present: [] };
  }

  private store(item: PlainItem): void {
    const stored = { ...item, slot: ++this.slots };
    this.items.set(item.externalId, stored);
    this.bySlot.set(stored.slot, stored);
    this.lastStamp = Math.max(this.lastStamp, item.stamp);
  }

  private priorOf(externalId: string): PriorItem | null {
    const item = this.items.get(externalId);
    if (item === undefined) return null;
    const { slot, stamp, version, metadata, text } = item;
    return { slot, recno: slot, stamp, version, metadata, text };
  }
}
