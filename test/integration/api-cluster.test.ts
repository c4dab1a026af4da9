import { startCluster } from '../support/cluster-target';
import { describeApi } from './api-suite';

describeApi('a cluster of three nodes and two coordinators', startCluster);
