import { connect } from 'node:net';

/**
 * One keep-alive HTTP/1.1 connection that carries one request at a time. It does no more than a load generator needs
 * (whole requests in, bodies out), so that measuring takes as little as possible from the server measured.
 */
export class HttpConnection {
  static open({ host, port }) {
    return new Promise((done, fail) => {
      const socket = connect({ host, port, noDelay: true }, () => {
        socket.off('error', fail);
        done(new HttpConnection(socket));
      });
      socket.once('error', fail);
    });
  }

  constructor(socket) {
    this.socket = socket;
    this.chunks = [];
    this.received = 0;
    this.bodyStart = -1;
    this.bodyEnd = -1;
    this.pending = null;
    socket.on('data', (chunk) => this.onData(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the server closed the connection')));
  }

  /** Sends a whole request (head and body) and resolves with the body of its answer. */
  send(...parts) {
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject };
      for (const part of parts) this.socket.write(part);
    });
  }

  close() {
    this.pending = null;
    this.socket.destroy();
  }

  fail(error) {
    const pending = this.pending;
    this.pending = null;
    pending?.reject(error);
  }

  onData(chunk) {
    this.chunks.push(chunk);
    this.received += chunk.length;
    if (this.bodyStart < 0) {
      const all = this.joined();
      const headEnd = all.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      this.bodyStart = headEnd + 4;
      const head = all.latin1Slice(0, headEnd);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head);
      this.bodyEnd = length === null ? -1 : this.bodyStart + Number(length[1]);
    }
    if (this.bodyEnd >= 0 ? this.received < this.bodyEnd : !this.joined().subarray(-7).equals(LAST_CHUNK)) return;
    const body =
      this.bodyEnd >= 0
        ? this.joined().subarray(this.bodyStart, this.bodyEnd)
        : dechunked(this.joined().subarray(this.bodyStart));
    this.chunks = [];
    this.received = 0;
    this.bodyStart = -1;
    const pending = this.pending;
    this.pending = null;
    pending?.resolve(body);
  }

  joined() {
    if (this.chunks.length > 1) this.chunks = [Buffer.concat(this.chunks)];
    return this.chunks[0];
  }
}

const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

function dechunked(bytes) {
  const parts = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.latin1Slice(at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

/** The head of a request with a JSON body of `bodyBytes` bytes. */
export function requestHead({ method, path, host, port, headers = {}, bodyBytes }) {
  const lines = Object.entries({
    host: `${host}:${port}`,
    'content-type': 'application/json',
    'content-length': bodyBytes,
    ...headers,
  });
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`,
  );
}
