import { existsSync } from 'node:fs';
import { addonFile, addonsProblem, platformProblem } from '../../../../../shared/base/process/addon-file';

const needing = (glibc: string, version = '1.2.3') => ({ version, quiver: { glibc } });

test('what was built in this checkout is used', () => {
  for (const name of ['vectors', 'body-scanner', 'store'] as const) {
    expect(addonFile(name)).toMatch(new RegExp(`/build/${name}\\.node$`));
    expect(existsSync(addonFile(name))).toBe(true);
  }
  expect(addonsProblem()).toBeNull();
});

test('a package of the platform is used from the glibc on that it needs, numbers compared as such', () => {
  expect(platformProblem(needing('2.35'), '1.2.3', '2.35')).toBeNull();
  expect(platformProblem(needing('2.35'), '1.2.3', '3.0')).toBeNull();
  expect(platformProblem(needing('2.9'), '1.2.3', '2.35')).toBeNull();
  expect(platformProblem(needing('2.35'), '1.2.3', '2.9')).toMatch(/needs glibc 2\.35 or later, and this is 2\.9$/);
  expect(platformProblem(needing('2.35'), '1.2.3', '2.34')).toMatch(/this is 2\.34$/);
});

test('a package of another version, or on another C library, is not used', () => {
  expect(platformProblem(needing('2.35', '1.2.2'), '1.2.3', '2.36')).toMatch(
    /is of version 1\.2\.2, and this is Quiver 1\.2\.3$/,
  );
  expect(platformProblem(needing('2.35'), '1.2.3', null)).toMatch(/has another C library$/);
});
