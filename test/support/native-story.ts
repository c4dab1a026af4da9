import { join } from 'node:path';
import { tellStory } from './hazard-story';

const ADDON = join(__dirname, '../../node/native/build/vectors.node');

/** What every story starts with: the addon, a folder, and an index of `rows` random vectors. */
export const NATIVE_PROLOGUE = `
  const { VectorIndex, kernelNames } = require(${JSON.stringify(ADDON)});
  const { join } = require('node:path');
  const assert = require('node:assert');
  const folder = process.env.FOLDER;
  const D = 32;
  let files = 0;
  const vectorsOf = (rows) => Float32Array.from({ length: rows * D }, () => Math.random() - 0.5);
  const slotsOf = (rows) => Uint32Array.from({ length: rows }, (_, i) => i);
  const make = (rows, metric = 'cosine') => {
    const index = new VectorIndex({ metric, dim: D, originals: join(folder, 'o' + process.pid + '-' + Math.random() + '-' + files++) });
    if (rows > 0) index.put(slotsOf(rows), vectorsOf(rows));
    return index;
  };
  const search = (index, k = 10, effort = 0) => index.search(vectorsOf(1), k, effort, 0, 0, null, 0);
  const codeOf = (promise) => promise.then(() => 'fine', (error) => error.code);
`;

/** Runs a story of the vector addon in a process of its own; see tellStory. */
export function tellNativeStory(story: string, options: Parameters<typeof tellStory>[1]): Promise<void> {
  return tellStory(`${NATIVE_PROLOGUE}\n(async () => {${story}})()`, options);
}
