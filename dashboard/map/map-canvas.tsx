import { useEffect, useRef, useState } from 'preact/hooks';
import { type Camera, fitting, type Frame, panned, toMap, zoomed } from './camera';
import { inside, PointGrid } from './point-grid';
import type { PointLooks, PointPainter } from './painter';
import { openPainter } from './point-painter';

interface MapCanvasProps {
  /** x, y of each point, in the square from −1 to 1. */
  points: Float32Array;
  looks: PointLooks;
  isLassoing: boolean;
  label: string;
  onPoint: (point: number) => void;
  onLasso: (points: number[]) => void;
  /** Said beside the pointer. */
  nameOf: (point: number) => string;
}

/** From a point, how far a pointer may be, in CSS pixels. */
const REACH = 9;
/** Less than that between down and up is a click. */
const CLICK_MAX = 5;
const KEY_STEP = 60;
const KEY_ZOOM = 1.35;

/**
 * The picture: drag to move, wheel or pinch to zoom, click for a point, draw around points with the lasso; arrows, + −
 * 0 by keyboard.
 */
export function MapCanvas({ points, looks, isLassoing, label, onPoint, onLasso, nameOf }: MapCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [line, setLine] = useState<number[]>([]);
  const [hover, setHover] = useState<{ text: string; x: number; y: number } | null>(null);
  const view = useRef<View | null>(null);

  useEffect(() => {
    if (canvas.current === null) return undefined;
    try {
      view.current = new View(canvas.current);
    } catch (error) {
      setFailure(String(error instanceof Error ? error.message : error));
    }
    return () => view.current?.close();
  }, []);
  useEffect(() => view.current?.setPlaces(points), [points]);
  useEffect(() => view.current?.setLooks(looks), [looks]);

  // The browser would scroll the page; a listener that may stop that is not the usual one.
  useEffect(() => {
    const element = canvas.current;
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      view.current?.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), {
        x: event.offsetX,
        y: event.offsetY,
      });
    };
    element?.addEventListener('wheel', wheel, { passive: false });
    return () => element?.removeEventListener('wheel', wheel);
  }, []);

  const pointers = useRef(new Map<number, { x: number; y: number }>());
  const moved = useRef(0);
  const drawn = useRef<number[]>([]);

  const down = (event: PointerEvent): void => {
    canvas.current?.setPointerCapture(event.pointerId);
    pointers.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    moved.current = 0;
    setHover(null);
    if (isLassoing || event.shiftKey) drawn.current = [event.offsetX, event.offsetY];
  };
  const move = (event: PointerEvent): void => {
    const place = { x: event.offsetX, y: event.offsetY };
    const last = pointers.current.get(event.pointerId);
    if (last === undefined) {
      const point = view.current?.pointAt(place) ?? -1;
      setHover(point < 0 ? null : { text: nameOf(point), ...place });
      return;
    }
    const others = [...pointers.current].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    pointers.current.set(event.pointerId, place);
    moved.current += Math.hypot(place.x - last.x, place.y - last.y);
    const other = others[0];
    if (other !== undefined)
      view.current?.zoom(distance(place, other) / Math.max(1, distance(last, other)), {
        x: (place.x + other.x) / 2,
        y: (place.y + other.y) / 2,
      });
    else if (drawn.current.length > 0) setLine((drawn.current = [...drawn.current, place.x, place.y]));
    else view.current?.pan(place.x - last.x, place.y - last.y);
  };
  const up = (event: PointerEvent): void => {
    if (!pointers.current.delete(event.pointerId)) return;
    const closed = drawn.current;
    drawn.current = [];
    setLine([]);
    if (closed.length >= 6 && moved.current > CLICK_MAX) onLasso(view.current?.inside(closed) ?? []);
    else if (moved.current <= CLICK_MAX) onPoint(view.current?.pointAt({ x: event.offsetX, y: event.offsetY }) ?? -1);
  };
  const key = (event: KeyboardEvent): void => {
    const steps: Record<string, () => void> = {
      ArrowLeft: () => view.current?.pan(KEY_STEP, 0),
      ArrowRight: () => view.current?.pan(-KEY_STEP, 0),
      ArrowUp: () => view.current?.pan(0, KEY_STEP),
      ArrowDown: () => view.current?.pan(0, -KEY_STEP),
      '+': () => view.current?.zoom(KEY_ZOOM, null),
      '=': () => view.current?.zoom(KEY_ZOOM, null),
      '-': () => view.current?.zoom(1 / KEY_ZOOM, null),
      '0': () => view.current?.reset(),
      Enter: () => onPoint(view.current?.pointInMiddle() ?? -1),
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    step();
  };

  if (failure !== null) {
    return (
      <p class="notice warn" role="alert">
        {failure}
      </p>
    );
  }
  return (
    <div class="map-place">
      <canvas
        ref={canvas}
        class={isLassoing ? 'map-canvas lassoing' : 'map-canvas'}
        tabIndex={0}
        role="application"
        aria-roledescription="map"
        aria-label={label}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
        onPointerLeave={() => setHover(null)}
        onDblClick={(event) => view.current?.zoom(2, { x: event.offsetX, y: event.offsetY })}
        onKeyDown={key}
      />
      {line.length > 0 && (
        <svg class="map-lasso" aria-hidden="true">
          <polygon points={line.join(' ')} />
        </svg>
      )}
      {hover !== null && (
        <span class="map-hover break" style={{ left: `${hover.x}px`, top: `${hover.y}px` }}>
          {hover.text}
        </span>
      )}
    </div>
  );
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The camera over the painter: draws at most once a frame, and only when something has changed. */
class View {
  private readonly painter: PointPainter;
  private readonly watch: ResizeObserver;
  private camera: Camera;
  private points: Float32Array = new Float32Array();
  private grid: PointGrid | null = null;
  private isAsked = false;
  private isMoved = false;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.painter = openPainter(canvas);
    this.camera = fitting(this.frame());
    this.watch = new ResizeObserver(() => {
      if (!this.isMoved) this.camera = fitting(this.frame());
      this.ask();
    });
    this.watch.observe(canvas);
  }

  setPlaces(points: Float32Array): void {
    this.points = points;
    this.grid = null;
    this.painter.setPlaces(points);
    this.ask();
  }

  setLooks(looks: PointLooks): void {
    this.painter.setLooks(looks);
    this.ask();
  }

  pan(dx: number, dy: number): void {
    this.look(panned(this.camera, dx, dy));
  }

  /** Around a place of the picture; null: its middle. */
  zoom(factor: number, place: { x: number; y: number } | null): void {
    const frame = this.frame();
    this.look(zoomed(this.camera, factor, place ?? { x: frame.width / 2, y: frame.height / 2 }, frame));
  }

  reset(): void {
    this.look(fitting(this.frame()));
    this.isMoved = false;
  }

  pointAt(place: { x: number; y: number }): number {
    this.grid ??= new PointGrid(this.points);
    const [x, y] = toMap(this.camera, place.x, place.y, this.frame());
    return this.grid.nearest(x, y, REACH / this.camera.scale);
  }

  pointInMiddle(): number {
    this.grid ??= new PointGrid(this.points);
    const { width, height } = this.frame();
    return this.grid.nearest(this.camera.x, this.camera.y, Math.max(width, height) / this.camera.scale);
  }

  /** Points inside a line of places of the picture. */
  inside(line: number[]): number[] {
    const frame = this.frame();
    const onMap: number[] = [];
    for (let i = 0; i + 1 < line.length; i += 2)
      onMap.push(...toMap(this.camera, line[i] as number, line[i + 1] as number, frame));
    return inside(this.points, onMap);
  }

  close(): void {
    this.watch.disconnect();
    this.painter.close();
  }

  private look(camera: Camera): void {
    this.camera = camera;
    this.isMoved = true;
    this.ask();
  }

  private ask(): void {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      const frame = this.frame();
      this.painter.draw(
        this.camera,
        frame,
        diameterOf(this.points.length / 2, this.camera.scale / fitting(frame).scale),
      );
    });
  }

  private frame(): Frame {
    return { width: this.canvas.clientWidth || 1, height: this.canvas.clientHeight || 1 };
  }
}

/** Many points are small, and all grow a little when one goes nearer. */
function diameterOf(count: number, nearness: number): number {
  const usual = count > 20_000 ? 3 : count > 4000 ? 4 : count > 600 ? 6 : 9;
  return Math.min(usual * 3, usual * Math.max(1, nearness ** 0.35));
}
