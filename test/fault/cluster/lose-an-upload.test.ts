import { API_KEY, ClusterProcesses } from '../../support/cluster-processes';
import { eventually } from '../../support/eventually';
import { UploadInProgress } from '../../support/upload-in-progress';

/** Uploads whose coordinator is lost half-way: another one takes them back, and none is ever half there in the end. */

const HALF = 1024 * 1024;
const sentences = 'The river floods every spring, and farmers wait. '.repeat(Math.ceil(HALF / 49)).slice(0, HALF);

let cluster: ClusterProcesses;
const countBy = async (witness: number): Promise<number> => (await cluster.data('GET', '/v1/collections/documents', undefined, witness)).vector_count;
/** Found by the lease's end and the next round of housekeeping; the rest is room for a busy machine. */
const takenBack = (witness: number) => eventually('the upload is taken back', async () => (await countBy(witness)) === 0, 90_000);

async function halfWay(coordinator: number): Promise<UploadInProgress> {
  const target = { baseUrl: cluster.baseUrl(coordinator), adminKey: API_KEY };
  const upload = await UploadInProgress.begin(target, { collection: 'documents', fileBytes: 2 * HALF });
  await upload.send(sentences);
  await eventually('a part of the document is stored', async () => (await countBy(1 - coordinator)) > 500);
  return upload;
}

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ coordinators: 2 });
  await cluster.data('POST', '/v1/collections', { name: 'documents', dim: 16 });
});
afterAll(() => cluster?.destroy());

test('kill -9 of the coordinator in the middle: the other one takes the upload back', async () => {
  const upload = await halfWay(0);
  await cluster.coordinators[0].kill();
  upload.abandon();
  await takenBack(1);
  await cluster.coordinators[0].start();
  expect(await countBy(0)).toBe(0);
});

test('a coordinator that stood still until its upload was taken back refuses it, and leaves nothing', async () => {
  const upload = await halfWay(0);
  cluster.coordinators[0].pause();
  await takenBack(1);
  cluster.coordinators[0].resume();
  await upload.send(sentences);
  expect((await upload.finish()).error).toEqual({ code: 500, message: expect.stringContaining('taken back') });
  await takenBack(1);
});
