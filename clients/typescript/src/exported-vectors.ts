import type { ExportedVector, Typed } from './api';
import { BadAnswerError } from './errors';
import type { Metadata } from './values';
import { vectorFromAnswer } from './vectors';

/** Before the first vector of an export; a collection's name holds nothing that could be taken for it. */
const LIST_HEAD = '"vectors":[';

/**
 * The vectors of an export while its text arrives, so that none of it but one vector is held.
 *
 * Throws a BadAnswerError when the text ends early or does not hold as many as it says.
 */
export async function* exportedVectors<Meta extends object = Metadata>(
  pieces: AsyncIterable<string>,
): AsyncGenerator<Typed<ExportedVector, Meta>> {
  const objects = new ObjectScan();
  let text = '';
  let isInList = false;
  let count = 0;
  for await (const piece of pieces) {
    text += piece;
    if (!isInList) {
      const at = text.indexOf(LIST_HEAD);
      if (at < 0) continue;
      isInList = true;
      text = text.slice(at + LIST_HEAD.length);
    }
    const { found, rest } = objects.take(text);
    text = rest;
    for (const json of found) {
      count++;
      const { vector, ...others } = JSON.parse(json) as Omit<ExportedVector, 'vector'> & { vector: string | number[] };
      yield { ...others, vector: vectorFromAnswer(vector) } as unknown as Typed<ExportedVector, Meta>;
    }
  }
  const said = /^\],"count":(\d+)\}/.exec(text)?.[1];
  if (!isInList || said !== String(count))
    throw new BadAnswerError(`the export ended after ${count} vectors${said === undefined ? '' : ` of ${said}`}`, {
      httpStatus: 200,
    });
}

/** Finds the objects of a JSON list in text that comes in pieces. */
class ObjectScan {
  /** Characters of the kept text that were looked at. */
  private at = 0;
  private depth = 0;
  private isInString = false;

  /** The objects that are whole by now, and the text after them, which the next call is to begin with. */
  take(text: string): { found: string[]; rest: string } {
    const found: string[] = [];
    let from = 0;
    let i = this.at;
    for (; i < text.length; i++) {
      if (this.isInString) {
        i = this.endOfString(text, i);
        continue;
      }
      const character = text[i];
      if (character === '"') this.isInString = true;
      else if (character === '{' || character === '[') this.depth++;
      else if (character === ']' && this.depth === 0) break;
      else if (character === '}' || character === ']') {
        this.depth--;
        if (this.depth > 0) continue;
        found.push(text.slice(from, i + 1));
        from = i + 1;
      } else if (character === ',' && this.depth === 0) from = i + 1;
    }
    this.at = Math.min(i, text.length + 1) - from;
    return { found, rest: text.slice(from) };
  }

  /** The place of the quote that ends the string, or what lets the loop go on behind what is there. */
  private endOfString(text: string, start: number): number {
    for (let from = start; ;) {
      const quote = text.indexOf('"', from);
      const end = quote < 0 ? text.length : quote;
      let slashes = 0;
      while (end - slashes > from && text[end - slashes - 1] === '\\') slashes++;
      const isEscaped = slashes % 2 === 1;
      // The character behind the last backslash is still to come.
      if (quote < 0) return isEscaped ? text.length : text.length - 1;
      if (!isEscaped) {
        this.isInString = false;
        return quote;
      }
      from = quote + 1;
    }
  }
}
