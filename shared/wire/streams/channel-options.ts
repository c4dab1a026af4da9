import type { ChannelOptions } from '@grpc/grpc-js';
import { MESSAGE_BYTES_MAX } from './message-bounds';

/**
 * A connection whose other end has silently vanished is closed after both times, so within 3 s. That is early enough to
 * read elsewhere, yet longer than a pause of the event loop or the garbage collector.
 */
const KEEPALIVE_TIME_MS = 1_000;
const KEEPALIVE_TIMEOUT_MS = 1_500;
/** Where whoever calls has times of his own, and a connection is there all the time and seldom used. */
export const PATIENT_KEEPALIVE_MS = 10_000;
/**
 * How often the accepting side asks, which nobody waits for: who called reads elsewhere by what he sees himself. It
 * frees what is held for a machine that is gone. Each question costs both ends as much as a beat does, on each
 * connection.
 */
const SERVER_KEEPALIVE_TIME_MS = 10_000;

/**
 * How many bytes a stream may have sent that the other side has not read yet: a few frames. HTTP/2's default of 64 KB
 * would stop at every page of vectors.
 */
const FLOW_CONTROL_BYTES = 4 * 1024 * 1024;

const bothEnds: ChannelOptions = {
  'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
  'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
  'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  'grpc-node.flow_control_window': FLOW_CONTROL_BYTES,
  'grpc.enable_channelz': 0,
};

export const serverOptions: ChannelOptions = { ...bothEnds, 'grpc.keepalive_time_ms': SERVER_KEEPALIVE_TIME_MS };

export const channelOptions: ChannelOptions = {
  ...bothEnds,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
  // Each channel has connections of its own, so that closing a bad channel also closes its connection.
  'grpc.use_local_subchannel_pool': 1,
  // The callers decide whether a call may be repeated. Members of a cluster reach each other directly, without a proxy.
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
};
