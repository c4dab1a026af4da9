import { startMemoryServer } from '../support/memory-service/memory-server';
import { describeHttpFuzz } from './http-fuzz-suite';

describeHttpFuzz('the HTTP layer over services in memory', startMemoryServer);
