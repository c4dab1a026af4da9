#pragma once

#include <rocksdb/env.h>

namespace quiver {

/**
 * The files of the machine, of which a read that ends before it should is an error. RocksDB takes a short read in the
 * middle of a table, which was cut while it was open, for something that can't be, and ends the process by an assertion
 * when it reads ahead. Lives as long as the process.
 */
rocksdb::Env* whole_files();

}  // namespace quiver
