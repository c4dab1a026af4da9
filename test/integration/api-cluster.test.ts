import { startCluster, startSmallCluster } from '../support/targets/cluster-target';
import { describeApi } from './api-suite';
import { describeLimits } from './api-suite/limits';

describeApi('a cluster of three nodes and two coordinators', startCluster);
describeLimits('a cluster', startSmallCluster);
