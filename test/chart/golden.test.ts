import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { caseNames, CHART, renderingHash } from '../support/chart/chart-files';
import {
  golden,
  goldenFile,
  goldenHash,
  goldenNames,
  goldenText,
  render,
  writeGolden,
  writeGoldenHash,
} from '../support/chart/golden';
import { KUBERNETES_VERSIONS, testWithHelm } from '../support/chart/helm';
import { named } from '../support/chart/manifest';

/**
 * What the chart makes of each case is kept, so that every change of it is seen. Rewritten with
 * `UPDATE=1 npx jest test/chart/golden.test.ts`, where Helm is there.
 */
describe('golden manifests', () => {
  const isUpdate = process.env.UPDATE === '1';
  const newest = KUBERNETES_VERSIONS[KUBERNETES_VERSIONS.length - 1];

  if (isUpdate) {
    testWithHelm('are written anew', () => {
      for (const name of caseNames) writeGolden(name, goldenText(render(name, newest)));
      writeGoldenHash(renderingHash());
    });
  }

  test('there is one for each case', () => {
    expect(caseNames.length).toBeGreaterThan(4);
    expect(goldenNames()).toEqual(caseNames);
  });

  test('were rendered from the chart and the cases as they are now', () => {
    expect({ renderedFrom: goldenHash(), hint: 'UPDATE=1 npx jest test/chart/golden.test.ts' }).toEqual({
      renderedFrom: renderingHash(),
      hint: expect.anything(),
    });
  });

  for (const name of caseNames) {
    for (const version of KUBERNETES_VERSIONS) {
      testWithHelm(`${name} on Kubernetes ${version}`, () => {
        expect(goldenText(render(name, version))).toBe(goldenFile(name));
      });
    }
  }

  testWithHelm('alerts and dashboards are carried over as the files have them', () => {
    const rendered = render('production', newest);
    expect(named(rendered, 'PrometheusRule', 'search-quiver')?.spec).toEqual(
      parse(readFileSync(join(CHART, 'files/alerts.yaml'), 'utf8')),
    );
    const dashboards = named(rendered, 'ConfigMap', 'search-quiver-dashboards')?.data ?? {};
    expect(Object.keys(dashboards).length).toBeGreaterThan(0);
    for (const [key, text] of Object.entries(dashboards)) {
      const file = readFileSync(join(CHART, 'files', key.replace('search-quiver-', '')), 'utf8');
      expect(JSON.parse(text as string)).toEqual(JSON.parse(file));
    }
    expect(named(golden('production'), 'ConfigMap', 'search-quiver-dashboards')?.data).toBeDefined();
  });

  testWithHelm('a Secret is drawn anew for each installation, and given values are taken', () => {
    const [one, two] = [render('minimal', newest), render('minimal', newest)].map(
      (objects) => named(objects, 'Secret', 'search-quiver-auth')?.data,
    );
    for (const key of ['api-key', 'cluster-secret']) expect(one[key]).not.toBe(two[key]);
    expect(one['api-key']).not.toBe(one['cluster-secret']);
    const given = named(render('production', newest), 'Secret', 'search-quiver-auth')?.data;
    expect(Buffer.from(given['api-key'], 'base64').toString()).toBe('production-admin-key');
    expect(Buffer.from(given['cluster-secret'], 'base64').toString()).toBe('production-cluster-secret');
  });
});
