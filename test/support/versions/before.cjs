// Preloaded into a process under test (NODE_OPTIONS=--require): by its own word it is then of a release before 0.2.0
// (shared/base/process/member-version.ts).
globalThis.quiverMemberVersion = { protocol: 2, oldest: 1, features: ['digest-at', 'expiry'] };
