import type { Reembedding } from '../../../coordinator/jobs/reshard/reembedding';

/** For drivers of reshards that copy vectors as they are. */
export const NO_REEMBEDDING: Reembedding = {
  get vectors(): never {
    throw new Error('nothing is embedded here');
  },
  comparison: () => {
    throw new Error('nothing is compared here');
  },
};
