import { API_KEY, ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import { UploadInProgress } from '../../support/http/upload-in-progress';

/** Uploads whose coordinator is lost half-way: another one takes them back, and none is ever half there in the end. */

const HALF = 1024 * 1024;
/** The coordinator that nothing happens to. */
const WITNESS = 2;
const sentences = 'The river floods every spring, and farmers wait. '.repeat(Math.ceil(HALF / 49)).slice(0, HALF);

let cluster: ClusterProcesses;

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ coordinators: 3 });
});
afterAll(() => cluster?.destroy());

const countOf = async (collection: string): Promise<number> =>
  (await cluster.data('GET', `/v1/collections/${collection}`, undefined, WITNESS)).vector_count;
/** Found by the lease's end and the next round of housekeeping; the rest is room for a busy machine. */
const takenBack = (collection: string) =>
  eventually('the upload is taken back', async () => (await countOf(collection)) === 0);

/** An upload through a coordinator to a collection of its own. */
async function halfWay(coordinator: number): Promise<{ upload: UploadInProgress; collection: string }> {
  const collection = `documents-${coordinator}`;
  await cluster.data('POST', '/v1/collections', { name: collection, dim: 16 }, coordinator);
  const target = { baseUrl: cluster.baseUrl(coordinator), adminKey: API_KEY };
  const upload = await UploadInProgress.begin(target, { collection, fileBytes: 2 * HALF });
  await upload.send(sentences);
  await eventually('a part of the document is stored', async () => (await countOf(collection)) > 500);
  return { upload, collection };
}

test('of a coordinator that died and of one that stood still, another takes the uploads back, and nothing is left', async () => {
  const [lost, late] = [await halfWay(0), await halfWay(1)];
  await cluster.coordinators[0].kill();
  lost.upload.abandon();
  cluster.coordinators[1].pause();
  await Promise.all([takenBack(lost.collection), takenBack(late.collection)]);
  await cluster.coordinators[0].start();
  expect(await countOf(lost.collection)).toBe(0);
  // The one that stood still refuses what it had begun.
  cluster.coordinators[1].resume();
  await late.upload.send(sentences);
  expect((await late.upload.finish()).error).toEqual({ code: 500, message: expect.stringContaining('taken back') });
  await takenBack(late.collection);
});
