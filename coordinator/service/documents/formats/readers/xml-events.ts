import { parser as openParser } from 'sax';
import { brokenFile } from '../parser-limits';

/** What is told of an XML file in order. Names are without their prefix. */
export interface XmlReader {
  open(name: string, attribute: (name: string) => string | undefined): void;
  close(name: string): void;
  text(text: string): void;
}

const WRITTEN_AT_ONCE = 1 << 16;
/** Elements within elements; a document has some dozens. */
const DEPTH_MAX = 4_096;

/**
 * Reads XML without a tree. A file with a document type is refused: that is where entities are declared, and no word
 * processor writes one. Errors: invalid_parameter.
 */
export function readXml(bytes: Buffer, name: string, reader: XmlReader): void {
  const parser = openParser(true, { position: false, trim: false, normalize: false });
  let depth = 0;
  const broken = (why: string): Error => brokenFile('DOCX', `${name} in it ${why}`);
  parser.onerror = ({ message }) => {
    throw broken(`is no XML (${message.split('\n', 1)[0].slice(0, 100)})`);
  };
  parser.ondoctype = () => {
    throw broken('declares a document type, which may have entities');
  };
  parser.onopentag = ({ name: tag, attributes }) => {
    if (++depth > DEPTH_MAX) throw broken('has too many elements within each other');
    reader.open(local(tag), (asked) => {
      for (const key in attributes) if (local(key) === asked) return attributes[key] as string;
      return undefined;
    });
  };
  parser.onclosetag = (tag) => {
    depth -= 1;
    reader.close(local(tag));
  };
  parser.ontext = (text) => reader.text(text);
  parser.oncdata = (text) => reader.text(text);
  const source = new TextDecoder(bytes[0] === 0xff ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8').decode(
    bytes,
  );
  for (let at = 0; at < source.length; at += WRITTEN_AT_ONCE) parser.write(source.slice(at, at + WRITTEN_AT_ONCE));
  parser.close();
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
