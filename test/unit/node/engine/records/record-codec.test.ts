import {
  moveRecordBytes,
  positionOfRecordBytes,
  recordFromBytes,
  recordToBytes,
} from '../../../../../node/engine/records/record-codec';

const VECTOR = Float32Array.of(1, -0.5);

describe.each([0, 891149408141470])('a record of version %d', (version) => {
  test.each(['id', 'ü 😀', 'lone \ud800'])(
    'tells where %j belongs without being read whole, and moves to another slot',
    (externalId) => {
      const record = {
        externalId,
        slot: 3,
        stamp: 891149408141000,
        version,
        metadata: '{"a":1}',
        text: 'words',
        vector: VECTOR,
      };
      const bytes = recordToBytes(record);
      expect(recordFromBytes(bytes)).toEqual(record);
      expect(positionOfRecordBytes(bytes)).toEqual({ externalId, stamp: record.stamp, version });
      moveRecordBytes(bytes, 9);
      expect(recordFromBytes(bytes)).toEqual({ ...record, slot: 9 });
    },
  );
});
