import { scopesFromText, scopesToText } from '../../../../dashboard/keys/scope-text';

test('scopes are written and read as people write them', () => {
  const scopes = [
    { name: 'articles', role: 'readonly' as const },
    { prefix: 'logs-', role: 'readwrite' as const },
  ];
  expect(scopesToText(scopes, 'readonly')).toBe('articles, logs-*: readwrite');
  expect(scopesFromText(' articles , logs-* : readwrite,')).toEqual([
    { name: 'articles' },
    { prefix: 'logs-', role: 'readwrite' },
  ]);
  expect(scopesFromText(' ,')).toBeNull();
});
