import { startPlainServer } from '../support/servers/plain-server';
import { describeHttpFuzz } from './http-fuzz-suite';

describeHttpFuzz('the HTTP layer over a plain service', startPlainServer);
