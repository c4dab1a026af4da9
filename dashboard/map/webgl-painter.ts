import type { Camera, Frame } from './camera';
import type { PointLooks, PointPainter } from './painter';

/** Draws by a graphics processor: one call of its driver for all points, and none of JavaScript for each. */

const VERTEX = `#version 300 es
in vec2 place;
in vec4 colour;
in float size;
uniform vec2 centre;
uniform vec2 zoom;
uniform float pixels;
out vec4 tint;
void main() {
  gl_Position = vec4((place - centre) * zoom, 0.0, 1.0);
  gl_PointSize = size * pixels;
  tint = colour;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint;
out vec4 colour;
void main() {
  vec2 from = gl_PointCoord - 0.5;
  float alpha = tint.a * (1.0 - smoothstep(0.17, 0.25, dot(from, from)));
  if (alpha < 0.01) discard;
  colour = vec4(tint.rgb * alpha, alpha);
}`;

export class WebglPainter implements PointPainter {
  private readonly program: WebGLProgram;
  private readonly places: WebGLBuffer;
  private readonly colours: WebGLBuffer;
  private readonly sizes: WebGLBuffer;
  private readonly above: WebGLBuffer;
  private count = 0;
  private aboveCount = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
  ) {
    this.program = linked(gl);
    gl.useProgram(this.program);
    this.places = this.attribute('place', 2, gl.FLOAT);
    this.colours = this.attribute('colour', 4, gl.UNSIGNED_BYTE);
    this.sizes = this.attribute('size', 1, gl.FLOAT);
    this.above = gl.createBuffer();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setPlaces(points: Float32Array): void {
    this.count = points.length / 2;
    this.fill(this.places, points);
  }

  setLooks({ colours, sizes, above }: PointLooks): void {
    const { gl } = this;
    this.fill(this.colours, colours);
    this.fill(this.sizes, sizes);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.above);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, above, gl.DYNAMIC_DRAW);
    this.aboveCount = above.length;
  }

  draw(camera: Camera, frame: Frame, diameter: number): void {
    const { gl, canvas } = this;
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(frame.width * ratio), Math.round(frame.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(gl.getUniformLocation(this.program, 'centre'), camera.x, camera.y);
    gl.uniform2f(
      gl.getUniformLocation(this.program, 'zoom'),
      (2 * camera.scale) / frame.width,
      (2 * camera.scale) / frame.height,
    );
    gl.uniform1f(gl.getUniformLocation(this.program, 'pixels'), diameter * ratio);
    gl.drawArrays(gl.POINTS, 0, this.count);
    if (this.aboveCount > 0) gl.drawElements(gl.POINTS, this.aboveCount, gl.UNSIGNED_INT, 0);
  }

  /** Gives the memory of the graphics processor back. */
  close(): void {
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }

  private attribute(name: string, values: number, type: number): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer();
    const at = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, values, type, type === gl.UNSIGNED_BYTE, 0, 0);
    return buffer;
  }

  private fill(buffer: WebGLBuffer, values: Float32Array | Uint8Array): void {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
  }
}

function linked(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX] as const, [gl.FRAGMENT_SHADER, FRAGMENT] as const]) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error('The browser gave the map no shader.');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true)
    throw new Error(`The browser could not prepare the map: ${gl.getProgramInfoLog(program) ?? ''}`);
  return program;
}
