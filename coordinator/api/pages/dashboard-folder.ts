import { join } from 'node:path';
import type { Config } from '../../../shared/base/config/config';
import { packageRoot } from '../../../shared/base/process/package-root';

/** The folder into which set-up builds the dashboard; null if the configuration leaves it out. */
export function dashboardFolderOf(config: Pick<Config, 'apiUi'>): string | null {
  return config.apiUi === 'true' ? join(packageRoot(__dirname), 'dist', 'ui') : null;
}
