import { getEventListeners } from 'node:events';
import { retryUntilStoreAnswers } from '../../../../../shared/cluster-store/entries/store-retry';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';

const away = (): never => {
  throw new QuiverError('unavailable', 'the store is away');
};

test('a start that waits for the store says so once, and leaves nothing behind with each attempt', async () => {
  const stopSignal = new AbortController();
  const said: string[] = [];
  const untilStoreAnswers = retryUntilStoreAnswers({
    stopSignal: stopSignal.signal,
    log: { ...silentLogger, warn: (_fields, message) => said.push(message) },
  });
  const listening: number[] = [];
  const result = await untilStoreAnswers(async () => {
    listening.push(getEventListeners(stopSignal.signal, 'abort').length);
    return listening.length < 4 ? away() : 'there';
  });
  expect(result).toBe('there');
  expect(listening).toEqual([0, 0, 0, 0]);
  expect(said).toEqual(["the cluster store can't be reached; waiting for it"]);
});

test('it gives up at once when the process is asked to end, and for what does not pass', async () => {
  const stopSignal = new AbortController();
  const untilStoreAnswers = retryUntilStoreAnswers({ stopSignal: stopSignal.signal, log: silentLogger });
  const waiting = untilStoreAnswers(async () => away());
  stopSignal.abort();
  await expect(waiting).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'gave up waiting for the cluster store',
  });
  const refused = async (): Promise<never> => Promise.reject(new QuiverError('invalid_parameter', 'another cluster'));
  await expect(untilStoreAnswers(refused)).rejects.toMatchObject({ kind: 'invalid_parameter' });
});
