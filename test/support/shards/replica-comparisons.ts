import type { ComparisonOutcome } from '../../../node/hosting/replicas/replica-comparison';
import type { MemberProcess } from '../processes/member-process';

/**
 * How many comparisons of replicas ended so, by the metrics of the nodes that run; programs of before there were any
 * count 0.
 */
export async function comparisonsOf(nodes: readonly MemberProcess[], outcome: ComparisonOutcome): Promise<number> {
  let sum = 0;
  for (const { isRunning, opsPort } of nodes) {
    if (!isRunning) continue;
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    sum += Number(
      new RegExp(`^quiver_replica_comparisons_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
    );
  }
  return sum;
}
