// Preloaded into a process under test (NODE_OPTIONS=--require): connections to a port of 127.0.0.1 that the file
// QUIVER_TEST_ROUTES names go to another one, so that a proxy stands between this process and that one alone. The front
// threads of a coordinator have no environment, and nothing is put between a coordinator and others.
const { readFileSync } = require('node:fs');
const { Socket } = require('node:net');

const { connect } = Socket.prototype;
Socket.prototype.connect = function (...words) {
  const options = Array.isArray(words[0]) ? words[0][0] : words[0];
  if (
    options !== null &&
    typeof options === 'object' &&
    options.port !== undefined &&
    process.env.QUIVER_TEST_ROUTES !== undefined
  ) {
    const routes = JSON.parse(readFileSync(process.env.QUIVER_TEST_ROUTES, 'utf8'));
    options.port = routes[options.port] ?? options.port;
  }
  return connect.apply(this, words);
};
