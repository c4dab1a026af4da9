import { z } from 'zod';
import { BodyReader } from '../../../../../coordinator/api/body/body-reader';
import { openVectorCodec } from '../../../../../coordinator/api/body/vector-codec';
import type { JsonBody } from '../../../../../coordinator/api/endpoints/endpoint';
import { Turns } from '../../../../../coordinator/api/load/turns';
import { RequestWarnings } from '../../../../../coordinator/api/requests/request-warnings';
import { systemClock } from '../../../../../shared/base/time/clock';

test('what names a time from now is read anew each time, others once', async () => {
  const bounds = {
    vectorDimMax: 8,
    jsonDepthMax: 8,
    jsonValuesMax: 100,
    jsonKeysMax: 100,
    requestBytesMax: 10_000,
  };
  const reader = new BodyReader({
    scanner: openVectorCodec(bounds).scanner,
    bounds,
    turns: new Turns(),
    clock: systemClock,
  });
  let readings = 0;
  const expected: JsonBody = {
    type: 'json',
    required: true,
    example: null,
    schema: z.looseObject({ vector: z.any() }).transform(({ vector }) => ({ vector, reading: ++readings })),
    withVector: (output, vector) => ({ ...(output as object), vector }),
  };
  const read = async (text: string): Promise<{ reading: number }> =>
    (await reader.read(Buffer.from(text), expected, {
      isGone: () => false,
      warnings: new RequestWarnings(),
    })) as { reading: number };
  const readingsOf = async (more: string): Promise<number[]> => {
    const before = readings;
    const found = [];
    for (const vector of ['[1,2]', '[3,4]']) found.push((await read(`{"vector":${vector},${more}}`)).reading - before);
    return found;
  };
  expect(await readingsOf('"filters":{"at":"never"}')).toEqual([1, 1]);
  expect(await readingsOf('"filters":{"at":{"$lt":{"$date":"now-7d"}}}')).toEqual([1, 2]);
  expect(await readingsOf('"boosts":[{"origin":"\\u006eow"}]')).toEqual([1, 2]);
});
