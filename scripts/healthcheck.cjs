#!/usr/bin/env node
// A container's health check: asks the operations port of the process in the same container, by default for /livez.
// Exits with 0 if it answers 200, otherwise with 1 and a line that says why.
//
//   node scripts/healthcheck.cjs [livez | readyz]
const { get } = require('node:http');

/** Default ports of the two kinds of process; a container runs one of them. */
const DEFAULT_PORTS = ['9090', '9091'];
/** Less than the timeout of the image's HEALTHCHECK, so that the line is written. */
const TIMEOUT_MS = 4000;
/** @type {Record<string, string>} */
const WILDCARDS = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const path = process.argv[2] ?? 'livez';
const host = process.env.HOST || '0.0.0.0';
const ports = process.env.OPS_PORT ? [process.env.OPS_PORT] : DEFAULT_PORTS;

/**
 * Resolves when the port answers 200; otherwise rejects with what happened.
 * @param {string} port
 * @returns {Promise<void>}
 */
function ask(port) {
  return new Promise((resolve, reject) => {
    const request = get(
      { host: WILDCARDS[host] ?? host, port, path: `/${path}`, timeout: TIMEOUT_MS, agent: false },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part) => (text += part));
        answer.on('end', () =>
          answer.statusCode === 200
            ? resolve()
            : reject(new Error(`port ${port}: ${answer.statusCode} ${text.trim()}`)),
        );
      },
    );
    request.on('timeout', () => request.destroy(new Error(`port ${port}: no answer within ${TIMEOUT_MS} ms`)));
    request.on('error', reject);
  });
}

if (path !== 'livez' && path !== 'readyz') {
  process.stderr.write('usage: healthcheck.cjs [livez | readyz]\n');
  process.exitCode = 2;
} else {
  Promise.any(ports.map(ask)).catch((/** @type {AggregateError} */ { errors }) => {
    process.stdout.write(`${errors.map((error) => error.message).join('; ')}\n`);
    process.exitCode = 1;
  });
}
