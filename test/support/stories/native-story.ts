import { join } from 'node:path';
import { tellStory } from './hazard-story';

const ADDON = join(__dirname, '../../../node/engine/native/build/vectors.node');

/**
 * What every story starts with: the addon, a folder, an index of `rows` vectors that are the same in each run, and when
 * work is under way.
 */
export const NATIVE_PROLOGUE = `
  const { VectorIndex, kernelNames, searchInline } = require(${JSON.stringify(ADDON)});
  const { join } = require('node:path');
  const assert = require('node:assert');
  const folder = process.env.FOLDER;
  const D = 32;
  let files = 0;
  const { threadId } = require('node:worker_threads');
  let state = 20_261;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const vectorsOf = (rows) => {
    const vectors = new Float32Array(rows * D);
    // Millions of them: \`Float32Array.from\` calls back ten times as slowly.
    for (let i = 0; i < vectors.length; i++) vectors[i] = random() - 0.5;
    return vectors;
  };
  const slotsOf = (rows) => Uint32Array.from({ length: rows }, (_, i) => i);
  const make = (rows, metric = 'cosine') => {
    const index = new VectorIndex({ metric, dim: D, originals: join(folder, ['o', process.pid, threadId, files++].join('-')) });
    if (rows > 0) index.put(slotsOf(rows), vectorsOf(rows));
    return index;
  };
  const search = (index, k = 10, effort = 0) => index.search(vectorsOf(1), k, effort, 0, 0, null, 0);
  const codeOf = (promise) => promise.then(() => 'fine', (error) => error.code);
  const processorMs = (since) => { const { user, system } = process.cpuUsage(since); return (user + system) / 1000; };
  // What runs aside shows from outside by the processor time that it takes while this thread rests.
  const isUnderWay = async (milliseconds = 30) => {
    const since = process.cpuUsage();
    while (processorMs(since) < milliseconds) await new Promise((wake) => setTimeout(wake, 1));
  };
`;

/** Runs a story of the vector addon in a process of its own; see tellStory. */
export function tellNativeStory(story: string, options: Parameters<typeof tellStory>[1]): Promise<void> {
  return tellStory(`${NATIVE_PROLOGUE}\n(async () => {${story}})()`, options);
}
