/** Packages of test/bench/package.json, which are installed only when they are asked for. */
declare module '@nxtedition/rocksdb';
declare module 'classic-level';
declare module 'hnswlib-node';
declare module 'lmdb';
declare module 'rocksdb-native';
declare module 'usearch';
