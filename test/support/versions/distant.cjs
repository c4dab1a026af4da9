// Preloaded into a process under test (NODE_OPTIONS=--require): by its own word it is then of the protocol version
// after the next (shared/base/process/member-version.ts).
globalThis.quiverMemberVersion = { protocol: 5, oldest: 4, features: ['of-next'] };
