import { Metadata } from '@grpc/grpc-js';
import type { IncomingHttpHeaders } from 'node:http2';
import type { MembersDefinition } from '../generated/quiver/v1/members';
import { loadService } from '../streams/protocol';

/**
 * The form of the handshake:
 *
 *   Hello        client → server: version, name, address, nonce, program
 *                server → client: name, nonce, proofs (one for each secret that it accepts), program
 *   each stream  client → server: version, name, nonce, the server's nonce, number, proof
 *   or, once for a connection (proof-acceptor.ts), the same without a number
 */
export const HANDSHAKE_VERSION = '1';

/**
 * A connection is proven before HTTP/2 (proof-acceptor.ts), never by a stream: there is no method of this name, and who
 * calls it is a stranger.
 */
export const CONNECTION_PATH = '/quiver.v1.Members/Connection';

export const membersDefinition = loadService<MembersDefinition>('quiver/v1/members.proto', 'quiver.v1.Members');

export const FIELDS = {
  version: 'quiver-handshake',
  name: 'quiver-member',
  address: 'quiver-address',
  nonce: 'quiver-nonce-bin',
  serverNonce: 'quiver-server-nonce-bin',
  number: 'quiver-stream',
  proof: 'quiver-proof-bin',
  /** The sender's version (member-version.ts). Absent: a program of before there were versions. */
  program: 'quiver-program',
  /** In a Hello that asks for nothing: the client did not accept the proof that it got for the Hello before. */
  objection: 'quiver-objection',
} as const;

/** Metadata with these fields. A list gives a field several values. */
export function metadataOf(
  fields: Partial<Record<keyof typeof FIELDS, string | Buffer | readonly Buffer[]>>,
): Metadata {
  const metadata = new Metadata();
  for (const [field, value] of Object.entries(fields)) {
    for (const each of Array.isArray(value) ? value : [value]) metadata.add(FIELDS[field as keyof typeof FIELDS], each);
  }
  return metadata;
}

/** What a header of text may hold. */
const TEXT = /^[\x20-\x7e]*$/;

/** The fields of the handshake among the headers of a stream. Whatever else a stranger sends is not read. */
export function metadataOfHeaders(headers: IncomingHttpHeaders): Metadata {
  const metadata = new Metadata();
  for (const field of Object.values(FIELDS)) {
    const value = headers[field];
    if (typeof value !== 'string' || !TEXT.test(value)) continue;
    if (!field.endsWith('-bin')) metadata.add(field, value);
    else for (const each of value.split(',')) metadata.add(field, Buffer.from(each.trim(), 'base64'));
  }
  return metadata;
}

/** The text of a field, '' if absent. */
export function textOf(metadata: Metadata, field: keyof typeof FIELDS): string {
  const value = metadata.get(FIELDS[field])[0];
  return typeof value === 'string' ? value : '';
}

/** All byte values of a field. */
export function bytesOf(metadata: Metadata, field: keyof typeof FIELDS): Buffer[] {
  return metadata.get(FIELDS[field]).filter((value) => Buffer.isBuffer(value));
}

/** Metadata as a frame has it. */
export function metadataToBytes(metadata: Metadata): Buffer {
  return Buffer.from(JSON.stringify(metadata.toHttp2Headers()));
}

/** Throws at what is malformed. */
export function metadataFromBytes(bytes: Buffer): Metadata {
  return metadataFromJson(JSON.parse(bytes.toString()));
}

/** From the fields of an object. Throws at what is malformed. */
export function metadataFromJson(fields: unknown): Metadata {
  const metadata = new Metadata();
  for (const [name, values] of Object.entries(fields as object)) {
    for (const value of Array.isArray(values) ? values : [values])
      metadata.add(name, name.endsWith('-bin') ? Buffer.from(String(value), 'base64') : String(value));
  }
  return metadata;
}
