import { startCluster, startSmallCluster } from '../support/targets/cluster-target';
import { describeApi } from './api-suite';
import { describeAnswers } from './api-suite/answers';
import { describeLimits } from './api-suite/limits';
import { describeCollectionModels } from './api-suite/collection-models';
import { describeReembedding } from './api-suite/reembedding';
import { describeRerank } from './api-suite/rerank';

describeApi('a cluster of three nodes and two coordinators', startCluster);
describeLimits('a cluster', startSmallCluster);
describeRerank('a small cluster', startSmallCluster);
describeCollectionModels('a small cluster', startSmallCluster);
describeReembedding('a small cluster', startSmallCluster);
describeAnswers('a small cluster', startSmallCluster);
