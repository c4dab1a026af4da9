import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { collectionFromEntry, COLLECTIONS_PREFIX } from '../../../coordinator/service/collections/collection-record';
import { API_KEY, ClusterProcesses } from '../../support/processes/cluster-processes';
import type { Cell } from './cell';
import type { NodeFileRow } from './cluster-expectations';
import { CollectionModel, type Seen } from './collection-model';
import { damage, damageOf, filesLike, type Form } from './damage';
import { callOf, inTurns, outcomeOf, pause } from './service-calls';

const ITEMS = 40;
/** One of each damage. */
const FORMS_HERE: readonly Form[] = ['missing', 'cut to half', 'bit in the middle'];
/** What the log of a node says of what it made again. */
const MADE_ANEW = /rebuilt|opened again|made anew/;
const SETTLED_DEADLINE_MS = 300_000;
/** Within which a shard has another primary after a stop. */
const LEAD_DEADLINE_MS = 60_000;
const CHECK_MS = 200;

interface Part {
  row: NodeFileRow;
  form: Form;
  model: CollectionModel;
  uid: string;
}

/**
 * Files of replicas of a node that are damaged while it does not run: a collection of one shard and two replicas for
 * each kind of file and form of damage. All are damaged at once, so that each cell also shows that damage takes nothing
 * else along.
 */
export class DamagedReplicas {
  private cluster!: ClusterProcesses;

  private constructor(private readonly seed: number) {}

  static async make({ seed }: { seed: number }): Promise<DamagedReplicas> {
    const made = new DamagedReplicas(seed);
    made.cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, environment: { LOG_LEVEL: 'info' } });
    return made;
  }

  async destroy(): Promise<void> {
    await this.cluster.destroy();
  }

  async cellsOf(rows: readonly NodeFileRow[]): Promise<Cell[]> {
    const { cluster } = this;
    const [node, other] = cluster.nodes;
    const call = callOf({ baseUrl: cluster.baseUrl(0), apiKey: API_KEY });
    const parts = await this.parts(rows, node.dataDir);
    // What was in a log becomes a table by the start, and some is in a log again.
    if ((await node.stop()) !== 0) throw new Error(`no stop in order: ${node.lastWords}`);
    await node.start();
    await cluster.settled(SETTLED_DEADLINE_MS);
    await inTurns(parts, async ({ model }) => {
      const refusal = await model.change(call, 5);
      if (refusal !== null) throw new Error(`no write before: ${refusal}`);
    });
    await cluster.killSpared(node);
    for (const part of parts) this.damageIn(node.dataDir, part);
    await node.start();
    await cluster.settled(SETTLED_DEADLINE_MS);
    const refusals = new Map<Part, string | null>();
    await inTurns(parts, async (part) => void refusals.set(part, await part.model.change(call, 5)));
    // It has to have all of it: there is nobody else to be asked.
    if ((await other.stop()) !== 0) throw new Error(`no stop in order: ${other.lastWords}`);
    const cells: Cell[] = [];
    await inTurns(parts, async (part) => {
      const { row, form, model, uid } = part;
      const lines = (node.output.match(/.+/g) ?? []).filter(
        (line) => line.includes(uid) || line.includes(`"${model.name}"`),
      );
      const seen = outcomeOf(await this.read(part), model.name, () => lines.some((line) => MADE_ANEW.test(line)));
      const isCopied =
        existsSync(`${join(node.dataDir, 'node/shards', uid, '0')}.retired`) ||
        lines.some((line) => line.includes('copied a shard'));
      const isRight = refusals.get(part) === null && (seen === 'served' || seen === 'rebuilt');
      const outcome = isRight ? (isCopied ? 'copied' : seen) : seen;
      const refusal = refusals.get(part);
      cells.push({
        place: 'node',
        kind: row.kind,
        fault: damageOf(form),
        form,
        moment: 'start',
        expected: row.right[damageOf(form)],
        seen: refusal === null ? outcome : `no write afterwards: ${refusal}`,
      });
    });
    return cells.sort(
      (a, b) => rows.findIndex(({ kind }) => kind === a.kind) - rows.findIndex(({ kind }) => kind === b.kind),
    );
  }

  private async parts(rows: readonly NodeFileRow[], dataDir: string): Promise<Part[]> {
    const call = callOf({ baseUrl: this.cluster.baseUrl(0), apiKey: API_KEY });
    const wanted = rows.flatMap((row) => FORMS_HERE.map((form) => ({ row, form })));
    const made = wanted.map((one, i) => ({ ...one, model: new CollectionModel(`r-${i}`, this.seed + i), uid: '' }));
    await inTurns(made, async ({ model }) => {
      await model.make(call, { shards: 1, replicas: 2 });
      const refusal = await model.load(call, ITEMS);
      if (refusal !== null) throw new Error(`no write before: ${refusal}`);
    });
    await this.cluster.settled(SETTLED_DEADLINE_MS);
    const uids = await this.uids();
    for (const part of made) part.uid = uids.get(part.model.name) ?? '';
    const held = readdirSync(join(dataDir, 'node/shards'));
    for (const { model, uid } of made)
      if (!held.includes(uid)) throw new Error(`the node holds nothing of ${model.name}`);
    return made;
  }

  /** By the names of the collections. */
  private async uids(): Promise<Map<string, string>> {
    const store = this.cluster.openStore();
    try {
      const { entries } = await store.list(COLLECTIONS_PREFIX);
      return new Map(entries.map(collectionFromEntry).map(({ name, uid }) => [name, uid]));
    } finally {
      await store.close();
    }
  }

  private async read({ model }: Part): Promise<Seen> {
    const call = callOf({ baseUrl: this.cluster.baseUrl(0), apiKey: API_KEY });
    let seen: Seen = { refused: [], wrong: [] };
    // A loss that is refused stays refused.
    for (const end = performance.now() + LEAD_DEADLINE_MS; performance.now() < end; await pause(CHECK_MS)) {
      seen = await model.read(call);
      if (seen.refused.length === 0 || seen.wrong.length > 0) break;
    }
    return seen;
  }

  private damageIn(dataDir: string, { row, form, uid }: Part): void {
    const [path] = filesLike(dataDir, new RegExp(row.file.source.replace('<uid>', uid)));
    if (path === undefined) throw new Error(`there is no ${row.kind}`);
    damage(path, form);
  }
}
