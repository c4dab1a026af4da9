import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY, ClusterProcesses } from '../../support/processes/cluster-processes';
import type { MemberProcess } from '../../support/processes/member-process';
import type { Cell } from './cell';
import type { NodeFileRow } from './cluster-expectations';
import { CollectionModel } from './collection-model';
import { damage, damageOf, filesLike, type Form } from './damage';
import { callOf, ONE_LINE, outcomeOf, pause } from './service-calls';

const ITEMS = 40;
/** One of each damage. */
const FORMS_HERE: readonly Form[] = ['missing', 'cut to half', 'bit in the middle'];
/** What the log of a node says of what it made again. */
const MADE_ANEW = /rebuilt|opened again|made anew/;
const SETTLED_DEADLINE_MS = 180_000;
/** Within which a process that refuses its folder has ended. */
const CHECK_MS = 200;

/**
 * A node of a small cluster of which one file is damaged while it does not run; the shard has another replica, which is
 * well.
 */
export class DamagedNodes {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-matrix-'));
  private cluster!: ClusterProcesses;
  private model!: CollectionModel;
  private uid = '';

  static async make({ seed }: { seed: number }): Promise<DamagedNodes> {
    const made = new DamagedNodes();
    try {
      made.cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, environment: { LOG_LEVEL: 'info' } });
      made.model = new CollectionModel('things', seed);
      const call = made.call();
      await made.model.make(call, { shards: 1, replicas: 2 });
      await made.model.load(call, ITEMS);
      await made.cluster.settled();
      [made.uid] = readdirSync(join(made.cluster.nodes[0].dataDir, 'node/shards'));
    } catch (error) {
      await made.destroy();
      throw error;
    }
    return made;
  }

  async destroy(): Promise<void> {
    await this.cluster?.destroy();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async cellsOf(row: NodeFileRow, forms: readonly Form[] = FORMS_HERE): Promise<Cell[]> {
    const cells: Cell[] = [];
    for (const form of forms) {
      const seen = await this.damaged(row, form).catch((error: Error) => `broken off: ${error.message.slice(0, 1500)}`);
      cells.push({
        place: 'node',
        kind: row.kind,
        fault: damageOf(form),
        form,
        moment: 'start',
        expected: row.right[damageOf(form)],
        seen,
      });
    }
    return cells;
  }

  private async damaged(row: NodeFileRow, form: Form): Promise<string> {
    const { cluster, model } = this;
    await cluster.settled(SETTLED_DEADLINE_MS);
    const [node] = cluster.nodes;
    // What was in a log becomes a table by the start, and some is in a log again.
    if ((await node.stop()) !== 0) return `no stop in order: ${node.lastWords.slice(-1000)}`;
    await node.start();
    await cluster.settled(SETTLED_DEADLINE_MS);
    const refusal = await model.change(this.call(), 5);
    if (refusal !== null) return `no write before: ${refusal}`;
    await cluster.killSpared(node);
    rmSync(`${this.shardOf(node)}.retired`, { recursive: true, force: true });
    const [path] = filesLike(node.dataDir, new RegExp(row.file.source.replace('<uid>', this.uid)));
    if (path === undefined) return `there is no ${row.kind}`;
    const copy = join(this.folder, 'copy');
    copyFileSync(path, copy);
    damage(path, form);
    const outcome = await this.started(node);
    if (outcome === 'ends') {
      // As the line says: what is damaged is put back.
      copyFileSync(copy, path);
      await node.start();
    }
    await cluster.settled(SETTLED_DEADLINE_MS);
    const copied = existsSync(`${this.shardOf(node)}.retired`) || / copied a shard/.test(node.output);
    const refused = await model.change(this.call(), 5);
    // It has to have all of it: the other replica is asked no more.
    await cluster.leadBy(node, model.name);
    const seen = outcomeOf(await model.read(this.call()), model.name, () => MADE_ANEW.test(node.output));
    if (refused !== null) return `no write afterwards: ${refused}`;
    if (seen !== 'served' && seen !== 'rebuilt') return seen;
    return outcome === 'ends' ? 'ends' : copied ? 'copied' : seen;
  }

  /**
   * What its start comes to: 'ends', with a line that says what to do, or that it serves. Throws where it ends without
   * one.
   */
  private async started(node: MemberProcess): Promise<'ends' | 'served'> {
    node.spawn();
    for (;;) {
      if (!node.isRunning) {
        await node.ended();
        const said = node.output.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
        if (!said.some((line) => ONE_LINE.test(line)))
          throw new Error(
            `no start, and no line that says what to do: ${said.join(' / ') || node.output.slice(-1500)}`,
          );
        return 'ends';
      }
      const isReady = await node.readiness().then(
        ({ status, text }) => status === 200 || text.includes('catching up'),
        () => false,
      );
      if (isReady) return 'served';
      await pause(CHECK_MS);
    }
  }

  private shardOf(node: MemberProcess): string {
    return join(node.dataDir, 'node/shards', this.uid, '0');
  }

  private call(): ReturnType<typeof callOf> {
    return callOf({ baseUrl: this.cluster.baseUrl(0), apiKey: API_KEY });
  }
}
