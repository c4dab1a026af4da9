import type { Camera, Frame } from './camera';

/** How each point looks. */
export interface PointLooks {
  /** Four bytes each: red, green, blue, opacity. */
  colours: Uint8Array;
  /** Diameter of each as a multiple of the usual. */
  sizes: Float32Array;
  /** Those that lie above all others. */
  above: Uint32Array;
}

/**
 * Draws points on a canvas, tens of thousands of them in a frame. Our own, because the libraries for it compile code at
 * run time (regl, and regl-scatterplot over it), which the page's policy forbids, or weigh more than this whole page.
 */
export interface PointPainter {
  /** x, y of each point. */
  setPlaces(points: Float32Array): void;
  setLooks(looks: PointLooks): void;
  /** `diameter` is the usual one, in CSS pixels. */
  draw(camera: Camera, frame: Frame, diameter: number): void;
  /** Gives memory back. */
  close(): void;
}
