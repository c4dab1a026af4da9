/** The part of the `rocksdb` package (abstract-leveldown's interface) that Quiver uses; the package ships no types. */
declare module 'rocksdb' {
  function rocksdb(location: string): rocksdb.RocksDatabase;

  namespace rocksdb {
    type Callback<Result = void> = (error: Error | null | undefined, result?: Result) => void;

    interface OpenOptions {
      createIfMissing?: boolean;
      compression?: boolean;
      cacheSize?: number;
      writeBufferSize?: number;
      blockSize?: number;
      maxOpenFiles?: number;
      maxFileSize?: number;
    }

    interface IteratorOptions {
      gte: Buffer;
      lt: Buffer;
      reverse?: boolean;
      limit?: number;
      values?: boolean;
      keyAsBuffer: true;
      valueAsBuffer: true;
      highWaterMark?: number;
    }

    interface RocksIterator {
      next(callback: (error: Error | null | undefined, key?: Buffer, value?: Buffer) => void): void;
      end(callback: Callback): void;
    }

    interface RocksDatabase {
      open(options: OpenOptions, callback: Callback): void;
      close(callback: Callback): void;
      get(key: Buffer, options: { asBuffer: true }, callback: Callback<Buffer>): void;
      getMany(keys: Buffer[], options: { asBuffer: true }, callback: Callback<(Buffer | undefined)[]>): void;
      batch(operations: { type: 'put' | 'del'; key: Buffer; value?: Buffer }[], options: { sync: boolean }, callback: Callback): void;
      iterator(options: IteratorOptions): RocksIterator;
      clear(options: { gte: Buffer; lt: Buffer }, callback: Callback): void;
      /** A number RocksDB keeps about itself, as text; "" when it does not know the name. Synchronous. */
      getProperty(property: string): string;
      approximateSize(start: Buffer, end: Buffer, callback: Callback<number>): void;
    }
  }

  export = rocksdb;
}
