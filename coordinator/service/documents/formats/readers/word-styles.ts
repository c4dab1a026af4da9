import { readXml } from './xml-events';

/** How a paragraph is numbered: a list of `numbering.xml`, and the level in it. */
export interface ListLevel {
  list: string;
  level: number;
}

interface WordStyle {
  basedOn?: string;
  /** From 0; 9 is text. */
  outline?: number;
  list?: string;
  listLevel?: number;
}

const NAMED_HEADING = /^heading ([1-9])$/i;
/** Styles that are made after one another; more is a circle. */
const BASES_MAX = 20;
export const TEXT_OUTLINE = 9;

/** What the styles of a document say of headings. Errors: invalid_parameter. */
export class WordStyles {
  private readonly styles = new Map<string, WordStyle>();

  constructor(bytes: Buffer | null) {
    if (bytes === null) return;
    let style: WordStyle = {};
    readXml(bytes, 'styles.xml', {
      open: (name, attribute) => {
        if (name === 'style') {
          style = {};
          this.styles.set(attribute('styleId') ?? '', style);
        } else if (name === 'name') {
          const named = NAMED_HEADING.exec(attribute('val') ?? '');
          if (named !== null) style.outline ??= Number(named[1]) - 1;
        } else if (name === 'basedOn') style.basedOn = attribute('val');
        else if (name === 'outlineLvl') style.outline = Number(attribute('val'));
        else if (name === 'numId') style.list = attribute('val');
        else if (name === 'ilvl') style.listLevel = Number(attribute('val'));
      },
      close: () => undefined,
      text: () => undefined,
    });
  }

  /** The level of the headings that have this style, from 0; undefined: they are text. */
  outlineOf(id: string): number | undefined {
    return this.found(id, ({ outline }) => outline);
  }

  listOf(id: string): ListLevel | undefined {
    const list = this.found(id, (style) => style.list);
    if (list === undefined || list === '0') return undefined;
    return { list, level: this.found(id, ({ listLevel }) => listLevel) ?? 0 };
  }

  private found<Value>(id: string, of: (style: WordStyle) => Value | undefined): Value | undefined {
    let style = this.styles.get(id);
    for (let i = 0; i < BASES_MAX && style !== undefined; i++) {
      const value = of(style);
      if (value !== undefined) return value;
      style = style.basedOn === undefined ? undefined : this.styles.get(style.basedOn);
    }
    return undefined;
  }
}
