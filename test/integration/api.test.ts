import { startMemoryServer } from '../support/memory-service/memory-server';
import { describeApi } from './api-suite';

describeApi('the HTTP layer over services in memory', startMemoryServer);
