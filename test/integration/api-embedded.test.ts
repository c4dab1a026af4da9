import { startEmbedded } from '../support/embedded-target';
import { describeApi } from './api-suite';

describeApi('an embedded process', startEmbedded);

describeApi('an embedded process whose collections have three shards', (environment) => startEmbedded({ DEFAULT_SHARDS: '3', ...environment }));
