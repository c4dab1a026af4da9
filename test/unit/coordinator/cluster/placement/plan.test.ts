import { join } from 'node:path';
import { planChanges } from '../../../../../coordinator/cluster/placement/plan';
import { testGoldenScripts } from '../../../../support/stories/golden-script';
import { planStory } from '../../../../support/stories/plan-story';

/** The controller's decisions, and where they lead when every one of them is carried out. */
describe('the plan', () => {
  testGoldenScripts(join(__dirname, 'golden'), planStory);

  test('of an empty cluster is empty', () => {
    const none = {
      collections: [],
      assignments: [],
      members: [],
      reprieved: new Set<string>(),
      behind: new Set<string>(),
      unreachable: new Set<string>(),
      failing: new Map(),
      draining: new Set<string>(),
      awayMs: new Map(),
    };
    expect(planChanges(none)).toEqual([]);
  });
});
