/**
 * The largest gRPC message that either side accepts. It is gRPC's default, so proxies in between need no setting, and
 * small enough that decoding a message blocks the event loop for only some milliseconds.
 */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Frames are filled up to this size, and long writes and answers are cut into parts of this size. It is large enough to
 * make the cost per message negligible, and small enough that a short request does not wait long behind a long one.
 */
export const FRAME_BYTES = 1024 * 1024;

/** The most that one entry of a frame may hold. The rest of a message is for its field tags and lengths. */
export const ENTRY_BYTES_MAX = MESSAGE_BYTES_MAX - 64 * 1024;
