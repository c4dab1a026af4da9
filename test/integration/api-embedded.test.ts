import { startEmbedded, startOnOneProcessor } from '../support/targets/embedded-target';
import { describeApi } from './api-suite';
import { describeAnswers } from './api-suite/answers';
import { describeLimits } from './api-suite/limits';
import { describeCollectionModels } from './api-suite/collection-models';
import { describeReembedding } from './api-suite/reembedding';
import { describeRerank } from './api-suite/rerank';

describeApi('an embedded process', startEmbedded);
describeApi('an embedded process whose collections have three shards', () => startEmbedded({ DEFAULT_SHARDS: '3' }));
describeApi('an embedded process on one processor', () => startOnOneProcessor({ HTTP_THREADS: '1' }));
describeLimits('an embedded process', startEmbedded);
describeRerank('an embedded process', startEmbedded);
describeCollectionModels('an embedded process', startEmbedded);
describeReembedding('an embedded process', startEmbedded);
describeAnswers('an embedded process', startEmbedded);
