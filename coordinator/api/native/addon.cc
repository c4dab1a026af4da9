// Node-API binding of the body scanner. Everything except the work of scanAside runs on the calling JavaScript thread,
// and nothing keeps state between calls. So the addon may be loaded in any number of contexts.
#include <fcntl.h>
#include <node_api.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "answer_text.h"
#include "body_scanner.h"
#include "bulk_division.h"
#include "bulk_encoder.h"

namespace {

// Bodies are smaller than this, and every bound fits easily into 32 bits.
constexpr double kBoundMax = 2147483648.0;

// Answers undefined with a pending exception.
napi_value refuse(napi_env env, const char* message) {
  napi_throw_type_error(env, "QUIVER_INVALID_ARGUMENT", message);
  return nullptr;
}

// A C++ exception (only bad_alloc or length_error can occur) becomes a JavaScript one.
template <class Body>
napi_value guarded(napi_env env, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    napi_throw_error(env, "QUIVER_NATIVE", error.what());
    return nullptr;
  }
}

bool typed_array(napi_env env, napi_value value, napi_typedarray_type wanted, void** data, size_t* length) {
  bool is_typed_array = false;
  napi_typedarray_type type;
  return napi_is_typedarray(env, value, &is_typed_array) == napi_ok && is_typed_array &&
         napi_get_typedarray_info(env, value, &type, length, data, nullptr, nullptr) == napi_ok && type == wanted;
}

// An ArrayBuffer with a copy of `bytes` bytes. The caller makes the views on it: typed arrays made here would belong to
// the context that loaded the addon, which may be another than the caller's.
napi_value copied_buffer(napi_env env, const void* data, size_t bytes) {
  void* memory = nullptr;
  napi_value buffer = nullptr;
  if (napi_create_arraybuffer(env, bytes, &memory, &buffer) != napi_ok) return nullptr;
  if (bytes > 0) std::memcpy(memory, data, bytes);
  return buffer;
}

// From this size on, an answer's memory is handed over instead of copied: copying the vectors of a large body would
// block the JavaScript thread.
constexpr size_t kHandedOverBytes = 64 * 1024;

// An ArrayBuffer over the memory of `owner`, which lives until the ArrayBuffer is collected. If it is small, a copy.
template <class Owner>
napi_value handed_over(napi_env env, Owner& owner) {
  const size_t bytes = owner.size() * sizeof(owner[0]);
  if (bytes < kHandedOverBytes) return copied_buffer(env, owner.data(), bytes);
  auto* kept = new Owner(std::move(owner));
  napi_value buffer = nullptr;
  const auto release = [](napi_env, void*, void* hint) { delete static_cast<Owner*>(hint); };
  if (napi_create_external_arraybuffer(env, kept->data(), bytes, release, kept, &buffer) == napi_ok) return buffer;
  // A runtime may forbid memory that is not its own.
  buffer = copied_buffer(env, kept->data(), bytes);
  delete kept;
  return buffer;
}

// The bounds of a scan, and those of the items of a bulk.
constexpr size_t kScanBounds = 6;
constexpr size_t kItemBounds = 4;

// The arguments of a scan, and of encoding a bulk.
struct ScanQuestion {
  const char* text = nullptr;
  size_t size = 0;
  std::string nonce;
  quiver::ScanBounds bounds;
  // For encoding alone.
  quiver::ItemBounds items;
  char* target = nullptr;
  size_t capacity = 0;
};

// Reads (body: Uint8Array, nonce: string, list: string, bounds: Float64Array), and with `target` (…, target:
// Uint8Array). False with a pending exception.
bool read_question(napi_env env, napi_callback_info info, ScanQuestion& question, napi_value* body,
                   napi_value* target = nullptr) {
  size_t argument_count = 5;
  napi_value arguments[5];
  const size_t bounds_wanted = target == nullptr ? kScanBounds : kScanBounds + kItemBounds;
  void* text = nullptr;
  char nonce[80];
  char list[80];
  size_t nonce_size = 0;
  size_t list_size = 0;
  void* bounds = nullptr;
  size_t bounds_count = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok || argument_count < 4 ||
      !typed_array(env, arguments[0], napi_uint8_array, &text, &question.size)) {
    refuse(env, "scan: body must be a Uint8Array");
    return false;
  }
  if (napi_get_value_string_latin1(env, arguments[1], nonce, sizeof nonce, &nonce_size) != napi_ok || nonce_size == 0) {
    refuse(env, "scan: nonce must be a short string");
    return false;
  }
  if (napi_get_value_string_latin1(env, arguments[2], list, sizeof list, &list_size) != napi_ok) {
    refuse(env, "scan: list must be a short string");
    return false;
  }
  if (!typed_array(env, arguments[3], napi_float64_array, &bounds, &bounds_count) || bounds_count != bounds_wanted) {
    refuse(env, "scan: bounds must be a Float64Array of six, or of ten with a target");
    return false;
  }
  const double* numbers = static_cast<const double*>(bounds);
  for (size_t i = 0; i < bounds_count; ++i) {
    if (!(numbers[i] >= 1 && numbers[i] <= kBoundMax)) {
      refuse(env, "scan: every bound must be from 1 to 2^31");
      return false;
    }
  }
  question.text = static_cast<const char*>(text);
  question.nonce.assign(nonce, nonce_size);
  question.bounds.list.assign(list, list_size);
  question.bounds.vector_length_max = static_cast<size_t>(numbers[0]);
  question.bounds.list_length_max = static_cast<size_t>(numbers[1]);
  question.bounds.depth_max = static_cast<size_t>(numbers[2]);
  question.bounds.values_max = static_cast<size_t>(numbers[3]);
  question.bounds.bytes_max = static_cast<size_t>(numbers[4]);
  question.bounds.keys_max = static_cast<size_t>(numbers[5]);
  *body = arguments[0];
  if (target == nullptr) return true;
  void* memory = nullptr;
  if (argument_count < 5 || !typed_array(env, arguments[4], napi_uint8_array, &memory, &question.capacity)) {
    refuse(env, "encode: target must be a Uint8Array");
    return false;
  }
  question.items.metadata_bytes_max = static_cast<size_t>(numbers[6]);
  question.items.metadata_fields_max = static_cast<size_t>(numbers[7]);
  question.items.metadata_depth_max = static_cast<size_t>(numbers[8]);
  question.items.id_characters_max = static_cast<size_t>(numbers[9]);
  question.target = static_cast<char*>(memory);
  *target = arguments[4];
  return true;
}

void set_number(napi_env env, napi_value object, const char* name, double number) {
  napi_value value = nullptr;
  if (napi_create_double(env, number, &value) == napi_ok) napi_set_named_property(env, object, name, value);
}

template <class Set>
void set_true(napi_env env, Set set) {
  napi_value value = nullptr;
  if (napi_get_boolean(env, true, &value) == napi_ok) set(value);
}

// Where the numbers of small bodies are written, one body behind the other.
struct FloatRoom {
  float* memory = nullptr;
  size_t size = 0;
};

// Vectors of more numbers get memory of their own, because what is kept of a room keeps all of it.
constexpr size_t kRoomShare = 8;

// Reads (…, room: Float32Array, used: number). False with a pending exception.
bool read_room(napi_env env, napi_callback_info info, FloatRoom& room) {
  size_t argument_count = 6;
  napi_value arguments[6];
  void* memory = nullptr;
  size_t length = 0;
  uint32_t used = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok || argument_count < 6 ||
      !typed_array(env, arguments[4], napi_float32_array, &memory, &length) ||
      napi_get_value_uint32(env, arguments[5], &used) != napi_ok || used > length) {
    refuse(env, "scan: room must be a Float32Array, and used a number of its elements");
    return false;
  }
  room.memory = static_cast<float*>(memory) + used;
  room.size = length / kRoomShare < length - used ? length / kRoomShare : length - used;
  return true;
}

// The floats of a body without a list: written to the room, and how many they are; or where they have no room, or there
// is none, an ArrayBuffer.
napi_value floats_of(napi_env env, quiver::ScannedBody& scanned, const FloatRoom& room) {
  const size_t count = scanned.floats.size();
  if (room.memory == nullptr || count > room.size) return handed_over(env, scanned.floats);
  if (count > 0) std::memcpy(room.memory, scanned.floats.data(), count * sizeof(float));
  napi_value number = nullptr;
  return napi_create_uint32(env, static_cast<uint32_t>(count), &number) == napi_ok ? number : nullptr;
}

// The answer of a scan in the form of body-scanner.ts. Null with a pending exception.
napi_value scan_answer(napi_env env, quiver::ScannedBody& scanned, const FloatRoom& room) {
  if (scanned.flaw != quiver::Flaw::kNone) {
    napi_value result = nullptr;
    if (napi_create_object(env, &result) != napi_ok) return nullptr;
    set_number(env, result, "flaw", static_cast<double>(scanned.flaw));
    set_number(env, result, "at", static_cast<double>(scanned.at));
    set_number(env, result, "element", scanned.is_in_list ? static_cast<double>(scanned.list_length) : -1);
    return result;
  }
  napi_value root = nullptr;
  napi_value floats = scanned.has_list ? handed_over(env, scanned.floats) : floats_of(env, scanned, room);
  if (floats == nullptr || napi_create_string_utf8(env, scanned.root.data(), scanned.root.size(), &root) != napi_ok) {
    napi_throw_error(env, "QUIVER_NATIVE", "scan: out of memory");
    return nullptr;
  }
  if (!scanned.has_list) {
    // Members with names take several times as long, and most bodies are small.
    napi_value pair = nullptr;
    if (napi_create_array_with_length(env, scanned.has_long_integers ? 3 : 2, &pair) != napi_ok) return nullptr;
    napi_set_element(env, pair, 0, root);
    napi_set_element(env, pair, 1, floats);
    if (scanned.has_long_integers) set_true(env, [&](napi_value value) { napi_set_element(env, pair, 2, value); });
    return pair;
  }
  napi_value result = nullptr;
  if (napi_create_object(env, &result) != napi_ok) return nullptr;
  napi_set_named_property(env, result, "root", root);
  napi_set_named_property(env, result, "floats", floats);
  napi_value elements = handed_over(env, scanned.elements);
  napi_value parts = handed_over(env, scanned.parts);
  if (elements == nullptr || parts == nullptr) {
    napi_throw_error(env, "QUIVER_NATIVE", "scan: out of memory");
    return nullptr;
  }
  napi_set_named_property(env, result, "elements", elements);
  napi_set_named_property(env, result, "parts", parts);
  set_number(env, result, "listLength", static_cast<double>(scanned.list_length));
  if (scanned.has_long_integers)
    set_true(env, [&](napi_value value) { napi_set_named_property(env, result, "hasLongIntegers", value); });
  return result;
}

// scan(body, nonce, list, bounds, room, used): ScanAnswer
napi_value scan(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    ScanQuestion question;
    FloatRoom room;
    napi_value body;
    if (!read_question(env, info, question, &body) || !read_room(env, info, room)) return nullptr;
    quiver::ScannedBody scanned = quiver::scan_body(question.text, question.size, question.nonce, question.bounds);
    return scan_answer(env, scanned, room);
  });
}

// Settles the promise with the answer, or with what was thrown while it was made, or with the failure of the work.
void settle(napi_env env, napi_deferred deferred, napi_value answer, const std::string& failure) {
  if (answer != nullptr) {
    napi_resolve_deferred(env, deferred, answer);
    return;
  }
  napi_value error = nullptr;
  bool is_pending = false;
  if (napi_is_exception_pending(env, &is_pending) == napi_ok && is_pending) {
    napi_get_and_clear_last_exception(env, &error);
  } else {
    napi_value message = nullptr;
    napi_create_string_utf8(env, failure.data(), failure.size(), &message);
    napi_create_error(env, nullptr, message, &error);
  }
  napi_reject_deferred(env, deferred, error);
}

// A scan on a thread of libuv's pool. A reference keeps the body's memory until the scan has ended; the JavaScript
// thread must not write to it meanwhile.
struct ScanTask {
  ScanQuestion question;
  quiver::ScannedBody scanned;
  std::string failure;
  napi_ref body = nullptr;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
};

// On the pool: Node-API must not be used here.
void run_scan(napi_env, void* data) {
  auto* task = static_cast<ScanTask*>(data);
  try {
    task->scanned =
        quiver::scan_body(task->question.text, task->question.size, task->question.nonce, task->question.bounds);
  } catch (const std::exception& error) {
    task->failure = error.what();
  }
}

// Back on the JavaScript thread.
void settle_scan(napi_env env, napi_status status, void* data) {
  std::unique_ptr<ScanTask> task(static_cast<ScanTask*>(data));
  napi_delete_reference(env, task->body);
  napi_delete_async_work(env, task->work);
  napi_value answer = nullptr;
  if (status == napi_ok && task->failure.empty())
    answer = guarded(env, [&] { return scan_answer(env, task->scanned, FloatRoom()); });
  settle(env, task->deferred, answer, task->failure.empty() ? "scan: cancelled" : task->failure);
}

// scanAside(body, nonce, list, bounds): Promise<ScanAnswer>
napi_value scan_aside(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    auto task = std::make_unique<ScanTask>();
    napi_value body;
    if (!read_question(env, info, task->question, &body)) return nullptr;
    napi_value promise = nullptr;
    napi_value name = nullptr;
    if (napi_create_string_latin1(env, "quiver:scan", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_reference(env, body, 1, &task->body) != napi_ok ||
        napi_create_promise(env, &task->deferred, &promise) != napi_ok ||
        napi_create_async_work(env, nullptr, name, run_scan, settle_scan, task.get(), &task->work) != napi_ok ||
        napi_queue_async_work(env, task->work) != napi_ok) {
      napi_throw_error(env, "QUIVER_NATIVE", "scan: it could not be begun");
      return nullptr;
    }
    task.release();
    return promise;
  });
}

// A bulk that is encoded on a thread of libuv's pool. References keep the memory of the body and of the target.
struct EncodeTask {
  ScanQuestion question;
  quiver::EncodedBulk encoded;
  bool is_encoded = false;
  std::string failure;
  napi_ref body = nullptr;
  napi_ref target = nullptr;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
};

// On the pool: Node-API must not be used here.
void run_encode(napi_env, void* data) {
  auto* task = static_cast<EncodeTask*>(data);
  const ScanQuestion& question = task->question;
  try {
    task->is_encoded = quiver::encode_bulk(question.text, question.size, question.nonce, question.bounds,
                                           question.items, question.target, question.capacity, task->encoded);
  } catch (const std::exception& error) {
    task->failure = error.what();
  }
}

// The answer in the form of body-scanner.ts; null if the body was not encoded, false if it is for lack of room.
napi_value encode_answer(napi_env env, const EncodeTask& task) {
  napi_value answer = nullptr;
  if (!task.is_encoded) {
    task.encoded.is_full ? napi_get_boolean(env, false, &answer) : napi_get_null(env, &answer);
    return answer;
  }
  napi_value root = nullptr;
  const quiver::EncodedBulk& encoded = task.encoded;
  if (napi_create_object(env, &answer) != napi_ok ||
      napi_create_string_utf8(env, encoded.root.data(), encoded.root.size(), &root) != napi_ok) {
    napi_throw_error(env, "QUIVER_NATIVE", "encode: out of memory");
    return nullptr;
  }
  napi_set_named_property(env, answer, "root", root);
  set_number(env, answer, "count", static_cast<double>(encoded.count));
  set_number(env, answer, "dim", static_cast<double>(encoded.dim));
  set_number(env, answer, "size", static_cast<double>(encoded.size));
  return answer;
}

// Back on the JavaScript thread.
void settle_encode(napi_env env, napi_status status, void* data) {
  std::unique_ptr<EncodeTask> task(static_cast<EncodeTask*>(data));
  napi_delete_reference(env, task->body);
  napi_delete_reference(env, task->target);
  napi_delete_async_work(env, task->work);
  napi_value answer = nullptr;
  if (status == napi_ok && task->failure.empty()) answer = guarded(env, [&] { return encode_answer(env, *task); });
  settle(env, task->deferred, answer, task->failure.empty() ? "encode: cancelled" : task->failure);
}

// encodeAside(body, nonce, list, bounds, target): Promise<EncodeAnswer | null | false>
napi_value encode_aside(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    auto task = std::make_unique<EncodeTask>();
    napi_value body;
    napi_value target;
    if (!read_question(env, info, task->question, &body, &target)) return nullptr;
    napi_value promise = nullptr;
    napi_value name = nullptr;
    if (napi_create_string_latin1(env, "quiver:encode", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_reference(env, body, 1, &task->body) != napi_ok ||
        napi_create_reference(env, target, 1, &task->target) != napi_ok ||
        napi_create_promise(env, &task->deferred, &promise) != napi_ok ||
        napi_create_async_work(env, nullptr, name, run_encode, settle_encode, task.get(), &task->work) != napi_ok ||
        napi_queue_async_work(env, task->work) != napi_ok) {
      napi_throw_error(env, "QUIVER_NATIVE", "encode: it could not be begun");
      return nullptr;
    }
    task.release();
    return promise;
  });
}

// Shards of a collection are far fewer.
constexpr uint32_t kShardsMax = 1 << 20;

// One part of divideWrite's answer; null with a pending exception.
napi_value divided_part(napi_env env, const quiver::BulkDivision& division, const quiver::BulkPart& part) {
  void* memory = nullptr;
  napi_value bytes = nullptr;
  napi_value answer = nullptr;
  napi_value places = copied_buffer(env, part.places.data(), part.places.size() * sizeof(uint32_t));
  if (places == nullptr || napi_create_arraybuffer(env, part.size, &memory, &bytes) != napi_ok ||
      napi_create_object(env, &answer) != napi_ok) {
    bool is_pending = false;
    napi_is_exception_pending(env, &is_pending);
    if (!is_pending) napi_throw_error(env, "QUIVER_NATIVE", "divide: out of memory");
    return nullptr;
  }
  division.write_part(part, static_cast<char*>(memory));
  set_number(env, answer, "shard", part.shard);
  napi_set_named_property(env, answer, "bytes", bytes);
  napi_set_named_property(env, answer, "places", places);
  return answer;
}

// divideWrite(write: Uint8Array, shards: number, ttlMs: number): DividedPart[]
napi_value divide_write(napi_env env, napi_callback_info info) {
  size_t argument_count = 3;
  napi_value arguments[3];
  void* write = nullptr;
  size_t size = 0;
  uint32_t shards = 0;
  double ttl_ms = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok || argument_count < 3 ||
      !typed_array(env, arguments[0], napi_uint8_array, &write, &size) ||
      napi_get_value_uint32(env, arguments[1], &shards) != napi_ok || shards < 1 || shards > kShardsMax ||
      napi_get_value_double(env, arguments[2], &ttl_ms) != napi_ok || !(ttl_ms >= 0)) {
    return refuse(env, "divide: a Uint8Array, a number of shards and milliseconds from 0 on are needed");
  }
  return guarded(env, [&]() -> napi_value {
    quiver::BulkDivision division(static_cast<const char*>(write), size, shards, ttl_ms);
    if (!division.divide()) return refuse(env, "divide: not a write of upserts as encodeAside makes it");
    napi_value answer = nullptr;
    if (napi_create_array_with_length(env, division.parts().size(), &answer) != napi_ok) return nullptr;
    for (size_t i = 0; i < division.parts().size(); ++i) {
      napi_value part = divided_part(env, division, division.parts()[i]);
      if (part == nullptr) return nullptr;
      napi_set_element(env, answer, static_cast<uint32_t>(i), part);
    }
    return answer;
  });
}

// formatVector(vector: Float32Array): string
napi_value format_vector(napi_env env, napi_callback_info info) {
  size_t argument_count = 1;
  napi_value argument;
  void* values = nullptr;
  size_t count = 0;
  if (napi_get_cb_info(env, info, &argument_count, &argument, nullptr, nullptr) != napi_ok || argument_count < 1 ||
      !typed_array(env, argument, napi_float32_array, &values, &count)) {
    return refuse(env, "formatVector: vector must be a Float32Array");
  }
  return guarded(env, [&]() -> napi_value {
    std::string text;
    text.reserve(count * 14 + 2);
    quiver::format_vector(static_cast<const float*>(values), count, text);
    napi_value result = nullptr;
    if (napi_create_string_latin1(env, text.data(), text.size(), &result) != napi_ok) {
      napi_throw_error(env, "QUIVER_NATIVE", "formatVector: the text is too long");
      return nullptr;
    }
    return result;
  });
}

// detach(buffer: ArrayBuffer): void
napi_value detach(napi_env env, napi_callback_info info) {
  size_t argument_count = 1;
  napi_value argument;
  bool is_buffer = false;
  if (napi_get_cb_info(env, info, &argument_count, &argument, nullptr, nullptr) != napi_ok || argument_count < 1 ||
      napi_is_arraybuffer(env, argument, &is_buffer) != napi_ok || !is_buffer) {
    return refuse(env, "detach: buffer must be an ArrayBuffer");
  }
  // One that can't be detached stays until it is collected.
  napi_detach_arraybuffer(env, argument);
  return nullptr;
}

// duplicateHandle(handle: number): number
napi_value duplicate_handle(napi_env env, napi_callback_info info) {
  size_t argument_count = 1;
  napi_value argument;
  int32_t handle = -1;
  if (napi_get_cb_info(env, info, &argument_count, &argument, nullptr, nullptr) != napi_ok || argument_count < 1 ||
      napi_get_value_int32(env, argument, &handle) != napi_ok || handle < 0) {
    return refuse(env, "duplicateHandle: handle must be a file descriptor");
  }
  const int copy = fcntl(handle, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    napi_throw_error(env, "QUIVER_NATIVE", std::strerror(errno));
    return nullptr;
  }
  napi_value result = nullptr;
  napi_create_int32(env, copy, &result);
  return result;
}

// writeHits(hits: Uint8Array, target: Uint8Array, at: number): number
napi_value write_hits(napi_env env, napi_callback_info info) {
  size_t argument_count = 3;
  napi_value arguments[3];
  void* hits = nullptr;
  void* target = nullptr;
  size_t size = 0;
  size_t capacity = 0;
  uint32_t at = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok || argument_count < 3 ||
      !typed_array(env, arguments[0], napi_uint8_array, &hits, &size) ||
      !typed_array(env, arguments[1], napi_uint8_array, &target, &capacity) ||
      napi_get_value_uint32(env, arguments[2], &at) != napi_ok) {
    return refuse(env, "writeHits: hits and target must be Uint8Arrays, and at a place");
  }
  const size_t end = quiver::write_hits(static_cast<const char*>(hits), size, static_cast<char*>(target), at, capacity);
  napi_value result = nullptr;
  napi_create_double(env, static_cast<double>(end), &result);
  return result;
}

#if defined(MSG_NOSIGNAL)
constexpr int kSendFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
constexpr int kSendFlags = MSG_DONTWAIT;
#endif

// sendNow(handle: number, bytes: Uint8Array, from: number, to: number): number
napi_value send_now(napi_env env, napi_callback_info info) {
  size_t argument_count = 4;
  napi_value arguments[4];
  void* bytes = nullptr;
  size_t size = 0;
  int32_t handle = -1;
  uint32_t from = 0;
  uint32_t to = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok || argument_count < 4 ||
      napi_get_value_int32(env, arguments[0], &handle) != napi_ok ||
      !typed_array(env, arguments[1], napi_uint8_array, &bytes, &size) ||
      napi_get_value_uint32(env, arguments[2], &from) != napi_ok ||
      napi_get_value_uint32(env, arguments[3], &to) != napi_ok || from > to || to > size) {
    return refuse(env, "sendNow: a handle, a Uint8Array and two places in it are needed");
  }
  ssize_t sent;
  do {
    sent = send(handle, static_cast<const char*>(bytes) + from, to - from, kSendFlags);
  } while (sent < 0 && errno == EINTR);
  // Whatever else is wrong shows when the rest is sent in the usual way.
  napi_value result = nullptr;
  napi_create_double(env, sent < 0 ? 0 : static_cast<double>(sent), &result);
  return result;
}

// untakenBytes(handle: number): number
napi_value untaken_bytes(napi_env env, napi_callback_info info) {
  size_t argument_count = 1;
  napi_value argument;
  int32_t handle = -1;
  if (napi_get_cb_info(env, info, &argument_count, &argument, nullptr, nullptr) != napi_ok || argument_count < 1 ||
      napi_get_value_int32(env, argument, &handle) != napi_ok) {
    return refuse(env, "untakenBytes: a handle is needed");
  }
  int bytes = 0;
#ifdef __APPLE__
  socklen_t size = sizeof bytes;
  if (getsockopt(handle, SOL_SOCKET, SO_NWRITE, &bytes, &size) != 0) bytes = 0;
#else
  if (ioctl(handle, TIOCOUTQ, &bytes) != 0) bytes = 0;
#endif
  napi_value result = nullptr;
  napi_create_double(env, bytes < 0 ? 0 : static_cast<double>(bytes), &result);
  return result;
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {
      {"scan", nullptr, scan, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"scanAside", nullptr, scan_aside, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"encodeAside", nullptr, encode_aside, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"divideWrite", nullptr, divide_write, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"detach", nullptr, detach, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"duplicateHandle", nullptr, duplicate_handle, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"formatVector", nullptr, format_vector, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"writeHits", nullptr, write_hits, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"sendNow", nullptr, send_now, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"untakenBytes", nullptr, untaken_bytes, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties);
  return exports;
}
