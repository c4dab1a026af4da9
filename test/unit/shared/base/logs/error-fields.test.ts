import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { errorFields } from '../../../../../shared/base/logs/error-fields';
import { errorOf, failureOf } from '../../../../../shared/base/threads/thread-peer';

const away = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
const fault = new TypeError('x is not a function');

test('what is expected, and what the system has caused, is one line', () => {
  expect(errorFields(new QuiverError('unavailable', 'shard 1 does not answer'))).toEqual({
    kind: 'unavailable',
    reason: 'shard 1 does not answer',
  });
  const model = new QuiverError('embedding_unavailable', 'the model "m" could not be fetched', { cause: away });
  const collection = new QuiverError(
    'embedding_unavailable',
    'The embedding model "m" can\'t be loaded: the model "m" could not be fetched',
    { cause: model, details: { model: 'm' } },
  );
  expect(errorFields(collection)).toEqual({
    kind: 'embedding_unavailable',
    reason: collection.message,
    details: { model: 'm' },
    cause: away.message,
  });
});

test('so it is behind threads, as often as it goes from one to the next', () => {
  const model = new QuiverError('embedding_unavailable', 'the model "m" could not be fetched', { cause: away });
  const collection = new QuiverError('embedding_unavailable', 'The embedding model "m" can not be loaded', {
    cause: model,
    details: { model: 'm' },
  });
  for (const error of [
    collection,
    new QuiverError('unavailable', 'no shard answers', {
      cause: new QuiverError('unavailable', 'shard 1 does not answer'),
    }),
  ]) {
    const carried = errorOf(structuredClone(failureOf(errorOf(structuredClone(failureOf(error))))));
    expect(errorFields(carried)).toEqual(errorFields(error));
  }
  const carried = errorOf(failureOf(new QuiverError('unavailable', 'no answer', { cause: fault })));
  expect(errorFields(carried)).toEqual({ error: carried });
});

test.each<[string, unknown]>([
  ['no operating error', fault],
  ['one of the kind internal', new QuiverError('internal', 'lost')],
  ['one that a fault of the program has caused', new QuiverError('unavailable', 'no answer', { cause: fault })],
  [
    'one that a misused function has caused',
    new QuiverError('unavailable', 'no answer', {
      cause: Object.assign(new TypeError('bad'), { code: 'ERR_INVALID_ARG_TYPE' }),
    }),
  ],
])('%s is told with its stack', (_, error) => expect(errorFields(error)).toEqual({ error }));

test('causes that go round in a circle have an end', () => {
  const [a, b] = [new QuiverError('unavailable', 'a'), new QuiverError('unavailable', 'b')];
  Object.assign(a, { cause: b });
  Object.assign(b, { cause: a });
  expect(errorFields(a)).toMatchObject({ reason: 'a' });
});
