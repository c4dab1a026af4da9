import { LeadingThoughts } from '../../../../../coordinator/service/answers/leading-thoughts';

describe('what a model thinks before it answers', () => {
  test.each([
    ['<think>hm <think> so</think>\n\nRivers flood.', '\n\nRivers flood.'],
    ['\n <think></think>Yes <think>no</think>', 'Yes <think>no</think>'],
    ['<think>never ended', ''],
    ['<thin air', '<thin air'],
    ['<thi', '<thi'],
    ['Yes. <think>', 'Yes. <think>'],
    ['', ''],
  ])('%j is %j, wherever it is cut', (text, expected) => {
    for (let at = 0; at <= text.length; at += 1) {
      const thoughts = new LeadingThoughts();
      expect(thoughts.take(text.slice(0, at)) + thoughts.take(text.slice(at)) + thoughts.end()).toBe(expected);
    }
    const thoughts = new LeadingThoughts();
    expect([...text].map((one) => thoughts.take(one)).join('') + thoughts.end()).toBe(expected);
  });
});
