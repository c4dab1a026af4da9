import { createServer } from 'node:http';

/** About what an answer with ten hits takes. */
const ANSWER = Buffer.from(JSON.stringify({ status: 'success', data: 'x'.repeat(700) }));

// A plain node:http server that reads a request and always answers the same: what a load generator, the connections and
// node:http take by themselves. Its port is the first argument.
createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length });
    response.end(ANSWER);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
