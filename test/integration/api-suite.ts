import { ApiClient } from '../support/targets/api-client';
import type { ApiTarget, StartTarget } from '../support/targets/api-target';
import { accessSuite } from './api-suite/access';
import { aliasesSuite } from './api-suite/aliases';
import { cursorsSuite } from './api-suite/cursors';
import { boostsSuite } from './api-suite/boosts';
import { collectionsSuite } from './api-suite/collections';
import { documentsSuite } from './api-suite/documents';
import { filtersSuite } from './api-suite/filters';
import { hintsSuite } from './api-suite/hints';
import { idempotencySuite } from './api-suite/idempotency';
import { jobsSuite } from './api-suite/jobs';
import { keysSuite } from './api-suite/keys';
import { languagesSuite } from './api-suite/languages';
import { whySuite } from './api-suite/why';
import { judgementsSuite } from './api-suite/judgements';
import { synonymsSuite } from './api-suite/synonyms';
import { operationsSuite } from './api-suite/operations';
import { protocolSuite } from './api-suite/protocol';
import { quotasSuite } from './api-suite/quotas';
import { readsBesideWritesSuite } from './api-suite/reads-beside-writes';
import { recallSuite } from './api-suite/recall';
import { samplesSuite } from './api-suite/samples';
import { scopesSuite } from './api-suite/scopes';
import { searchSuite } from './api-suite/search';
import { vectorsSuite } from './api-suite/vectors';

/** What a part of the suite works with: one running service, and names that no other part uses. */
export interface SuiteContext {
  readonly api: ApiClient;
  readonly target: ApiTarget;
  /**
   * A fresh collection's name, already created with these fields (dim 3 unless given). One that a test makes is gone
   * after it.
   */
  collection(fields?: Record<string, unknown>): Promise<string>;
  /**
   * An empty collection's name, for a test that leaves it empty, too: one is made for all such tests, because to make
   * and drop one takes a cluster a tenth of a second of a processor. The next test after one that stored something gets
   * another.
   */
  empty(dim?: number): Promise<string>;
}

/** Every endpoint and every error of the public API over real HTTP, against whatever `startTarget` starts. */
export function describeApi(name: string, startTarget: StartTarget): void {
  describe(`API of ${name}`, () => {
    let target: ApiTarget;
    let count = 0;
    /** Of the test that runs: many shards that nobody uses any more would take the processors of a cluster. */
    const made: string[] = [];
    let isInTest = false;
    /** By dim, the collection that `empty` answers. */
    const empty = new Map<number, string>();
    const make = async (fields: Record<string, unknown>): Promise<string> => {
      const collectionName = `suite-${++count}`;
      const answer = await context.api.post('/v1/collections', { name: collectionName, dim: 3, ...fields });
      expect(answer.json?.error).toBeNull();
      return collectionName;
    };
    const context: SuiteContext = {
      get api() {
        return new ApiClient(target);
      },
      get target() {
        return target;
      },
      async collection(fields = {}) {
        const collectionName = await make(fields);
        if (isInTest) made.push(collectionName);
        return collectionName;
      },
      async empty(dim = 3) {
        const known = empty.get(dim);
        if (known !== undefined && (await context.api.get(`/v1/collections/${known}`)).json?.data?.vector_count === 0)
          return known;
        const collectionName = await make({ dim });
        empty.set(dim, collectionName);
        return collectionName;
      },
    };
    beforeAll(async () => {
      target = await startTarget();
    });
    afterAll(() => target?.stop());
    beforeEach(() => {
      isInTest = true;
    });
    afterEach(async () => {
      isInTest = false;
      await Promise.all(
        made.splice(0).map((collectionName) => context.api.delete(`/v1/collections/${collectionName}`)),
      );
    });

    protocolSuite(context);
    accessSuite(context);
    collectionsSuite(context);
    aliasesSuite(context);
    vectorsSuite(context);
    readsBesideWritesSuite(context);
    recallSuite(context);
    searchSuite(context);
    cursorsSuite(context);
    boostsSuite(context);
    samplesSuite(context);
    languagesSuite(context);
    synonymsSuite(context);
    judgementsSuite(context);
    whySuite(context);
    documentsSuite(context);
    jobsSuite(context);
    keysSuite(context);
    idempotencySuite(context);
    filtersSuite(context);
    hintsSuite(context);
    quotasSuite(context);
    scopesSuite(context);
    operationsSuite(context);
  });
}
