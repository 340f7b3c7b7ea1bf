// Layouts that train a model, or deployments that serve it: a table, memory, where the time goes, and a map of the best step by ranks.

import { stack } from '../chart.js';
import { fieldsOf, form, showError } from '../controls.js';
import { details, el, svg, table } from '../dom.js';
import { digits, percent, seconds } from '../numbers.js';
import { exportsOf } from '../export.js';

export const starts = { job: 'plan', system: 'dgx-h100', model: 'llama3-70b', gpus: '256', global_batch: '512', layout: '0' };
const MOST = '400';

/** The best step of each pair of tensor ranks and stages. */
function heat(layouts) {
  const best = new Map();
  for (const l of layouts) {
    const key = `${l.tp} ${l.pp}`;
    if (!best.has(key) || best.get(key).step_s > l.step_s) best.set(key, l);
  }
  const tps = [...new Set(layouts.map((l) => l.tp))].sort((p, q) => p - q),
      pps = [...new Set(layouts.map((l) => l.pp))].sort((p, q) => p - q);
  const steps = [...best.values()].map((l) => l.step_s);
  const [low, high] = [Math.min(...steps), Math.max(...steps)];
  const W = 74, H = 34, L = 70, T = 30;
  const cells = tps.flatMap((tp, i) => pps.map((pp, j) => {
    const l = best.get(`${tp} ${pp}`);
    if (!l) return null;
    const slow = high > low ? Math.log(l.step_s / low) / Math.log(high / low) : 0;
    return svg('g', {},
        svg('rect', { class: 'cell', x: L + j * W, y: T + i * H, width: W - 2, height: H - 2, style: `--slow:${slow.toFixed(3)}` }),
      svg('text', { x: L + j * W + W / 2 - 1, y: T + i * H + 21, 'text-anchor': 'middle', class: slow < 0.5 ? 'on-dark' : 'on-light' },
          seconds(l.step_s)), svg('title', {}, `tp ${tp}, pp ${pp}: ${seconds(l.step_s)}, ${digits(l.memory_GiB)} GiB`));
  }));
  return el('figure', {},
      svg('svg',
      { class: 'heat', viewBox: `0 0 ${L + pps.length * W + 4} ${T + tps.length * H + 4}`,
      style: `max-width:${L + pps.length * W + 4}px`, role: 'img',
      'aria-label': 'The best step for each number of tensor ranks and pipeline stages' },
    pps.map((pp, j) => svg('text', { x: L + j * W + W / 2, y: 20, 'text-anchor': 'middle' }, `pp ${pp}`)),
        tps.map((tp, i) => svg('text', { x: 4, y: T + i * H + 21 }, `tp ${tp}`)), cells),
    el('figcaption', {},
        `The fastest step found with each number of tensor ranks (tp) and pipeline stages (pp), among the ${layouts.length} best layouts. The strongest colour is the fastest.`));
}

const trained = (l) =>
    [`${l.tp}`, `${l.pp}`, `${l.vp}`, `${l.cp}`, `${l.ep}`, `${l.dp}`, `${l.zero}`, `${l.microbatch}`, l.recompute, seconds(l.step_s),
    `${seconds(l.interval_s[0])} to ${seconds(l.interval_s[1])}`, percent(l.mfu), `${digits(l.memory_GiB)} GiB`];
const TRAINED = ['tp', 'pp', 'vp', 'cp', 'ep', 'dp', 'zero', 'microbatch', 'recompute', 'step', 'nine in ten within', 'MFU', 'memory'];
const served = (l) =>
    [`${l.tp}`, `${l.pp}`, `${l.ep}`, `${l.dp}`, digits(l.batch), `${l.replicas}`, seconds(l.ttft_s), seconds(l.tpot_s),
    digits(l.tokens_per_s_per_gpu), digits(l.tokens_per_s_per_user), `${digits(l.memory_GiB)} GiB`];
const SERVED = ['tp', 'pp', 'ep', 'dp', 'batch', 'engines', 'first token', 'per token', 'tokens/s a GPU', 'tokens/s a user', 'memory'];

export function layoutsView(context) {
  const { model, known, values, change } = context;
  const job = values.job === 'serve' ? 'serve' : 'plan';
  const question = known.question(job);
  const result = el('div', { class: 'result', 'aria-live': 'polite' });
  const side = el('div', { class: 'side' },
    el('div', { class: 'field' }, el('label', { for: 'job' }, 'job'),
        el('select', { id: 'job', name: 'job', onchange: (e) => change('job', e.target.value, { redraw: true }) },
        el('option', { value: 'plan', selected: job === 'plan' }, 'train'),
        el('option', { value: 'serve', selected: job === 'serve' }, 'serve'))),
    form(question.fields, values, known, change,
        { first: job === 'plan' ? ['system', 'model', 'gpus', 'global_batch', 'sequence', 'precision']
        : ['system', 'model', 'gpus', 'isl', 'osl', 'ttft_seconds', 'tpot_seconds'] }));
  const root = el('div', { class: 'split' }, side, result);
  const asked = () => fieldsOf(question, values);

  async function update() {
    result.setAttribute('aria-busy', 'true');
    if (!result.firstChild) result.append(el('p', { class: 'waiting', role: 'status' }, 'The answer is computed …'));
    const got = await model.ask('layouts', job, asked());
    if (!got) return;
    result.removeAttribute('aria-busy');
    const placed = showError(side, got.error);
    if (got.error) return result.replaceChildren(placed ? el('p', { class: 'waiting' }, 'One field needs another value.')
        : el('div', {}, el('h2', {}, 'No layout'), el('p', { class: 'error', role: 'alert' }, got.error.text)));
    draw(got.answer, got.verdict);
  }

  async function draw(found, verdict) {
    const layouts = found.layouts ?? found.deployments ?? [];
    const chosen = Math.min(Number(values.layout) || 0, layouts.length - 1);
    const l = layouts[chosen];
    const train = job === 'plan';
    const words = train
        ? `Step ${seconds(l.step_s)}, nine in ten between ${seconds(l.interval_s[0])} and ${seconds(l.interval_s[1])}; ${percent(l.mfu)} of the peak; ${digits(l.memory_GiB)} GiB of a GPU.`
      : `First token after ${seconds(l.ttft_s)}, then one every ${seconds(l.tpot_s)}; ${digits(l.tokens_per_s_per_gpu)} tokens a second and GPU; ${digits(l.memory_GiB)} GiB of a GPU.`;
    const head = train ? TRAINED : SERVED, body = layouts.map(train ? trained : served);
    const map = el('div', {});
    result.replaceChildren(el('h2', {},
        `${found.model ?? values.model} on ${found.gpus ?? values.gpus} GPUs of ${found.system ?? values.system}`),
      el('p', { class: 'verdict' }, verdict), el('p', {}, found.advice ?? '', found.kernels === 'assumed'
          ? ' Kernels of this GPU were never measured; NVIDIA’s shares of the peak are taken.' : ''),
      table(train ? 'Layouts, fastest first' : 'Deployments, best first', ['look', ...head],
          body.map((row, i) =>
          [el('input',
          { type: 'radio', name: 'layout', value: i, checked: i === chosen, 'aria-label': `look at row ${i + 1}`,
          onchange: () => change('layout', String(i)) }), ...row])),
      el('h3', {}, train ? `Where the step of row ${chosen + 1} goes` : `Where a token of row ${chosen + 1} goes`), el('p', {}, words),
      stack('parts of the time', l.terms.filter((t) => t.time_s > 0).map((t) => ({ name: known.terms[t.name] ?? t.name.replaceAll('_', ' '), value: t.time_s })).sort((p, q) => q.value - p.value), seconds),
      map, details('As JSON', el('pre', { tabindex: '0' }, JSON.stringify(l, null, 2))),
      exportsOf(context,
          { question: job, fields: asked(), answer: found, rows: { head, body }, picture: null, name: `layouts-${values.model}` }));
    if (!train || found.fits === false) return;
    const all = await model.ask('heat', 'plan', { ...asked(), top: MOST });
    if (all && !all.error && all.answer.layouts.length > 1
        && map.isConnected) map.replaceChildren(el('h3', {}, 'Tensor ranks and stages'), heat(all.answer.layouts));
  }
  return { root, update };
}
