import { LogIndex } from '../../../../../node/replication/core/log-index';

describe('a log index', () => {
  test('finds the last entry that may be common with a log of other epochs', () => {
    const log = new LogIndex({
      firstSequence: 4,
      lastSequence: 10,
      precedingEpoch: 1,
      epochStarts: [
        { epoch: 1, sequence: 1 },
        { epoch: 3, sequence: 6 },
        { epoch: 5, sequence: 9 },
      ],
    });
    expect(log.latestAt(20, 9)).toEqual({ epoch: 5, sequence: 10 });
    expect(log.latestAt(9, 4)).toEqual({ epoch: 3, sequence: 8 });
    expect(log.latestAt(7, 2)).toEqual({ epoch: 1, sequence: 5 });
    expect(log.latestAt(2, 1)).toEqual({ epoch: 1, sequence: 3 });
  });
});
