// A machine's tiers, drawn, as a table and with their sources.

import { form, fieldsOf, showError } from '../controls.js';
import { details, el, table } from '../dom.js';
import { digits, rate, time } from '../numbers.js';
import { exportsOf } from '../export.js';

export const starts = { system: 'dgx-h100' };

export function machineView(context) {
  const { model, known, values, change } = context;
  const show = known.question('show');
  const result = el('div', { class: 'result', 'aria-live': 'polite' });
  const side = el('div', { class: 'side' }, form(show.fields, values, known, change, { first: ['system', 'overrides'] }));

  async function update() {
    const { system, overrides } = fieldsOf(show, values);
    const [got,
        drawn] = await Promise.all([model.ask('show', 'show', fieldsOf(show, values)),
        model.ask('picture', 'picture', { system, overrides })]);
    if (!got) return;
    const placed = showError(side, got.error);
    if (got.error) return result.replaceChildren(placed ? '' : el('p', { class: 'error', role: 'alert' }, got.error.text));
    const a = got.answer;
    const head = ['tier', 'role', 'joins', 'bandwidth', 'hop', 'all together', 'confidence', 'source'];
    const body = a.tiers.map((t) =>
        [t.name, t.role, String(t.endpoints), rate(t.bandwidth_GBps), t.latency_us === null ? '' : time(t.latency_us),
        rate(t.aggregate_GBps), t.confidence, t.source]);
    const words = `${a.title || a.name}: ${a.gpus_per_node} GPUs a node (${a.gpu}, ${digits(a.memory_GiB)} GiB each), ${a.domain} in a scale-up domain. Constants: ${a.basis}.`;
    let picture = null;
    if (drawn?.answer) picture = document.importNode(new DOMParser().parseFromString(drawn.answer.svg, 'image/svg+xml').documentElement,
        true);
    if (picture) { picture.setAttribute('role', 'img'); picture.setAttribute('aria-label',
        `Tiers of ${a.name}`); picture.setAttribute('class', 'tiers'); }
    result.replaceChildren(el('h2', {}, a.name), el('p', {}, words), picture
        ? el('figure', { class: 'paper' }, picture,
        el('figcaption', {}, 'Bands are tiers, from the network at the top to the GPUs; rates are one way.')) : '',
      table(`Tiers of ${a.name}`, head, body),
          details('With all sources, as the command prints it', el('pre', { tabindex: '0' }, got.text)),
      exportsOf(context, { question: 'show', fields: fieldsOf(show, values), answer: a, rows: { head, body }, picture, name: a.name }));
  }
  return { root: el('div', { class: 'split' }, side, result), update };
}
