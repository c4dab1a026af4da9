import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterStore, StoreChange } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { ShardTransfer, StoredItem } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import {
  collectionFromEntry,
  collectionPath,
  collectionToValue,
  type CollectionRecord,
  CREATIONS_PATH,
  shardSettings,
} from '../../service/collections/collection-record';
import { OwnedReshard } from './owned-reshard';
import { obstacleOf, ofShards } from '../driving/obstacle';
import { type ExtraChanges, Superseded } from '../driving/owned-entry';
import { CatchUpPace, CHANGES_LEFT_MAX, LEAST_TEXTS_PER_SECOND, TEXTS_LEFT_MAX } from './catch-up-pace';
import { mustHaveModel, mustHoldNothing } from './empty-shards';
import type { StorageQuota } from '../../service/service';
import {
  type Compared,
  dropChanges,
  modelOf,
  NOTHING_COPIED,
  type Reembed,
  resharded,
  reshardJobId,
  type SetModel,
  type SourceProgress,
} from '../../service/collections/reshard-record';
import { DroppedItems } from './dropped-items';
import { textlessItems } from './textless-items';
import { passagesIn } from './item-embedder';
import { PauseSteps } from './pause-steps';
import { type Reembedding, reembedResult } from './reembedding';
import { shownIds, UnmadeItems, unmadeText } from './unmade-items';
import { idsOf, inBatches, type ItemState, OutdatedTerm, pageItems, ShardTransfers } from './shard-transfers';

/** One call of a shard while items are copied, and one while clients wait. */
const CALL_MS = 15_000;
const SEALED_CALL_MS = 2_000;
/** The old shards are opened again when sealing and what follows has not come to its end by then. */
const SEALED_MS = 4_000;
/** After sealing in vain, clients are left alone for so many times as long as they waited. */
const UNSEALED_TIMES = 10;
/** At most for so long. Where it is much longer, the wall clock was set. */
const UNSEALED_MAX_MS = 120_000;
/** Progress is stored so often. */
const STORE_EVERY_MS = 2_000;
/** Between two looks at new shards that are not indexed yet. */
const INDEX_CHECK_MS = 500;
/**
 * New rows that are not in a graph are scanned. That many are soon scanned; more are waited for, as long as they get
 * fewer.
 */
const ROWS_LEFT = { share: 0.05, least: 20_000 };
const INDEX_STALL_MS = 300_000;
/** Items whose texts are embedded together, and pages of them that are under way at once. */
const TEXT_PAGE_ITEMS = 256;
const TEXT_PAGES_AHEAD = 3;
/** They are left to be embedded while clients wait only if that takes no longer. */
const TEXTS_LEFT_MS = 500;
/**
 * Just before the old shards are sealed: it is tried for so long to leave no text, and clients may write this share of
 * what is embedded meanwhile. But a shard is slowed to no fewer writes a second by that: who waits longer for the next
 * one waits longer than what this is to save.
 */
const LAST_TEXTS = { forMs: 1_000, share: 0.25, leastOfShard: 25 };
/** With more changes that can't be taken over, the vectors of before are not kept: the shards in use note each. */
const KEPT_BEHIND_MAX = 200_000;
/** The same of what waits while a job is paused. */
const PAUSED_BEHIND_MAX = 1_000_000;
/** Between two looks at what clients have changed: before it switches, and while there is a way back. */
const FOLLOW_MS = { ready: 500, kept: 5_000 };
const HOUR_MS = 3_600_000;
/** Between two pages the copy rests as long as a page took, so that it takes at most half of what others need. */
const REST_MAX_MS = 500;

/** The restores for which collections that are empty get other shards. */
export interface FillingRestores {
  /** Whether there is one of this id that is not over. Errors: unavailable. */
  isRestoring(restore: string): Promise<boolean>;
  /**
   * What is noted in a restore together with the step from which there is no way back for the shards of this uid: from
   * then on it can't be given up. Errors: conflict when it was given up, or is not known any more; unavailable.
   */
  finalNote(restore: string, uid: string): Promise<ExtraChanges>;
}

export interface ReshardParts {
  restores: FillingRestores;
  /** What it takes to embed texts anew. */
  reembedding: Reembedding;
  store: ClusterStore;
  shards: Pick<ShardClient, 'make' | 'open' | 'read' | 'write'>;
  clock: Clock;
  log: Logger;
  /** Aborted when this process stops. */
  stop: AbortSignal;
}

/** Items of a shard, with the place behind them; the last page of a shard may have none. */
interface TextPage {
  shard: number;
  items: StoredItem[];
  after: SourceProgress['after'];
  isLast: boolean;
}

interface Found {
  record: CollectionRecord;
  revision: number;
}

/**
 * Drives a reshard from where it is, in one term. It ends with an error when something did not succeed, or somebody
 * else drives it, and can be begun again at any time, in a later term: everything that it asks of shards may be
 * repeated, and nothing of an earlier term counts where it has begun.
 */
export class ReshardPass {
  private readonly transfers: ShardTransfers;
  private readonly sealedTransfers: ShardTransfers;
  private readonly sources: SourceProgress[];
  private copied: number;
  private readonly dropped: DroppedItems;
  /** By the number of the old shard: changes that wait. */
  private readonly waiting: number[];
  /** The same: up to which of its marks this pass has taken over. */
  private readonly dedupTaken: number[];
  private readonly pace: CatchUpPace;
  private readonly leftMax: number;
  private readonly unmade: UnmadeItems;
  /** No text is embedded later than this, by monotonic time. */
  private textsUntilMs = Infinity;
  /** What a change took, with the vector of its text, when changes were taken over last. */
  private changeMs = 0;
  /** Whether no client writes to the old shards any more; by the number of the shard, the last version that it gave. */
  private isSealed = false;
  private readonly lastVersions: number[] = [];
  /** Whether clients write more slowly if that is what it takes. */
  private isLimiting = true;
  /** What was stored last of the changes that were taken over. */
  private storedChanges = -1;
  private storedMs: number;
  /** Since when clients wait, as far as this pass knows; null: they do not, or it does not know. */
  private sealingMs: number | null;
  /** From the moment on when clients begin to wait, as far as this pass knows. */
  private steps: PauseSteps;

  constructor(
    private readonly owned: OwnedReshard,
    private readonly parts: ReshardParts,
  ) {
    const { shards, clock } = parts;
    const { name: collection, to, id: reshard, term, sources, copied, state, unseals, reembed } = owned.record;
    const asked = { shards, clock, collection, newUid: to.uid, reshard, term };
    this.transfers = new ShardTransfers({ ...asked, timeoutMs: CALL_MS });
    this.sealedTransfers = new ShardTransfers({ ...asked, timeoutMs: SEALED_CALL_MS });
    this.sources = sources.map((source) => ({ ...source }));
    this.waiting = sources.map(() => 0);
    this.dedupTaken = sources.map(() => 0);
    this.copied = copied;
    this.dropped = new DroppedItems(reembed?.dropped);
    this.unmade = new UnmadeItems(reembed?.unmade);
    this.leftMax = reembed === undefined ? CHANGES_LEFT_MAX : TEXTS_LEFT_MAX;
    this.pace = new CatchUpPace(this.leftMax, reembed === undefined ? undefined : LEAST_TEXTS_PER_SECOND);
    this.storedMs = clock.monotonicMs();
    this.steps = new PauseSteps(clock);
    this.sealingMs = state === 'sealing' && unseals !== true ? clock.monotonicMs() : null;
  }

  /**
   * Resolves when the collection has its new shards, or the reshard was given up. Errors: those of the shards;
   * Superseded.
   */
  async run(): Promise<void> {
    try {
      await this.advance();
    } catch (error) {
      if (error instanceof OutdatedTerm) return this.noteOutdated(error);
      const isForth = this.state === 'filling' || this.state === 'ready' || this.state === 'sealing';
      if (isFinal(error) && isForth && this.reembed?.isBack !== true) {
        this.parts.log.error({ error, ...this.facts() }, 'a reshard cannot be done and is given up');
        await this.owned.change({ state: 'cancelling', error: (error as Error).message });
        return;
      }
      if (this.state === 'kept' && !(error instanceof Superseded)) {
        const reason = this.mustEnd(error);
        if (reason !== null) return this.endKeeping(reason);
      }
      // Clients wait: the old shards are opened again, and the rest is tried later.
      if (this.state === 'sealing' && this.owned.record.unseals !== true && !(error instanceof Superseded))
        await this.unseal();
      throw error;
    }
  }

  private get state(): string {
    return this.owned.record.state;
  }

  private get reembed(): Reembed | undefined {
    return this.owned.record.reembed;
  }

  private async advance(): Promise<void> {
    const collection = await this.collection();
    if (this.state === 'cancelling') return this.cancel(collection);
    if (collection === null) return this.abandon();
    if (this.owned.record.unseals === true) return this.unseal();
    if (this.reembed?.isPaused === true && (this.state === 'filling' || this.state === 'ready'))
      return this.lookPaused();
    await this.noteModel(collection.record);
    if (this.state === 'filling')
      await (this.isRestored ? this.awaitSeal(collection.record) : this.fill(collection.record));
    else if (this.state === 'ready') await this.awaitSwitch(collection.record);
    else if (this.state === 'kept') await this.keep(collection.record);
    // A process that was started again has opened the collection's own shards only.
    else if (this.state === 'sealing' || this.state === 'opening') await this.openNew(collection.record, 'open');
    if (this.state === 'sealing') await this.seal();
    if (this.state === 'opening') await this.open();
  }

  /** It waits for somebody, and the shards that clients use must not note what changes without an end. */
  private async lookPaused(): Promise<void> {
    const { from } = this.owned.record;
    const found = await this.transfers.lookAtAll(from);
    const noted = found.reduce((sum, { lastChange }, shard) => {
      const { since, change } = this.sources[shard];
      return sum + (since === 0 ? 0 : lastChange - change);
    }, 0);
    if (noted <= PAUSED_BEHIND_MAX) return;
    const error = `it was paused while ${noted} changes were written, which its shards note: begin it anew`;
    await this.owned.change({ state: 'cancelling', error });
    this.parts.log.warn({ ...this.facts(), noted }, 'a job that embeds texts was paused for too long and is given up');
  }

  /** What was without a model when it began has that of a first text by now: it is what there is a way back to. */
  private async noteModel(collection: CollectionRecord): Promise<void> {
    const { from } = this.owned.record;
    if (this.reembed === undefined || from.model?.embeddingModel !== null || collection.uid !== from.uid) return;
    if (collection.embeddingModel !== null) await this.owned.change({ from: { ...from, model: modelOf(collection) } });
  }

  /** Whether the new shards have what a backup has, and not the items of the old ones. */
  private get isRestored(): boolean {
    return this.owned.record.restored !== undefined;
  }

  /**
   * The new shards have what they shall have: nothing is copied, and the old ones are sealed as soon as they may be.
   */
  private async awaitSeal(collection: CollectionRecord): Promise<void> {
    await this.openNew(collection, 'make');
    await this.transfers.stageAll(this.owned.record.to, 'filling');
    // Marks may be many: those that there are now are taken over while nobody waits.
    await this.takeDedupRecords(this.transfers);
    for (const sealMs = this.sealMs(); this.parts.clock.monotonicMs() < sealMs;) await this.pause(INDEX_CHECK_MS / 5);
    await this.store({ state: 'sealing' });
  }

  /** Copies everything while clients use the old shards, until few changes are left and the new shards are indexed. */
  private async fill(collection: CollectionRecord): Promise<void> {
    const { from, to, reembed } = this.owned.record;
    if (reembed !== undefined) await this.checkTexts(reembed);
    await this.openNew(collection, 'make');
    await this.transfers.stageAll(to, 'filling');
    await this.track();
    if (reembed === undefined) {
      for (const [shard, { isCopied }] of this.sources.entries())
        if (!isCopied) await this.copy(shard, pageItems(collection.dim));
    } else await this.copyTexts();
    await this.catchUp();
    if (this.reembed !== undefined) {
      await this.compare(this.reembed, collection);
      // What was written meanwhile is taken over before anything is sealed, also where nobody has to ask for it.
      await this.store({ state: 'ready' });
      return this.reembed.switch === 'auto' ? this.awaitSwitch(collection) : undefined;
    }
    this.parts.log.info({ ...this.facts(), from, to }, 'a reshard has copied everything; the old shards are sealed');
    await this.store({ state: 'sealing' });
  }

  /** Errors: invalid_parameter when there are items without a text, though each should have one. */
  private async checkTexts(reembed: Reembed): Promise<void> {
    if (reembed.onNoText === 'drop' || reembed.isChecked === true) return;
    const { from, to } = this.owned.record;
    const found = await this.whileStored(textlessItems(this.transfers, from, to.model!, () => this.mustGoOn()));
    if (found.count > 0)
      throw new QuiverError(
        'invalid_parameter',
        `texts are missing in ${found.count} item${found.count === 1 ? '' : 's'}, such as ${shownIds(found.first)}: ` +
          'give them texts, delete them, or reembed with on_no_text "drop"',
      );
    await this.store({ reembed: { ...reembed, isChecked: true } });
  }

  /** Compares the vectors of before with the new ones, once: meanwhile nothing is taken over. */
  private async compare(reembed: Reembed, { quota }: CollectionRecord): Promise<void> {
    if (reembed.compared !== undefined) return;
    const { from, to, name } = this.owned.record;
    const { reembedding, stop } = this.parts;
    // What is sealed answers, and takes nothing.
    await this.transfers.stageAll(to, 'sealed');
    const comparison = reembedding.comparison(name, this.transfers, stop);
    const sides = [from, to].map((set) => ({ set, model: set.model! }));
    const compared = await this.whileStored(comparison.of(sides[0], sides[1], reembed.compare));
    await this.transfers.stageAll(to, 'filling');
    const warning = quota === undefined ? undefined : beyondQuota(quota, compared);
    await this.store({ reembed: { ...reembed, compared: { ...compared, ...(warning !== undefined && { warning }) } } });
  }

  /** Follows clients until somebody wants the switch. */
  private async awaitSwitch(collection: CollectionRecord): Promise<void> {
    const { from, to, reembed } = this.owned.record;
    await this.openNew(collection, 'open');
    await this.transfers.stageAll(to, 'filling');
    await this.track();
    const isItself = reembed?.switch === 'auto' && reembed.compared?.warning === undefined;
    if (reembed?.wanted !== 'switch' && !isItself) return this.follow(FOLLOW_MS.ready, Infinity);
    await this.catchUp();
    this.parts.log.info({ ...this.facts(), from, to }, 'a collection gets vectors of another model');
    await this.store({ state: 'sealing' });
  }

  /** The shards of before follow as long as there is a way back, and take over again when somebody wants that. */
  private async keep(collection: CollectionRecord): Promise<void> {
    const { from, to, reembed } = this.owned.record;
    const { keptUntil = 0, wanted, isEnding } = reembed!;
    if (isEnding === true || (wanted !== 'back' && this.parts.clock.wallMs() >= keptUntil)) return this.endKeeping();
    await this.openNew(collection, 'open');
    await this.transfers.stageAll(to, 'filling');
    await this.track();
    if (wanted !== 'back') {
      await this.follow(FOLLOW_MS.kept, keptUntil);
      return this.endKeeping();
    }
    await this.catchUp();
    if (this.unmade.ids.length > 0) {
      // Who asked for it asks again when it can be done.
      await this.store({ reembed: { ...reembed!, wanted: undefined }, waitsFor: unmadeText(this.unmade.ids) });
      this.parts.log.warn(this.facts(), 'a collection cannot go back to the vectors of before');
      return;
    }
    this.parts.log.info({ ...this.facts(), from, to }, 'a collection goes back to the vectors of before');
    await this.store({ state: 'sealing' });
  }

  /** Why the vectors of before can't be kept any longer; null: they can. */
  private mustEnd(error: unknown): string | null {
    if (error instanceof ForgottenChanges) return error.message;
    if (this.unmade.areTooMany) return unmadeText(this.unmade.ids);
    if (this.behind <= KEPT_BEHIND_MAX) return null;
    return `${this.behind} changes wait for the vectors of before: ${obstacleOf(error)}`;
  }

  /**
   * There is no way back any more. That is noted first: once a shard forgets what changed, nobody may ask for one.
   * `reason`: why it ends before its time.
   */
  private async endKeeping(reason?: string): Promise<void> {
    if (this.reembed!.isEnding !== true) {
      const reembed = { ...this.reembed!, isEnding: true, wanted: undefined };
      await this.owned.change({ reembed, ...(reason !== undefined && { error: reason }) });
    }
    await this.transfers.stageEach(this.owned.record.from, 'open');
    const outcome = { state: 'done' as const, result: { ...reembedResult(this.owned.record), kept_until: null } };
    const job = this.owned.endedJob(outcome, this.parts.clock.wallMs());
    await this.owned.end([...dropChanges(this.owned.record), ...job]);
    this.parts.log.info(this.facts(), 'the vectors of before are not kept any longer');
  }

  /** Takes over what changes, until a moment of wall time. Clients may write as fast as they like. */
  private async follow(everyMs: number, untilWallMs: number): Promise<void> {
    const { clock } = this.parts;
    this.isLimiting = false;
    this.textsUntilMs = clock.monotonicMs() + untilWallMs - clock.wallMs();
    try {
      while (clock.wallMs() < untilWallMs) {
        await this.whileStored(this.drainAll(this.transfers));
        if (this.changesDone !== this.storedChanges) await this.storeNowAndThen();
        await this.pause(everyMs);
      }
    } catch (error) {
      // Texts that come too late are of no use.
      if (!isQuiverError(error) || error.kind !== 'unavailable' || clock.wallMs() < untilWallMs) throw error;
    }
    this.isLimiting = true;
  }

  /**
   * As `copy`, of items of all shards that get vectors of their texts. Pages follow each other without a gap, from one
   * shard to the next: the model always has some.
   */
  private async copyTexts(): Promise<void> {
    const under: { page: TextPage; states: Promise<ItemState[]> }[] = [];
    const pages = this.textPages();
    for (let isEnd = false; !isEnd || under.length > 0;) {
      while (!isEnd && under.length < TEXT_PAGES_AHEAD) {
        const next = await pages.next();
        isEnd = next.done === true;
        if (next.done === true) break;
        const states = this.made(next.value.items.map((item) => ({ externalId: item.externalId, item })));
        // One that comes later may fail first.
        states.catch(() => undefined);
        under.push({ page: next.value, states });
      }
      const first = under.shift();
      if (first !== undefined) await this.importTexts(first.page, await this.whileStored(first.states));
    }
  }

  /** What is not copied yet, in the order of insertion, one shard after the other. */
  private async *textPages(): AsyncGenerator<TextPage> {
    const { from, to } = this.owned.record;
    const { vectors } = this.parts.reembedding;
    for (const [shard, { until = Infinity, isCopied, after: copied }] of this.sources.entries()) {
      let after = copied;
      for (let isLast = isCopied; !isLast;) {
        const limit = vectors.pageItems(to.model!, TEXT_PAGE_ITEMS);
        const items = await this.transfers.scan({ collectionUid: from.uid, shard }, after, limit, false);
        const last = items.at(-1);
        isLast = last === undefined || last.stamp > until;
        if (last !== undefined) after = { stamp: last.stamp, externalId: last.externalId };
        yield { shard, items: items.filter(({ stamp }) => stamp <= until), after, isLast };
      }
    }
  }

  private async importTexts({ shard, after, isLast }: TextPage, states: ItemState[]): Promise<void> {
    const startMs = this.parts.clock.monotonicMs();
    const source = this.sources[shard];
    await this.transfers.import(
      this.owned.record.to,
      states.filter(({ item }) => item !== null),
    );
    this.copied += states.length;
    for (const { externalId, item } of states) this.dropped.note(externalId, item === null);
    source.isCopied = isLast;
    source.after = isLast ? null : after;
    if (isLast) return this.store({});
    await this.rest(startMs);
    await this.storeNowAndThen();
  }

  /** The items as they are in the new shards. Errors: those of the model. */
  private async made(states: ItemState[], transfers = this.transfers): Promise<ItemState[]> {
    const { reembed, to } = this.owned.record;
    if (reembed === undefined) return states;
    const drops = reembed.onNoText === 'drop' || reembed.isBack === true;
    const untilMs = Math.min(transfers.untilMs, this.textsUntilMs);
    // While the old shards are sealed, clients wait.
    const isAwaited = transfers !== this.transfers;
    const { stop } = this.parts;
    return this.parts.reembedding.vectors.of(to.model as SetModel, states, { drops, isAwaited, stop, untilMs });
  }

  private async openNew(collection: CollectionRecord, how: 'make' | 'open'): Promise<void> {
    const settings = shardSettings(resharded(collection, this.owned.record));
    const { name, to } = this.owned.record;
    try {
      await inBatches(idsOf(to), (id) => this.parts.shards[how]({ ...id, ...settings }));
    } catch (error) {
      throw isQuiverError(error) ? ofShards(`the new shards of collection "${name}"`, error) : error;
    }
  }

  /**
   * The old shards note what changes from now on. What was copied before counts only if they did so without a pause.
   */
  private async track(): Promise<void> {
    const { from } = this.owned.record;
    await this.transfers.stageAll(from, 'tracking', (shard) => this.sources[shard].change);
    const found = await this.transfers.lookAtAll(from);
    found.forEach(({ since, lastChange }, shard) => {
      const source = this.sources[shard];
      // The new shards may have items that were deleted while nobody noted it.
      if (source.since > 0 && source.since !== since)
        throw new ForgottenChanges(`shard ${shard} has forgotten what changed since it was copied`);
      // What is copied is read later, so it has every change so far.
      if (source.since === 0) this.sources[shard] = { ...NOTHING_COPIED, since, change: lastChange };
    });
    // Without an end, the copy would go after clients who store faster.
    await inBatches(idsOf(from), async (id) => {
      const source = this.sources[id.shard];
      if (source.after === null && !source.isCopied) source.until = await this.transfers.lastStamp(id);
    });
    const total = found.reduce((sum, { vectorCount }) => sum + vectorCount, 0);
    // Nothing is copied by that: what kept the last attempt may keep this one, too.
    await this.store({ total, waitsFor: this.unswitched ?? this.owned.record.waitsFor });
  }

  private async copy(shard: number, limit: number): Promise<void> {
    const { from, to } = this.owned.record;
    const id = { collectionUid: from.uid, shard };
    const source = this.sources[shard];
    const { until = Infinity } = source;
    for (let next = this.transfers.scan(id, source.after, limit); ;) {
      const startMs = this.parts.clock.monotonicMs();
      const items = await next;
      const last = items.at(-1);
      if (last === undefined) break;
      const isEnd = last.stamp > until;
      if (!isEnd) {
        // It is read while this page is written. When that fails, nobody waits for it.
        next = this.transfers.scan(id, { stamp: last.stamp, externalId: last.externalId }, limit);
        next.catch(() => undefined);
      }
      const states = items
        .filter(({ stamp }) => stamp <= until)
        .map((item): ItemState => ({ externalId: item.externalId, item }));
      await this.transfers.import(to, states);
      source.after = { stamp: last.stamp, externalId: last.externalId };
      this.copied += states.length;
      if (isEnd) break;
      await this.rest(startMs);
      await this.storeNowAndThen();
    }
    source.isCopied = true;
    source.after = null;
    await this.store({});
  }

  /**
   * Takes over what has changed, again and again. Ends when few changes are left and searches of the new shards are
   * quick.
   */
  private async catchUp(): Promise<void> {
    const { clock } = this.parts;
    const { to } = this.owned.record;
    const sealMs = this.sealMs();
    let rowsLeft = Infinity;
    let movedMs = clock.monotonicMs();
    for (let lookMs = 0; ;) {
      const startMs = clock.monotonicMs();
      const left = await this.whileStored(this.drainAll(this.transfers));
      if (this.areFew(left) && startMs >= lookMs && startMs >= sealMs) {
        const now = rowsToIndex(await this.transfers.lookAtAll(to));
        if (now < rowsLeft) movedMs = startMs;
        rowsLeft = now;
        if (rowsLeft === 0 || startMs - movedMs > INDEX_STALL_MS) break;
        lookMs = startMs + INDEX_CHECK_MS;
      }
      if (left <= this.leftMax) await this.pause(INDEX_CHECK_MS / 5);
      else await this.rest(startMs);
      await this.storeNowAndThen();
    }
  }

  /** Whether clients may wait for what is left. */
  private areFew(left: number): boolean {
    return left <= this.leftMax && (this.reembed === undefined || left * this.changeMs <= TEXTS_LEFT_MS);
  }

  /** When the old shards may be sealed, by monotonic time. */
  private sealMs(): number {
    const { clock } = this.parts;
    const pauseMs = (this.owned.record.sealsAfter ?? 0) - clock.wallMs();
    // Another coordinator's clock may have been ahead by a little.
    return clock.monotonicMs() + (pauseMs <= 2 * UNSEALED_MAX_MS ? Math.min(pauseMs, UNSEALED_MAX_MS) : 0);
  }

  /** From here on clients wait. */
  private async seal(): Promise<void> {
    const { clock } = this.parts;
    const { name: collection, from, to, id: reshard, term } = this.owned.record;
    const startMs = clock.monotonicMs();
    this.sealingMs ??= startMs;
    const transfers = new ShardTransfers({
      ...this.parts,
      collection,
      newUid: to.uid,
      reshard,
      term,
      timeoutMs: SEALED_CALL_MS,
      untilMs: startMs + SEALED_MS,
    });
    await transfers.stageAll(to, 'filling');
    if (this.reembed !== undefined) await this.drainLast(transfers);
    this.steps = new PauseSteps(clock);
    await transfers.stageAll(from, 'sealed');
    this.isSealed = true;
    this.steps.note('seal');
    if (this.isRestored) await this.takeDedupRecords(transfers);
    else while ((await this.drainAll(transfers)) > 0);
    this.steps.note('changes');
    if (this.unmade.ids.length > 0) throw new QuiverError('unavailable', unmadeText(this.unmade.ids));
    // No answer of theirs may be given once one of the new shards may take a write.
    await transfers.stageAll(from, 'closed');
    this.steps.note('close');
    if (this.isRestored) await this.openWithSettings();
    else await this.store({ state: 'opening' });
    this.steps.note('state');
  }

  /** Texts that came since it caught up are embedded before anybody waits for them, and few come meanwhile. */
  private async drainLast(transfers: ShardTransfers): Promise<void> {
    const { clock } = this.parts;
    const untilMs = clock.monotonicMs() + LAST_TEXTS.forMs;
    for (;;) {
      const left = await this.drainAll(transfers);
      if (left === 0 || clock.monotonicMs() >= untilMs) return;
      const least = LAST_TEXTS.leastOfShard * this.owned.record.from.shards;
      // What has taken no time so far needs no slower clients.
      if (this.changeMs > 0) this.pace.slow(Math.max(least, (LAST_TEXTS.share * 1000) / this.changeMs));
    }
  }

  /**
   * Marks of writes that left nothing are taken over, so that these are not done again. Once the old shards are sealed,
   * what they hold, they hold for good. Errors: conflict when there is an item.
   */
  private async takeDedupRecords(transfers: ShardTransfers): Promise<void> {
    const { from, to, name } = this.owned.record;
    const found = await transfers.lookAtAll(from);
    mustHoldNothing(name, found);
    await inBatches([...found.entries()], async ([shard, { lastMark, lastVersion }]) => {
      this.lastVersions[shard] = lastVersion;
      const taken = this.dedupTaken[shard];
      if (lastMark > taken)
        this.dedupTaken[shard] = await transfers.importDedup(
          { collectionUid: from.uid, shard },
          from.shards,
          to,
          taken,
        );
    });
  }

  /**
   * There is no way back from here, so the backup's model becomes the collection's in the same moment: no text is
   * embedded with another one from now on. So do its synonyms and stop words, where the collection has none; what is
   * changed or taken away later stays so. The restore notes it, too, and can't be given up any more. Errors: conflict
   * when the collection has another model by now, or the restore was given up.
   */
  private async openWithSettings(): Promise<void> {
    const { name, to, restored } = this.owned.record;
    const { restore, embeddingModel: model, synonyms, stopWords } = restored!;
    const key = collectionPath(name);
    await this.changeWithCollection(async ({ record, revision }) => {
      mustHaveModel(record, model);
      const value = collectionToValue({
        ...record,
        embeddingModel: record.embeddingModel ?? model,
        synonyms: record.synonyms ?? synonyms,
        stopWords: record.stopWords ?? stopWords,
      });
      const { guards, changes } = await this.parts.restores.finalNote(restore, to.uid);
      return {
        change: { state: 'opening' },
        extra: { guards: [{ key, revision }, ...guards], changes: [{ type: 'put', key, value }, ...changes] },
      };
    });
  }

  /**
   * Changes what follows from the collection as it is, and again if that changes meanwhile; ends it when the collection
   * is gone. `first`: as it was found a moment ago.
   */
  private async changeWithCollection(
    decide: (found: Found) => Promise<{ change: Partial<OwnedReshard['record']>; extra: ExtraChanges }>,
    first?: Found | null,
  ): Promise<void> {
    for (let known = first; ; known = undefined) {
      const found = known === undefined ? await this.collection() : known;
      if (found === null) return this.abandon();
      const { change, extra } = await decide(found);
      try {
        return await this.owned.change(change, extra);
      } catch (error) {
        // Its description may have been changed meanwhile, or it was deleted; a restore may tell how far it is.
        if (!(error instanceof Superseded) || !(await this.isOutdated(extra))) throw error;
      }
    }
  }

  private async isOutdated({ guards }: ExtraChanges): Promise<boolean> {
    const { store } = this.parts;
    const found = await Promise.all(
      guards.map(async ({ key, revision }) => ((await store.get(key))?.revision ?? 0) !== revision),
    );
    return found.includes(true);
  }

  /**
   * The old shards serve again, and go on noting what changes. Only then it is `filling` again: that may have to wait
   * for other collections. In a term of its own, because a copy of what closed a shard may still be on its way.
   */
  private async unseal(): Promise<void> {
    const { name: collection, from, id: reshard, term } = this.owned.record;
    // Noted before, for whoever goes on if this one can't reach all of them.
    await this.owned.change({ unseals: true, term: term + 1, sealsAfter: this.nextSeal() });
    const transfers = new ShardTransfers({
      ...this.parts,
      collection,
      reshard,
      term: term + 1,
      timeoutMs: SEALED_CALL_MS,
    });
    await transfers.stageEach(from, this.isRestored ? 'open' : 'tracking');
    const state = this.reembed === undefined ? 'filling' : this.reembed.isBack === true ? 'kept' : 'ready';
    await this.owned.change({ state, unseals: undefined, sealsAfter: this.nextSeal() });
  }

  /** When clients may be kept waiting again, in wall time, if they need not wait any more from now on. */
  private nextSeal(): number | undefined {
    const { clock } = this.parts;
    if (this.sealingMs === null) return this.owned.record.sealsAfter;
    return (
      clock.wallMs() + Math.min(Math.ceil((clock.monotonicMs() - this.sealingMs) * UNSEALED_TIMES), UNSEALED_MAX_MS)
    );
  }

  /** The new shards have everything, and nobody reads or writes the old ones any more. */
  private async open(): Promise<void> {
    const { from, to, identity, name } = this.owned.record;
    const keeps = this.isKept();
    // Who goes on where another one stopped has not seen them sealed.
    const lastVersions = this.isSealed
      ? this.lastVersions
      : (await this.sealedTransfers.lookAtAll(from)).map(({ lastVersion }) => lastVersion);
    this.steps.note('versions');
    // Nobody writes to them before the collection's record is changed: they note each change from the first on.
    const [found] = await Promise.all([
      this.collection(),
      this.sealedTransfers.openAll(to, Math.max(...lastVersions), keeps),
    ]);
    this.steps.note('open');
    const sources = keeps ? (await this.sealedTransfers.lookAtAll(to)).map(sourceOf) : [];
    this.steps.note('sources');
    const key = collectionPath(name);
    // Whoever counts the shards meanwhile counts again: it may have read the collection before, and its old shards
    // after.
    const counted: StoreChange = { type: 'put', key: CREATIONS_PATH, value: to.uid };
    await this.changeWithCollection(async ({ record, revision }) => {
      const wallMs = this.parts.clock.wallMs();
      const vectorsSince = new Date(wallMs).toISOString();
      const present = { ...resharded(record, this.owned.record), ...(this.reembed !== undefined && { vectorsSince }) };
      const value = collectionToValue(present);
      const change = keeps ? this.keptChange(sources, wallMs) : this.retiredChange(wallMs);
      // The collection has its new shards then; that the old ones stay for a while is nothing to wait for.
      const job = keeps ? [] : this.owned.endedJob(this.outcomeOf(change), wallMs);
      return {
        change,
        extra: { guards: [{ key, revision }], changes: [{ type: 'put', key, value }, counted, ...job] },
      };
    }, found);
    if (this.owned.isEnded) return;
    this.steps.note('record');
    const facts = { ...this.facts(), identity, shards: to.shards, ...this.steps.facts };
    this.parts.log.info(facts, 'a collection has its new shards');
  }

  /** Whether there is to be a way back: to vectors that a model makes. */
  private isKept(): boolean {
    const { reembed, from } = this.owned.record;
    return (
      reembed !== undefined && reembed.isBack !== true && reembed.keepHours > 0 && from.model?.embeddingModel !== null
    );
  }

  /** The new shards are those of the collection from now on, and the old ones follow them. */
  private keptChange(sources: SourceProgress[], wallMs: number): Partial<OwnedReshard['record']> {
    const { from, to, reembed } = this.owned.record;
    const keptUntil = wallMs + reembed!.keepHours * HOUR_MS;
    const switched = { isBack: true, wanted: undefined, switchedAt: new Date(wallMs).toISOString(), keptUntil };
    return { state: 'kept', behind: 0, from: to, to: from, sources, reembed: { ...reembed!, ...switched } };
  }

  private retiredChange(wallMs: number): Partial<OwnedReshard['record']> {
    const { reembed } = this;
    const isForth = reembed !== undefined && reembed.isBack !== true;
    const switchedAt = new Date(wallMs).toISOString();
    return {
      state: 'retiring',
      behind: 0,
      ...(isForth && { reembed: { ...reembed, wanted: undefined, switchedAt } }),
    };
  }

  private outcomeOf(change: Partial<OwnedReshard['record']>): Parameters<OwnedReshard['endedJob']>[0] {
    const { reembed } = this;
    if (reembed === undefined) return { state: 'done' };
    return {
      state: reembed.isBack === true ? 'cancelled' : 'done',
      result: reembedResult({ ...this.owned.record, ...change }),
    };
  }

  /** The old shards serve again; then the new ones go. */
  private async cancel(collection: Found | null): Promise<void> {
    const { from, error } = this.owned.record;
    if (collection === null) return this.abandon();
    await this.mustNotBeLive();
    // Clients may wait for every one of them: the seal may be what was given up.
    await this.sealedTransfers.stageEach(from, 'open');
    const changes = dropChanges(this.owned.record);
    const wallMs = this.parts.clock.wallMs();
    if (error === null) await this.owned.end([...changes, ...this.owned.endedJob({ state: 'cancelled' }, wallMs)]);
    else {
      const job = this.owned.endedJob({ state: 'failed', error }, wallMs);
      await this.owned.change(
        { state: 'failed', earlier: [], behind: 0 },
        { guards: [], changes: [...changes, ...job] },
      );
    }
    this.parts.log.info({ ...this.facts(), error }, 'a reshard was given up; the old shards serve as before');
  }

  /** The collection was deleted, and its shards with it. */
  private async abandon(): Promise<void> {
    const gone = { state: 'cancelled' as const, error: 'the collection was deleted' };
    const job = this.owned.endedJob(gone, this.parts.clock.wallMs());
    await this.owned.end([...dropChanges(this.owned.record), ...job]);
  }

  /**
   * New shards that were opened may hold writes of clients, though this record says that they have not taken over: it
   * is from a backup then. Those that can't be asked are taken for what the record says. Errors: OutdatedTerm.
   */
  private async mustNotBeLive(): Promise<void> {
    const { to, id } = this.owned.record;
    const found = await Promise.allSettled(
      idsOf(to).map((shard) => this.sealedTransfers.look(shard, Number.MAX_SAFE_INTEGER, 1)),
    );
    for (const one of found)
      if (
        one.status === 'fulfilled' &&
        (one.value.stage === 'open' || one.value.stage === 'tracking') &&
        one.value.reshard === id
      )
        throw new OutdatedTerm('a new shard was opened already');
  }

  /** Takes over the changes of all old shards, up to what they were a moment ago. Answers how many there are now. */
  private async drainAll(transfers: ShardTransfers): Promise<number> {
    const left = await inBatches([...this.sources.keys()], (shard) => this.drain(shard, transfers));
    if (this.unmade.areTooMany) throw new QuiverError('unavailable', unmadeText(this.unmade.ids));
    return left.reduce((sum, count) => sum + count, 0);
  }

  /** Changes that wait, by what is known. */
  private get behind(): number {
    return this.waiting.reduce((sum, count) => sum + count, 0);
  }

  /** That clients write faster than it can follow; undefined: it can. */
  private get lag(): string | undefined {
    const { from } = this.owned.record;
    const slowed = this.isLimiting ? this.pace.writesPerSecond : undefined;
    if (this.behind <= this.leftMax || (slowed === undefined && !this.pace.isOutrun)) return this.unswitched;
    const what = this.reembed === undefined ? 'items are copied' : 'texts are embedded';
    const pace =
      slowed === undefined
        ? ''
        : `, and clients may write ${from.shards * Math.ceil(slowed / from.shards)} operations a second meanwhile`;
    return `clients write faster than ${what}: ${this.behind} changes wait${pace}`;
  }

  /** Why it does not switch, though it was to do so by itself. */
  private get unswitched(): string | undefined {
    const { reembed } = this;
    if (this.state !== 'ready' || reembed?.switch !== 'auto' || reembed.wanted === 'switch') return undefined;
    const warning = reembed.compared?.warning;
    return warning && `${warning}; POST /v1/jobs/${reshardJobId(this.owned.record)}/switch does it all the same`;
  }

  private get changesDone(): number {
    return this.sources.reduce((sum, { change }) => sum + change, 0);
  }

  private async drain(shard: number, transfers: ShardTransfers): Promise<number> {
    const { from, to } = this.owned.record;
    const id = { collectionUid: from.uid, shard };
    const source = this.sources[shard];
    const { isLimiting } = this;
    let until = -1;
    for (;;) {
      const startMs = this.parts.clock.monotonicMs();
      const writesPerSecond = isLimiting ? this.pace.writesPerSecond : undefined;
      const found = this.mustTrack(
        await transfers.look(id, source.change, undefined, writesPerSecond && Math.ceil(writesPerSecond / from.shards)),
        shard,
      );
      if (until < 0) until = found.lastChange;
      this.lastVersions[shard] = found.lastVersion;
      this.waiting[shard] = found.lastChange - source.change;
      // Few are looked at in both sets at once, as clients may wait.
      const there = found.externalIds.length > this.leftMax ? null : this.thereAlready(found.externalIds, transfers);
      there?.catch(() => undefined);
      // Those that are embedded anew get other vectors.
      for await (const states of transfers.statesOf(id, found.externalIds, { vectors: this.reembed === undefined })) {
        if (this.reembed === undefined) await transfers.import(to, states);
        else
          await this.followTexts(
            states,
            (await there) ?? (await this.thereAlready(idsIn(states), transfers)),
            transfers,
          );
      }
      source.change = found.upTo;
      // Texts take long: what was written meanwhile waits as well.
      const isOld = this.reembed !== undefined && found.externalIds.length > 0 && !this.isSealed;
      const { lastChange } = isOld ? await transfers.look(id, Number.MAX_SAFE_INTEGER, 1) : found;
      this.waiting[shard] = Math.max(0, lastChange - source.change);
      this.pace.note({ taken: this.changesDone, left: this.behind }, this.parts.clock.monotonicMs());
      if (this.state === 'kept' && !isLimiting && this.behind > KEPT_BEHIND_MAX && this.pace.isOutrun)
        throw new QuiverError('unavailable', 'clients write faster than texts are embedded');
      // After the changes: while the shard is sealed, nothing comes behind these.
      if (found.lastMark > this.dedupTaken[shard])
        this.dedupTaken[shard] = await transfers.importDedup(id, from.shards, to, this.dedupTaken[shard]);
      if (source.change >= until) return this.waiting[shard];
      if (transfers === this.transfers) await this.rest(startMs);
    }
  }

  /** Takes over items as they are now, with vectors of their texts. One whose text stayed keeps its vector. */
  private async followTexts(
    states: ItemState[],
    there: ReadonlyMap<string, StoredItem>,
    transfers: ShardTransfers,
  ): Promise<void> {
    const { to } = this.owned.record;
    const reembed = this.reembed!;
    const owns = states.map(({ externalId }) => there.get(externalId) ?? null);
    const passages = await passagesIn(
      to.model!,
      states.map(({ item }, i) => (owns[i] === null ? null : item)),
    );
    const ofOwns = await passagesIn(to.model!, owns);
    const vectors = owns.map((own, i) => (passages[i] !== null && passages[i] === ofOwns[i] ? own!.vector : undefined));
    const missing = states.filter((_, i) => vectors[i] === undefined);
    const startMs = this.parts.clock.monotonicMs();
    const anew = await this.made(missing, transfers);
    // Of all changes, for what is left is counted in changes: many may keep their vectors.
    this.changeMs = (this.parts.clock.monotonicMs() - startMs) / states.length;
    let next = 0;
    const made = states.map(({ externalId, item }, i) =>
      vectors[i] === undefined ? anew[next++] : { externalId, item: { ...item!, vector: vectors[i] } },
    );
    await transfers.import(to, made);
    if (reembed.isBack === true) this.unmade.note(states, made);
    else
      for (const [i, { externalId, item }] of states.entries())
        this.dropped.note(externalId, item !== null && made[i].item === null);
  }

  /** What there is of these ids in the shards that follow; nothing of a reshard, which takes vectors as they are. */
  private async thereAlready(
    ids: readonly string[],
    transfers: ShardTransfers,
  ): Promise<ReadonlyMap<string, StoredItem>> {
    if (this.reembed === undefined || ids.length === 0) return new Map();
    try {
      const found = await transfers.statesIn(this.owned.record.to, ids, { filling: true });
      return new Map(found.flatMap(({ externalId, item }) => (item === null ? [] : [[externalId, item]])));
    } catch (error) {
      // A node of an earlier version tells nobody.
      if (!isQuiverError(error) || error.kind !== 'resharded') throw error;
      return new Map();
    }
  }

  /**
   * Errors: storage_failed when the shard did not note every change since it was copied: its replica lost something.
   */
  private mustTrack(found: ShardTransfer, shard: number): ShardTransfer {
    const { id } = this.owned.record;
    const source = this.sources[shard];
    if (found.reshard !== id || found.since !== source.since || found.lastChange < source.change)
      throw new ForgottenChanges(`shard ${shard} does not remember what changed; the reshard has to begin anew`);
    return found;
  }

  /**
   * Waits for the work, which may be long, and stores how far it is meanwhile. Errors: those of the work; Superseded.
   */
  private async whileStored<Result>(work: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = work.finally(() => (isDone = true));
    for (;;) {
      const timer = new AbortController();
      await Promise.race([
        done,
        sleep(STORE_EVERY_MS, undefined, { signal: timer.signal }).catch(() => undefined),
      ]).finally(() => timer.abort());
      if (isDone) return done;
      // Nothing may be written once somebody else drives it, so the work is waited for.
      await this.storeNowAndThen().catch((error: unknown) => done.then(() => Promise.reject(error)));
    }
  }

  private async storeNowAndThen(): Promise<void> {
    if (this.parts.clock.monotonicMs() - this.storedMs < STORE_EVERY_MS) return;
    await this.store({});
    // What is stored need not be remembered by the shards.
    if (this.behind <= this.leftMax)
      await this.transfers.stageAll(this.owned.record.from, 'tracking', (shard) => this.sources[shard].change);
  }

  private async store(change: Partial<OwnedReshard['record']>): Promise<void> {
    this.mustGoOn();
    const { reembed = this.reembed } = change;
    await this.owned.change({
      sources: this.sources.map((source) => ({ ...source })),
      copied: this.copied,
      behind: this.behind,
      waitsFor: this.lag,
      ...change,
      ...(reembed !== undefined && {
        reembed: {
          ...reembed,
          dropped: this.dropped.count,
          ...(reembed.isBack === true && { unmade: this.unmade.ids }),
        },
      }),
    });
    this.storedMs = this.parts.clock.monotonicMs();
    this.storedChanges = this.changesDone;
  }

  private async rest(sinceMs: number): Promise<void> {
    if (this.pace.isUrgent) return this.mustGoOn();
    await this.pause(Math.min(this.parts.clock.monotonicMs() - sinceMs, REST_MAX_MS));
  }

  private async pause(ms: number): Promise<void> {
    this.mustGoOn();
    await sleep(ms, undefined, { signal: this.parts.stop }).catch(() => undefined);
    this.mustGoOn();
  }

  private mustGoOn(): void {
    if (this.parts.stop.aborted) throw new Superseded('this process stops');
  }

  /** The collection as it is in the store; null when it is gone, or is another one. */
  private async collection(): Promise<Found | null> {
    const { name, identity } = this.owned.record;
    const entry = await this.parts.store.get(collectionPath(name));
    if (entry === null) return null;
    const record = collectionFromEntry(entry);
    return record.identity === identity && record.state === 'ready' ? { record, revision: entry.revision } : null;
  }

  /**
   * A shard knows a later term than the record, which nobody has taken over: the cluster store was put back from a
   * backup. The new shards may be those that clients used since, so nothing is done any more.
   */
  private async noteOutdated(error: OutdatedTerm): Promise<void> {
    const message = 'the cluster store is older than what the shards know of this reshard; it is left as it is';
    await this.owned.change({ state: 'stuck', error: message });
    this.parts.log.error({ error, ...this.facts() }, message);
  }

  private facts(): Record<string, unknown> {
    const { name: collection, id, term } = this.owned.record;
    return { collection, reshard: id, term };
  }
}

/** Why no text could be written after the switch; undefined: it could. */
function beyondQuota({ bytes }: StorageQuota, compared: Compared): string | undefined {
  if (bytes === null || compared.bytes.after <= bytes) return undefined;
  return (
    `with the new vectors the collection takes ${compared.bytes.after} bytes of disk, beyond its quota of ${bytes} ` +
    '(quota.bytes): after the switch it would take no items until the quota is raised'
  );
}

/** A shard did not note every change since it was copied. */
class ForgottenChanges extends QuiverError {
  constructor(message: string) {
    super('storage_failed', message);
  }
}

function idsIn(states: readonly ItemState[]): string[] {
  return states.map(({ externalId }) => externalId);
}

/** How far shards are copied that are tracking since they were opened. */
function sourceOf({ since, lastChange }: ShardTransfer): SourceProgress {
  return { since, after: null, isCopied: true, change: lastChange };
}

/** Rows that searches would scan; 0 when they are few. */
function rowsToIndex(found: ShardTransfer[]): number {
  let left = 0;
  for (const { index } of found) {
    if (index === null || index.state !== 'indexing') continue;
    const rows = index.rows - index.indexedRows;
    if (rows > Math.max(index.rows * ROWS_LEFT.share, ROWS_LEFT.least)) left += rows;
  }
  return left;
}

/** An error that the same attempt would meet again. */
function isFinal(error: unknown): boolean {
  return isQuiverError(error) && !error.retryable && error.kind !== 'not_found';
}
