import { caseNames } from '../support/chart/chart-files';
import { golden } from '../support/chart/golden';
import { RULES } from '../support/chart/rules';

describe.each(caseNames)('%s', (name) => {
  const objects = golden(name);

  test.each(RULES.map((rule) => [rule.name, rule] as const))('%s', (_name, rule) => {
    expect(rule.violations(objects)).toEqual([]);
  });
});
