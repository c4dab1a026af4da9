import { EventEmitter } from 'node:events';
import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../../../../shared/wire/administration';
import { LossyRequestService } from '../../../../../shared/wire/streams/lossy-request-service';

test.each(['cancelled', 'end', 'drain'])('who answers hears that the stream is over: %s', async (how) => {
  const heard: AbortSignal[] = [];
  const service = new LossyRequestService<AdministrationRequest, WireReport>({
    definition: administrationDefinition,
    answer: (_question, ended) => new Promise(() => heard.push(ended)),
    onError: () => undefined,
  });
  const call = Object.assign(new EventEmitter(), {
    sendMetadata: () => undefined,
    write: () => true,
    end: () => undefined,
  });
  (service.handlers.Exchange as (call: unknown) => void)(call);
  call.emit('data', { id: 1, probe: false, digestOf: { collectionUid: 'c', shard: 0 } });
  expect(heard.map(({ aborted }) => aborted)).toEqual([false]);
  if (how === 'drain') await service.drain();
  else call.emit(how);
  expect(heard.map(({ aborted }) => aborted)).toEqual([true]);
});
