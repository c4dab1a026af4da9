import { BackupSeals } from '../../../shared/backup-store/backup-seals';

/** By which targets of tests are sealed, and by a service that knows another secret. */
export const TEST_SEALS = new BackupSeals(['a secret of the tests']);
export const OTHER_SEALS = new BackupSeals(['a secret of somebody else']);
