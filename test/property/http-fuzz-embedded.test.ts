import { startEmbedded } from '../support/embedded-target';
import { describeHttpFuzz } from './http-fuzz-suite';

describeHttpFuzz('an embedded process', startEmbedded);
