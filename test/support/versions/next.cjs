// Preloaded into a process under test (NODE_OPTIONS=--require): by its own word it is then of the next protocol version
// (shared/base/process/member-version.ts).
globalThis.quiverMemberVersion = { protocol: 4, oldest: 3, features: ['of-next'] };
