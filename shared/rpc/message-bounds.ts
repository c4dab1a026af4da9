/**
 * The largest gRPC message either side accepts: gRPC's own usual bound, so that no proxy in between needs to be told,
 * and little enough that decoding one holds up the event loop for some milliseconds only.
 */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Frames are filled up to this size, and long writes and answers cut into parts of it: large enough that the cost of a
 * message vanishes, small enough that a short request behind a long one does not wait long.
 */
export const FRAME_BYTES = 1024 * 1024;

/** What one entry of a frame may hold: the rest of a message is for its field tags and lengths. */
export const ENTRY_BYTES_MAX = MESSAGE_BYTES_MAX - 64 * 1024;
