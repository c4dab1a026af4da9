import { deflateRawSync } from 'node:zlib';

/** What is in an archive: a content, or bytes as they are to stand in it with what it says of them. */
export type ZipContent = string | Buffer | { deflated: Buffer; claims?: number; flags?: number };

/** A ZIP archive of these files. */
export function zipFile(files: Record<string, ZipContent>): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const isRaw = typeof content === 'object' && 'deflated' in content;
    const bytes = isRaw ? content.deflated : deflateRawSync(content);
    const size = isRaw ? (content.claims ?? 0) : Buffer.byteLength(content);
    const flags = isRaw ? (content.flags ?? 0) : 0;
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, nameBytes, bytes]);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\0', 'latin1'), common, entry, nameBytes);
    locals.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, list, end]);
}

const MAIN = 'http://schemas.openxmlformats.org/2006/relationships/mainDocument';
const NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/** A DOCX with this body, and other parts beside it. */
export function docxFile(body: string, parts: Record<string, ZipContent> = {}): Buffer {
  return zipFile({
    '_rels/.rels': `<Relationships><Relationship Id="r1" Type="${MAIN}" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `<?xml version="1.0"?><w:document ${NAMESPACE}><w:body>${body}</w:body></w:document>`,
    ...parts,
  });
}
