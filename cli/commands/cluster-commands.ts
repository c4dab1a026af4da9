import type { Command } from 'commander';
import type { ClusterState } from '../../clients/typescript/src/api';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { count, printJson, size } from '../terminal/print';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, positiveNumber } from './connected-command';
import { untilOver } from './until-over';

type ClusterOptions = ConnectionOptions & { json?: true };

const DRAIN_SECONDS = 3600;

/** Nodes, shards and moves (admin). */
export function addClusterCommands(program: Command, context: CommandContext): void {
  connected(program.command('cluster').description('show nodes, shards and what moves'))
    .option('--json', 'print JSON')
    .action(async (options: ClusterOptions) => {
      const state = await connect(context, options).client.cluster.state();
      if (options.json) return printJson(context, state);
      const { output } = context;
      output.write(
        `${state.mode}${state.controller === null ? '' : `, controlled by ${state.controller}`}; ${count(state.coordinators.length)} coordinators\n\n`,
      );
      output.write(
        table(
          ['node', 'state', 'since', 'zone', 'address', 'primaries', 'replicas', 'vectors', 'disk'],
          state.nodes.map((node) => [
            node.id,
            node.state,
            node.down_since ?? '',
            node.zone,
            node.address,
            node.primaries,
            node.replicas,
            node.vectors,
            size(node.disk_bytes),
          ]),
        ),
      );
      const unwell = state.shards.filter(({ state: health }) => health !== 'ok');
      output.write(
        `\n${count(state.shards.length)} shards, ${unwell.length === 0 ? 'all ok' : `${count(unwell.length)} not ok`}\n`,
      );
      if (unwell.length > 0)
        output.write(
          `\n${table(
            ['collection', 'shard', 'state', 'primary', 'in sync'],
            unwell.map((shard) => [
              shard.collection,
              shard.shard,
              shard.state,
              shard.primary,
              shard.in_sync.join(', '),
            ]),
          )}`,
        );
      if (state.reshards.length > 0)
        output.write(
          `\n${table(
            ['collection', 'from', 'to', 'reshard', 'copied', 'behind', 'new shards', 'waits for', 'error'],
            state.reshards.map((reshard) => [
              reshard.collection,
              reshard.from,
              reshard.to,
              reshard.state,
              `${Math.floor(reshard.fraction * 100)} %`,
              reshard.behind,
              newShards(state, reshard.collection),
              reshard.waits_for ?? '',
              reshard.error ?? '',
            ]),
          )}`,
        );
      if (state.moves.length > 0)
        output.write(
          `\n${table(
            ['collection', 'shard', 'from', 'to', 'phase', 'done'],
            state.moves.map((move) => [
              move.collection,
              move.shard,
              move.from,
              move.to,
              move.phase,
              `${Math.floor(move.progress * 100)} %`,
            ]),
          )}`,
        );
    });

  connected(program.command('drain').description('move every shard away from a node').argument('<node>'))
    .option('--undo', 'let the node hold shards again')
    .option('--wait [seconds]', 'wait until it is empty, for an hour unless it says how long', positiveNumber)
    .option('--json', 'print JSON')
    .action(async (name: string, options: ClusterOptions & { undo?: true; wait?: number | true }) => {
      const { cluster } = connect(context, options).client;
      let node = await (options.undo ? cluster.undrain(name) : cluster.drain(name));
      if (options.wait !== undefined && !options.undo) {
        const seconds = options.wait === true ? DRAIN_SECONDS : options.wait;
        const end = performance.now() + seconds * 1000;
        node = await untilOver(context, node, {
          isOver: ({ state }) => state === 'drained',
          look: async () => {
            const found = (await cluster.state()).nodes.find(({ id }) => id === name);
            if (found === undefined) throw new CommandError(`node ${name} is gone`, EXIT_CODES.notFound);
            return found;
          },
          onLook: ({ state, primaries, replicas }) => {
            if (performance.now() <= end) return;
            throw new CommandError(
              `${name} is still ${state} after ${seconds} s; it holds ${primaries + replicas} replicas`,
              EXIT_CODES.failed,
            );
          },
        });
      }
      if (options.json) return printJson(context, node);
      context.messages.write(
        `${node.id} is ${node.state}; it holds ${count(node.primaries + node.replicas)} replicas\n`,
      );
    });
}

/** How many of the shards that a collection is to have are well. */
function newShards({ new_shards: shards }: ClusterState, collection: string): string {
  const coming = shards.filter((shard) => shard.collection === collection);
  return coming.length === 0 ? '' : `${coming.filter(({ state }) => state === 'ok').length} of ${coming.length} ok`;
}
