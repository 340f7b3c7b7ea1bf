// Curves over sizes, by hand: sizes on a logarithmic axis, a band for nine measurements in ten, points, and a size chosen by pointer or arrow keys.

import { el, svg } from './dom.js';
import { digits, size, time } from './numbers.js';

/** Whether the window is as narrow as a phone. */
export const isNarrow = () => matchMedia('(max-width: 36rem)').matches;
const HIGH = 430, LEFT = 64, RIGHT = 16, TOP = 14, BOTTOM = 44;

const decades = (low, high) => {
  const out = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p += 1)
    for (const m of [1, 2, 5]) if (m * 10 ** p >= low * 0.999 && m * 10 ** p <= high * 1.001) out.push(m * 10 ** p);
  const whole = out.filter((x) => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9);
  return out.length <= 8 ? out : whole.length >= 3 ? whole : out.filter((_, i) => i % 2 === 0);
};
const steps = (high) => {
  const rough = high / 6, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough);
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
};
const octaves = (low, high, most) => {
  const all = [];
  for (let p = Math.ceil(Math.log2(low)); p <= Math.log2(high) + 1e-9; p += 1) all.push(2 ** p);
  const step = Math.max(1, Math.ceil(all.length / most));
  return all.filter((_, i) => i % step === 0);
};

/**
 * \param curves [{name, kind: 'a' | 'b' | ..., rows: [{x, y, low, high}]}]; points [{name, x, y, note}]
 * \param ghost rows of the curve before, in grey
 * \param axes {x: 'size' | words, y: 'time' | words, linear: whether y begins at 0 and grows evenly}
 * \param choose called with the place of a row of the first curve
 */
export function chart({ title, curves, points = [], ghost = [], axes, chosen, choose }) {
  const rows = [...curves.flatMap((c) => c.rows), ...ghost];
  const WIDE = isNarrow() ? 480 : 820;  // so that its words stay readable
  const xs = [...rows, ...points].map((r) => r.x),
      ys = [...rows.flatMap((r) => [r.y, r.low, r.high]), ...points.map((p) => p.y)].filter((y) => y > 0);
  if (xs.length === 0 || ys.length === 0) return el('p', {}, 'There is nothing to draw.');
  let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (x0 === x1) [x0, x1] = [x0 / 2, x1 * 2];
  [y0, y1] = axes.linear ? [0, y1 * 1.05] : [y0 / 1.15, y1 * 1.15];
  const x = (v) => LEFT + ((WIDE - LEFT - RIGHT) * Math.log(v / x0)) / Math.log(x1 / x0);
  const up = (v) => (axes.linear ? v / y1 : Math.log(Math.max(v, y0) / y0) / Math.log(y1 / y0));
  const y = (v) => HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * up(v);
  const path = (list) => list.map((p, i) => `${i === 0 ? 'M' : 'L'}${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join('');
  const xText = axes.x === 'size' ? size : (v) => digits(v, 4), yText = axes.y === 'time' ? time : (v) => digits(v, 3);
  const ticks = [
    ...(axes.linear ? steps(y1) : decades(y0, y1)).map((v) => [svg('line', { class: 'grid', x1: LEFT, x2: WIDE - RIGHT, y1: y(v), y2: y(v) }),
      svg('text', { x: LEFT - 8, y: y(v) + 4, 'text-anchor': 'end' }, yText(v))]),
    ...octaves(x0, x1, isNarrow() ? 5 : 9).map((v) => [svg('line', { class: 'grid', x1: x(v), x2: x(v), y1: TOP, y2: HIGH - BOTTOM }),
      svg('text', { x: x(v), y: HIGH - BOTTOM + 18, 'text-anchor': 'middle' }, xText(v))]),
  ].flat();
  const drawn = curves.flatMap((c) => [
    c.rows.length > 1
        ? svg('path',
        { class: `band ${c.kind}`,
        d: path([...c.rows.map((r) => [x(r.x), y(r.high)]), ...[...c.rows].reverse().map((r) => [x(r.x), y(r.low)])]) + 'Z' }) : null,
    svg('path', { class: `curve ${c.kind}`, d: path(c.rows.map((r) => [x(r.x), y(r.y)])) }),
    c.rows.length <= 40 ? c.rows.map((r) => svg('circle', { class: `dot ${c.kind}`, cx: x(r.x), cy: y(r.y), r: 2.5 })) : null,
  ]).flat();
  const measured = points.map((p) =>
      svg('path', { class: 'measured', d: `M${x(p.x) - 5} ${y(p.y) - 5}l10 10m0 -10l-10 10` }, svg('title', {}, p.note)));
  const marks = [];
  if (chosen !== undefined && curves[0]?.rows[chosen]) {
    const at = curves[0].rows[chosen];
    marks.push(svg('line', { class: 'chosen', x1: x(at.x), x2: x(at.x), y1: TOP, y2: HIGH - BOTTOM }));
    for (const c of curves) if (c.rows[chosen]) marks.push(svg('circle',
        { class: `mark ${c.kind}`, cx: x(c.rows[chosen].x), cy: y(c.rows[chosen].y), r: 6 }));
  }
  const out = svg('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, class: 'chart', role: 'img', 'aria-label': title }, svg('title', {}, title),
      ticks,
    svg('text', { class: 'axis', x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 6, 'text-anchor': 'middle' }, axes.x === 'size'
        ? 'size of the message' : axes.x),
    svg('text', { class: 'axis', transform: `translate(14 ${(TOP + HIGH - BOTTOM) / 2}) rotate(-90)`, 'text-anchor': 'middle' },
        axes.y === 'time' ? 'time' : axes.y),
    ghost.length > 1 ? svg('path', { class: 'ghost', d: path(ghost.map((r) => [x(r.x), y(r.y)])) }) : null,
    drawn, measured, marks);
  if (choose && curves[0]) {
    const list = curves[0].rows;
    out.addEventListener('click', (event) => {
      const box = out.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * WIDE;
      choose(list.reduce((best, r, i) => (Math.abs(x(r.x) - at) < Math.abs(x(list[best].x) - at) ? i : best), 0));
    });
  }
  return out;
}

const colours = new Map();  // a part keeps its colour while sizes and machines change
const colourOf = (name) => {
  if (!colours.has(name)) colours.set(name, colours.size % 8);
  return colours.get(name);
};

/** One bar in parts, widest first, with a list beside it. */
export function stack(title, parts, text) {
  const whole = parts.reduce((sum, p) => sum + p.value, 0);
  if (!(whole > 0)) return el('p', {}, 'Nothing takes time here.');
  let at = 0;
  const bars = parts.map((p) => {
    const wide = (1000 * p.value) / whole;
    const made = svg('rect', { class: `part part-${colourOf(p.name)}`, x: at, y: 0, width: Math.max(0, wide - 1), height: 34 },
        svg('title', {}, `${p.name}: ${text(p.value)}`));
    at += wide;
    return made;
  });
  return el('figure', { class: 'stack' },
    svg('svg', { viewBox: '0 0 1000 34', preserveAspectRatio: 'none', role: 'img', 'aria-label': title }, bars),
    el('ul', { class: 'legend' },
        parts.map((p) =>
        el('li', {}, el('span', { class: `swatch part-${colourOf(p.name)}` }), `${p.name} `, el('b', {}, text(p.value)),
        ` ${(100 * p.value / whole).toFixed(1)} %`))));
}
