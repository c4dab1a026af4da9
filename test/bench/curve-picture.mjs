const WIDTH = 760;
const HEIGHT = 460;
const MARGIN = { top: 48, right: 150, bottom: 56, left: 76 };
/** Colours that people with any colour vision tell apart (Okabe and Ito, "Color Universal Design", 2008). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

/**
 * A picture of curves, as SVG text. An axis is logarithmic, or linear; `ticks` are the values that are named. Points
 * outside an axis are left out. A point with a `mark` gets a large dot, and the mark beside it.
 * @param {{ title: string, x: Axis, y: Axis, curves: { name: string, points: { x: number, y: number, mark?: string }[]
 * }[] }} picture
 * @typedef {{ label: string, from: number, to: number, log?: boolean, ticks: number[], show?: (value: number) => string
 * }} Axis
 */
export function curvePicture({ title, x, y, curves }) {
  const across = placeOn(x, MARGIN.left, WIDTH - MARGIN.right);
  const up = placeOn(y, HEIGHT - MARGIN.bottom, MARGIN.top);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(MARGIN.left, 24, title, 'font-size="15" font-weight="bold"'),
    text((MARGIN.left + WIDTH - MARGIN.right) / 2, HEIGHT - 14, x.label, 'text-anchor="middle"'),
    text(
      0,
      0,
      y.label,
      `text-anchor="middle" transform="translate(18 ${(HEIGHT - MARGIN.bottom + MARGIN.top) / 2}) rotate(-90)"`,
    ),
  ];
  const show = (axis, value) => (axis.show ?? ((number) => number.toLocaleString('en')))(value);
  for (const tick of x.ticks) {
    parts.push(
      line(across(tick), MARGIN.top, across(tick), HEIGHT - MARGIN.bottom),
      text(across(tick), HEIGHT - MARGIN.bottom + 18, show(x, tick), 'text-anchor="middle"'),
    );
  }
  for (const tick of y.ticks) {
    parts.push(
      line(MARGIN.left, up(tick), WIDTH - MARGIN.right, up(tick)),
      text(MARGIN.left - 8, up(tick) + 4, show(y, tick), 'text-anchor="end"'),
    );
  }
  let lastNameAt = -Infinity;
  const drawn = curves
    .map(({ name, points }, i) => ({
      name,
      colour: COLOURS[i % COLOURS.length],
      points: points.filter((point) => isOn(x, point.x) && isOn(y, point.y)),
    }))
    .filter(({ points }) => points.length > 0);
  for (const { colour, points } of drawn) {
    parts.push(
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map((point) => `${round(across(point.x))},${round(up(point.y))}`).join(' ')}"/>`,
    );
    for (const point of points) {
      const isMarked = point.mark !== undefined;
      parts.push(
        `<circle cx="${round(across(point.x))}" cy="${round(up(point.y))}" r="${isMarked ? 6 : 2.5}" fill="${colour}"/>`,
      );
      if (isMarked)
        parts.push(text(across(point.x) - 9, up(point.y) - 9, point.mark, `text-anchor="end" fill="${colour}"`));
    }
  }
  // Names stand beside the last point, from the top down, apart from each other.
  for (const { name, colour, at } of drawn
    .map((curve) => ({ ...curve, at: up(curve.points.at(-1).y) }))
    .sort((a, b) => a.at - b.at)) {
    lastNameAt = Math.max(at, lastNameAt + 16);
    parts.push(text(WIDTH - MARGIN.right + 10, lastNameAt + 4, name, `fill="${colour}" font-weight="bold"`));
  }
  return `${[...parts, '</svg>'].join('\n')}\n`;
}

/** Where a value of an axis is in the picture. @param {Axis} axis @param {number} start @param {number} end */
function placeOn({ from, to, log }, start, end) {
  const scale = log === true ? Math.log : (value) => value;
  return (value) => start + ((scale(value) - scale(from)) / (scale(to) - scale(from))) * (end - start);
}

function isOn({ from, to }, value) {
  return value >= Math.min(from, to) && value <= Math.max(from, to);
}

function line(x1, y1, x2, y2) {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="#ddd"/>`;
}

function text(x, y, content, attributes) {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped(content)}</text>`;
}

function escaped(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function round(value) {
  return Math.round(value * 10) / 10;
}
