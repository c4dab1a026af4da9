import { PhraseMatches } from '../../../../../../node/engine/shard/reading/phrase-matches';
import { ChunkedSlotSet } from '../../../../../../node/engine/slots/chunked-slot-set';
import { defaultAnalyser } from '../../../../../../shared/base/text/analyser';
import type { WordsCondition } from '../../../../../../shared/contract/filter/filter';

const RED_FOX: WordsCondition = { type: 'words', query: 'red fox', match: 'phrase' };

/** Texts by slot; `during` happens once, while texts are being read. */
function phrasesOf(texts: Map<number, string>) {
  const state: { during: (() => void) | null; reads: number; fails: boolean } = {
    during: null,
    reads: 0,
    fails: false,
  };
  const decided: number[] = [];
  const phrases = new PhraseMatches(
    {
      analyser: defaultAnalyser,
      *candidates() {
        yield;
        return ChunkedSlotSet.fromArray([...texts.keys()]);
      },
      isCandidate: (slot) => texts.has(slot),
      read: async (slots) => {
        state.reads += slots.length;
        const read = slots.map((slot) => ({ text: texts.get(slot) ?? null, metadata: { title: 'a red, fox' } }));
        const { during } = state;
        state.during = null;
        await Promise.resolve();
        during?.();
        if (state.fails) throw new Error('no disk');
        return slots.some((slot) => slot === 9) ? read : read.map(({ text }) => ({ text, metadata: {} }));
      },
    },
    (slots) => decided.push(...slots),
  );
  const put = (slot: number, text: string): void => {
    phrases.remove(slot);
    texts.set(slot, text);
    phrases.put(slot);
  };
  return { phrases, state, put, decided };
}

const found = async (phrases: PhraseMatches): Promise<number[]> => {
  await phrases.prepare(RED_FOX);
  return [...phrases.slots(RED_FOX).toArray()];
};

describe('phrases that are asked for', () => {
  test('are found once, and then in what is written', async () => {
    const { phrases, state, put, decided } = phrasesOf(
      new Map([
        [1, 'the red fox'],
        [2, 'fox red'],
        [3, 'Red, FOX!'],
      ]),
    );
    expect(await found(phrases)).toEqual([1, 3]);
    expect(state.reads).toBe(3);
    expect(phrases.prepare(RED_FOX)).toBeNull();
    put(2, 'a red fox');
    put(3, 'a fox');
    expect(phrases.has(3, RED_FOX)).toBe(false);
    decided.length = 0;
    expect(await found(phrases)).toEqual([1, 2]);
    expect({ reads: state.reads, decided }).toEqual({ reads: 5, decided: [2, 3] });
    phrases.remove(1);
    expect(await found(phrases)).toEqual([2]);
  });

  test('are decided by the text that an item has at last, if it is written while texts are read', async () => {
    const { phrases, state, put } = phrasesOf(
      new Map([
        [1, 'a red fox'],
        [2, 'a fox that is red'],
      ]),
    );
    state.during = () => {
      put(1, 'no longer a red one, but a fox');
      put(2, 'now a red fox');
    };
    expect(await found(phrases)).toEqual([2]);
  });

  test('are looked for again after a failure', async () => {
    const { phrases, state, put } = phrasesOf(new Map([[1, 'a red fox']]));
    state.fails = true;
    await expect(found(phrases)).rejects.toThrow('no disk');
    state.fails = false;
    expect(await found(phrases)).toEqual([1]);
    put(2, 'red fox');
    state.fails = true;
    await expect(found(phrases)).rejects.toThrow('no disk');
    state.fails = false;
    expect(await found(phrases)).toEqual([1, 2]);
  });

  test('are in one string of an item', async () => {
    const { phrases, put } = phrasesOf(new Map([[1, 'not this: red']]));
    expect(await found(phrases)).toEqual([]);
    put(9, 'red');
    expect(await found(phrases)).toEqual([9]);
  });

  test('are given out as sets that belong to those who ask', async () => {
    const { phrases } = phrasesOf(new Map([[1, 'a red fox']]));
    await phrases.prepare(RED_FOX);
    phrases.slots(RED_FOX).remove(1);
    expect(await found(phrases)).toEqual([1]);
  });

  describe('when there are very many', () => {
    const MOST = 4_096;
    const phrase = (i: number): WordsCondition => ({ ...RED_FOX, query: `red ${i}` });
    const ask = async (phrases: PhraseMatches, from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++) await phrases.prepare(phrase(i));
    };

    test('the one that was not asked for longest goes, once nobody may need it any more', async () => {
      jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate', 'nextTick'] });
      try {
        const { phrases, state } = phrasesOf(new Map([[1, 'red 0']]));
        await ask(phrases, 0, MOST);
        await expect((async () => phrases.prepare(phrase(MOST)))()).rejects.toMatchObject({ kind: 'overloaded' });
        jest.advanceTimersByTime(4_999);
        await ask(phrases, 0, 1);
        jest.advanceTimersByTime(1);
        await ask(phrases, MOST, MOST + 1);
        state.reads = 0;
        await ask(phrases, 2, 4);
        expect({ first: phrases.prepare(phrase(0)), reads: state.reads }).toEqual({ first: null, reads: 0 });
        await ask(phrases, 1, 2);
        expect(state.reads).toBe(1);
      } finally {
        jest.useRealTimers();
      }
    });
  });
});
