import { startPlainServer } from '../support/plain-server';
import { describeApi } from './api-suite';

describeApi('the HTTP layer over a plain service', startPlainServer);
