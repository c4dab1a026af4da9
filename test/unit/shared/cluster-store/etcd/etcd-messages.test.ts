import { prefixToRange, transactionToMessage } from '../../../../../shared/cluster-store/etcd/etcd-messages';

test('a range of a prefix ends at the first key after all that have it', () => {
  const range = (prefix: string): [string, string] => {
    const { key, range_end } = prefixToRange(prefix);
    return [key.toString('hex'), range_end.toString('hex')];
  };
  expect(range('a/')).toEqual(['612f', '6130']);
  expect(range('a~\x7f')).toEqual(['617e7f', '617e80']);
  expect(range('é')).toEqual(['c3a9', 'c3aa']);
  expect(range('\u{10ffff}')).toEqual(['f48fbfbf', 'f48fbfc0']);
  expect(range('')).toEqual(['00', '00']);
});

test('empty keys and transactions beyond what etcd takes are programming errors', () => {
  expect(() => transactionToMessage([{ key: '', revision: 0 }], [])).toThrow(/not empty/);
  expect(() => transactionToMessage([], [{ type: 'delete', key: '' }])).toThrow(/not empty/);
  const changes = Array.from({ length: 129 }, (_, i) => ({ type: 'delete' as const, key: String(i) }));
  expect(() => transactionToMessage([], changes)).toThrow(/128/);
  expect(transactionToMessage([], changes.slice(1)).success).toHaveLength(128);
});
