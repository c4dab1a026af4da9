import { startCluster, startSmallCluster } from '../support/targets/cluster-target';
import { describeApi } from './api-suite';
import { describeLimits } from './api-suite/limits';
import { describeRerank } from './api-suite/rerank';

describeApi('a cluster of three nodes and two coordinators', startCluster);
describeLimits('a cluster', startSmallCluster);
describeRerank('a small cluster', startSmallCluster);
