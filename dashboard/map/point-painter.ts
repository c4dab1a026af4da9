import type { PointPainter } from './painter';
import { PixelPainter } from './pixel-painter';
import { WebglPainter } from './webgl-painter';

/**
 * By the graphics processor, where there is one. Without, a browser has no WebGL, or one that computes each pixel by a
 * program made for graphics processors: setting the pixels ourselves takes a fraction of that.
 */
export function openPainter(canvas: HTMLCanvasElement): PointPainter {
  if (!hasGraphicsProcessor()) return new PixelPainter(canvas);
  const gl = canvas.getContext('webgl2', {
    antialias: false,
    alpha: true,
    premultipliedAlpha: true,
    powerPreference: 'low-power',
  });
  return gl === null ? new PixelPainter(canvas) : new WebglPainter(canvas, gl);
}

/** What draws in software calls itself so. A canvas that had WebGL once has nothing else: another one is asked. */
function hasGraphicsProcessor(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true });
  if (gl === null) return false;
  const names = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(names === null ? gl.RENDERER : names.UNMASKED_RENDERER_WEBGL));
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return !/swiftshader|llvmpipe|software|basic render/i.test(name);
}
