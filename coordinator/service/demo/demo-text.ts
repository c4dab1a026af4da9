/** A text of the demo. */
export interface DemoText {
  topic: string;
  title: string;
  /** Metadata beside topic and title. */
  facts: { [name: string]: string | number | undefined };
  text: string;
}

/** The external id of a text: it stays the same, so that loading the demo again changes nothing. */
export function demoId({ topic, title }: DemoText): string {
  const word = title
    .normalize('NFD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-');
  return `${topic}-${word.replace(/^-|-$/g, '')}`;
}
