// Preloaded into a process under test (NODE_OPTIONS=--require): it is then, to its peers and by its own word, a member of
// before there were versions (shared/process/member-version.ts).
globalThis.quiverMemberVersion = { protocol: 1, oldest: 1, features: [] };
