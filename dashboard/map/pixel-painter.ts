import type { Camera, Frame } from './camera';
import type { PointLooks, PointPainter } from './painter';

/** A disc of some pixels: for each its place from the middle, and how much of it is covered, 0 to 255. */
interface Disc {
  dx: Int16Array;
  dy: Int16Array;
  cover: Uint8Array;
}

/** Discs are of so many different diameters at once: marked points and the others. */
const DISCS_MAX = 32;

/** Draws by setting pixels of a picture in memory, which is then put on the canvas. */
export class PixelPainter implements PointPainter {
  private readonly context: CanvasRenderingContext2D;
  private points: Float32Array = new Float32Array();
  private looks: PointLooks = { colours: new Uint8Array(), sizes: new Float32Array(), above: new Uint32Array() };
  private image: ImageData | null = null;
  private readonly discs = new Map<number, Disc>();

  /** Throws when the browser has no canvas to draw on. */
  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('This browser does not let the page draw, which the map needs.');
    this.context = context;
  }

  setPlaces(points: Float32Array): void {
    this.points = points;
  }

  setLooks(looks: PointLooks): void {
    this.looks = looks;
  }

  draw(camera: Camera, frame: Frame, diameter: number): void {
    const ratio = devicePixelRatio;
    const [width, height] = [
      Math.max(1, Math.round(frame.width * ratio)),
      Math.max(1, Math.round(frame.height * ratio)),
    ];
    if (this.canvas.width !== width || this.canvas.height !== height)
      [this.canvas.width, this.canvas.height] = [width, height];
    if (this.image?.width !== width || this.image.height !== height)
      this.image = this.context.createImageData(width, height);
    const { image, looks } = this;
    image.data.fill(0);
    const scale = camera.scale * ratio;
    const left = width / 2 - camera.x * scale;
    const top = height / 2 + camera.y * scale;
    const paint = (point: number): void => {
      const x = Math.round(left + (this.points[2 * point] as number) * scale);
      const y = Math.round(top - (this.points[2 * point + 1] as number) * scale);
      const disc = this.discOf(Math.max(1, Math.round(diameter * ratio * (looks.sizes[point] ?? 1))));
      stamp(image, x, y, disc, looks.colours, 4 * point);
    };
    const count = Math.min(this.points.length / 2, looks.sizes.length);
    for (let point = 0; point < count; point++) paint(point);
    for (const point of looks.above) paint(point);
    this.context.putImageData(image, 0, 0);
  }

  close(): void {
    this.image = null;
  }

  private discOf(diameter: number): Disc {
    let disc = this.discs.get(diameter);
    if (disc !== undefined) return disc;
    if (this.discs.size >= DISCS_MAX) this.discs.clear();
    disc = discWith(diameter);
    this.discs.set(diameter, disc);
    return disc;
  }
}

/** Coverage falls over the outermost pixel. */
function discWith(diameter: number): Disc {
  const [dx, dy, cover]: [number[], number[], number[]] = [[], [], []];
  const radius = diameter / 2;
  const middle = diameter % 2 === 0 ? 0.5 : 0;
  const reach = Math.ceil(radius);
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      const share = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x + middle, y + middle)));
      if (share < 0.05) continue;
      dx.push(x);
      dy.push(y);
      cover.push(Math.round(share * 255));
    }
  }
  return { dx: Int16Array.from(dx), dy: Int16Array.from(dy), cover: Uint8Array.from(cover) };
}

/** Lays a disc over what is there: the usual "over" of straight opacities, in whole numbers. */
function stamp(image: ImageData, x: number, y: number, disc: Disc, colours: Uint8Array, from: number): void {
  const { data, width, height } = image;
  const [red, green, blue, opacity] = [
    colours[from] as number,
    colours[from + 1] as number,
    colours[from + 2] as number,
    colours[from + 3] as number,
  ];
  for (let i = 0; i < disc.cover.length; i++) {
    const px = x + (disc.dx[i] as number);
    const py = y + (disc.dy[i] as number);
    if (px < 0 || py < 0 || px >= width || py >= height) continue;
    const at = (py * width + px) * 4;
    const added = ((disc.cover[i] as number) * opacity) / 255;
    const kept = ((data[at + 3] as number) * (255 - added)) / 255;
    const all = added + kept;
    if (all <= 0) continue;
    data[at] = (red * added + (data[at] as number) * kept) / all;
    data[at + 1] = (green * added + (data[at + 1] as number) * kept) / all;
    data[at + 2] = (blue * added + (data[at + 2] as number) * kept) / all;
    data[at + 3] = all;
  }
}
