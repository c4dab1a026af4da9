import { startPlainServer } from '../support/servers/plain-server';
import { describeApi } from './api-suite';
import { describeLimits } from './api-suite/limits';
import { describeCollectionModels } from './api-suite/collection-models';
import { describeReembedding } from './api-suite/reembedding';
import { describeRerank } from './api-suite/rerank';

describeApi('the HTTP layer over a plain service', startPlainServer);
describeLimits('the HTTP layer over a plain service', startPlainServer);
describeRerank('the HTTP layer over a plain service', startPlainServer);
describeCollectionModels('the HTTP layer over a plain service', startPlainServer);
describeReembedding('the HTTP layer over a plain service', startPlainServer);
