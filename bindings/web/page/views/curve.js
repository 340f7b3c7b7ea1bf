// One collective over sizes: bandwidth or time with its interval, what runs, what the time is made of, why, and what would change it; a
// second machine or setting beside it; the machine's parameters as sliders.

import { chart, isNarrow, stack } from '../chart.js';
import { fieldsOf, form, showError } from '../controls.js';
import { details, el, table } from '../dom.js';
import { digits, rate, size, time } from '../numbers.js';
import { exportsOf } from '../export.js';

export const starts = { system: 'dgx-h100', operation: 'all_reduce', nodes: '2', sizes: '1KiB:8GiB:x2', show: 'busbw', 'b.system': '',
    at: '' };
const FIRST = ['system', 'operation', 'nodes', 'ranks', 'sizes'];
const HIDDEN = ['bytes', 'overrides'];
const B = 'b.';

const busbw = (row) => row.busbw_GBps;
/** A row of an answer as a point of a curve; bandwidth turns the interval over. */
const pointOf = (row, show) => {
  if (show === 'time') return { x: row.bytes, y: row.time_us, low: row.interval_us[0], high: row.interval_us[1] };
  const by = (us) => (us > 0 ? (busbw(row) * row.time_us) / us : busbw(row));
  return { x: row.bytes, y: busbw(row), low: by(row.interval_us[1]), high: by(row.interval_us[0]) };
};
/** "+7.5 %", "none". */
const percentMore = (ratio) => (Math.abs(ratio - 1) < 5e-4 ? 'none' : `${ratio > 1 ? '+' : ''}${(100 * (ratio - 1)).toFixed(1)} %`);
/** "1.3 times as fast", "as fast". */
const pace = (ratio) => (Math.abs(ratio - 1) < 5e-3 ? 'as fast' : `${digits(ratio)} times as fast`);
const titleOf = (row) => `${row.operation}, ${row.ranks} ranks on ${row.nodes} node${row.nodes === 1 ? '' : 's'}, ${row.system}`;

export function curveView(context) {
  const { model, known, values, change } = context;
  const sweep = known.question('sweep');
  // what a person holds while the answer changes stays in place: the slider of sizes
  const heading = el('h2', {}), picturePlace = el('div', {}), caption = el('figcaption', { 'aria-live': 'polite' }), rest = el('div', {});
  const look = (commit) => (event) => change('at', String(drawn[Number(event.target.value)].bytes), { commit });
  const slider = el('input',
      { type: 'range', class: 'sizes', min: 0, step: 1, name: 'at', 'aria-label': 'size looked at', oninput: look(false),
      onchange: look(true) });
  const kinds = el('select', { name: 'show', onchange: (e) => change('show', e.target.value) },
      el('option', { value: 'busbw' }, 'bus bandwidth'), el('option', { value: 'time' }, 'time'));
  kinds.value = values.show === 'time' ? 'time' : 'busbw';
  const scales = el('select', { name: 'scale', onchange: (e) => change('scale', e.target.value) },
      el('option', { value: 'linear' }, 'linear'), el('option', { value: 'log' }, 'logarithmic'));
  const answered = el('div', { hidden: true }, heading,
      el('div', { class: 'toolbar' }, el('label', {}, 'Show ', kinds), el('label', {}, 'Scale ', scales)),
      el('figure', {}, picturePlace, slider, caption), rest);
  const trouble = el('div', {});
  const result = el('div', { class: 'result' }, trouble, answered);
  let drawn = [], drawnFor = '', earlier = null;  // the rows shown, their question, and the rows of the question before
  const parametersPlace = el('div', {});
  const comparing = Boolean(values['b.on']);
  /** Another machine has parameters of its own. */
  const changed = (name, value) => {
    if (name === 'system') {
      const left = [].concat(values.overrides ?? []).filter((o) => !o.startsWith('design.'));
      if (left.length > 0) values.overrides = left;
      else delete values.overrides;
    }
    change(name, value);
    if (name === 'system') parameters();
  };
  const side = el('div', { class: 'side' },
    form(sweep.fields, values, known, changed, { first: FIRST, hidden: HIDDEN }), parametersPlace,
    el('p', {},
        el('label', {},
        el('input',
        { type: 'checkbox', name: 'b.on', checked: comparing,
        onchange: (e) => change('b.on', e.target.checked ? '1' : undefined, { redraw: true }) }),
        ' Compare with a second machine or setting')),
    comparing ? el('fieldset', { class: 'second' }, el('legend', {}, 'The second; what is not set here is as above'),
      form(sweep.fields.map((f) => ({ ...f, needed: false, default: undefined })), values, known, change,
          { first: ['system', 'nodes', 'ranks', 'library', 'algorithm'], prefix: B, hidden: [...HIDDEN, 'operation', 'sizes'] })) : null);
  const root = el('div', { class: 'split' }, side, result);

  const asked = () => fieldsOf(sweep, values);
  const told = new Map();  // what sets a parameter, in words
  const turned = () => [].concat(values.overrides ?? []).filter((o) => o.startsWith('design.'));
  const standing = { key: '', rows: null };  // the curve of the machine as it is, beside which parameters are changed
  async function asItIs() {
    if (turned().length === 0) return null;
    const { overrides, ...fields } = asked();
    const left = overrides.filter((o) => !o.startsWith('design.'));
    const key = JSON.stringify([fields, left]);
    if (standing.key !== key) {
      const got = await model.ask('standing', 'sweep', { ...fields, ...(left.length > 0 ? { overrides: left } : {}) });
      if (got) Object.assign(standing, { key, rows: got.answer ?? null });
    }
    return standing.rows;
  }
  const second = () => ({ ...asked(), ...fieldsOf(sweep, values, B) });

  async function parameters() {
    const got = await model.ask('parameters', 'design', { system: values.system });
    if (!got || got.error) return parametersPlace.replaceChildren();
    const standing = new Map([].concat(values.overrides ?? []).map((o) => [o.slice(0, o.indexOf('=')), o]));
    const others = [...standing.values()].filter((o) => !o.startsWith('design.'));
    for (const parameter of got.answer) for (const stop of parameter.stops)
      told.set(stop.override, `${parameter.name} ${digits(stop.value, 4)} ${parameter.unit}`.trim());
    const rows = got.answer.filter((d) => !['arithmetic', 'hbm.size'].includes(d.name)).map((parameter) => {
      const key = `design.${parameter.name}`;
      const near = parameter.stops.reduce((best, s, i) =>
          (Math.abs(Math.log(s.value / parameter.value)) < Math.abs(Math.log(parameter.stops[best].value / parameter.value)) ? i : best), 0);
      const set = parameter.stops.findIndex((s) => s.override === standing.get(key));
      const shown = (i) => `${digits(i === near && !standing.has(key) ? parameter.value : parameter.stops[i].value, 4)} ${parameter.unit}`;
      const output = el('output', {}, shown(set < 0 ? near : set));
      const turn = (commit) => (event) => {
        const at = Number(event.target.value);
        if (at === near) standing.delete(key);
        else standing.set(key, parameter.stops[at].override);
        output.textContent = shown(at);
        event.target.setAttribute('aria-valuetext', shown(at));
        const all = [...others, ...[...standing.values()].filter((o) => o.startsWith('design.'))];
        change('overrides', all.length > 0 ? all : undefined, { commit });
      };
      return el('label', { class: 'parameter' }, el('span', {}, parameter.name),
          el('input',
          { type: 'range', name: key, min: 0, max: parameter.stops.length - 1, step: 1, value: set < 0 ? near : set,
          'aria-valuetext': shown(set < 0 ? near : set), oninput: turn(false), onchange: turn(true) }), output);
    });
    const box = details('Change the machine’s design', rows,
        el('button', { type: 'button', onclick: () => { change('overrides', undefined); parameters(); } }, 'As the machine is'));
    box.open = !isNarrow();  // there the curve would be far below
    parametersPlace.replaceChildren(rows.length > 0 ? box : '');
  }

  let shownFor = null;
  async function update() {
    const show = values.show === 'time' ? 'time' : 'busbw';
    const [a, b, still] = await Promise.all([model.ask('curve', 'sweep', asked()),
        comparing ? model.ask('second', 'sweep', second()) : null, asItIs()]);
    if (!a) return;
    const placed = showError(side, a.error) || (b && showError(side, b.error, B));
    answered.hidden = Boolean(a.error);
    if (a.error) return trouble.replaceChildren(placed ? el('p', { class: 'waiting' }, 'One field needs another value.')
        : el('p', { class: 'error', role: 'alert' }, a.error.text));
    trouble.replaceChildren();
    showError(side, null);
    if (b && !b.error) showError(side, null, B);
    else if (b?.error) showError(side, b.error, B);
    draw(a.answer, b && !b.error ? b.answer : null, b?.error, show, still);
  }

  function draw(rows, other, otherError, show, still) {
    const wanted = Number(values.at) || 256 * 1024 * 1024;
    const chosen = rows.reduce((best, r, i) =>
        (Math.abs(Math.log(r.bytes / wanted)) < Math.abs(Math.log(rows[best].bytes / wanted)) ? i : best), 0);
    const at = rows[chosen];
    const curves = [{ name: titleOf(rows[0]), kind: 'a', rows: rows.map((r) => pointOf(r, show)) }];
    if (other) curves.push({ name: titleOf(other[0]), kind: 'b', rows: other.map((r) => pointOf(r, show)) });
    const words = `At ${size(at.bytes)}: ${time(at.time_us)}, ${rate(at.busbw_GBps)} bus bandwidth. ` +
      `${at.algorithm} ${at.protocol} runs; most time goes to ${at.bottleneck}. Nine measurements in ten should fall between ` +
      `${time(at.interval_us[0])} and ${time(at.interval_us[1])} (basis: ${at.basis}).`;
    const before = still?.find((r) => r.bytes === at.bytes);
    const changed = !before ? '' : Math.abs(before.time_us - at.time_us) < 5e-4 * at.time_us
      ? 'As the machine is, it takes as long: this collective does not wait for what was changed.'
      : `As the machine is: ${time(before.time_us)}; with the parameters as they stand ${digits(before.time_us / at.time_us)} times as fast.`;
    const set = [].concat(values.overrides ?? []).map((o) => told.get(o) ?? o);
    const title = `${show === 'time' ? 'Time' : 'Bus bandwidth'} over size: ${curves.map((c) => c.name).join('; beside it ')}`;
    scales.value = values.scale ?? (show === 'time' ? 'log' : 'linear');
    const axes = { x: 'size', y: show === 'time' ? 'time' : 'bus bandwidth, GB/s', linear: scales.value === 'linear' };
    const question = JSON.stringify(asked());
    if (question !== drawnFor) [earlier, drawnFor] = [drawn.length > 0 ? drawn : null, question];
    const shadow = still ?? earlier;
    const ghost = (shadow ?? []).filter((r) => r.bytes >= rows[0].bytes && r.bytes <= rows.at(-1).bytes).map((r) => pointOf(r, show));
    const picture = chart({ title, curves, ghost, axes, chosen, choose: (i) => change('at', String(rows[i].bytes)) });
    drawn = rows;
    heading.textContent = titleOf(at) + (set.length > 0 ? `, ${set.join(', ')}` : '');
    picturePlace.replaceChildren(picture);
    slider.max = rows.length - 1;
    slider.value = chosen;
    slider.setAttribute('aria-valuetext', size(at.bytes));
    const keys = other
        ? el('span', { class: 'keys' }, el('i', { class: 'key a' }), ` ${curves[0].name}  `, el('i', { class: 'key b' }),
        ` ${curves[1].name}`) : '';
    const grey = ghost.length > 1 ? el('span', { class: 'keys' }, el('i', { class: 'key ghost' }),
        still ? ' the machine as it is' : ` before: ${titleOf(shadow[0])}`) : '';
    caption.replaceChildren(words, changed ? el('span', { class: 'changed' }, ` ${changed}`) : '', keys, grey);
    let beside = '';
    if (other?.[chosen]) {
      const b = other[chosen];
      beside = el('p', { class: 'b-words' },
          `The second: ${time(b.time_us)}, ${rate(b.busbw_GBps)}, ${b.algorithm} ${b.protocol}: ${pace(at.time_us / b.time_us)}.`);
    } else if (otherError) {
      beside = el('p', { class: 'error', role: 'alert' }, `The second: ${otherError.text}`);
    }
    const open = new Set([...rest.querySelectorAll('details[open] > summary')].map((s) => s.textContent));
    const why = el('div', { class: 'why' });
    const head = ['size', 'time', 'from', 'to', 'bus bandwidth', 'runs', 'bottleneck'];
    const body = rows.map((r) =>
        [size(r.bytes), time(r.time_us), time(r.interval_us[0]), time(r.interval_us[1]), rate(r.busbw_GBps),
        `${r.algorithm} ${r.protocol}`, r.bottleneck]);
    const terms = at.terms.map((t) => ({ name: `${t.name} (${t.tier})`, value: t.time_us })).sort((p, q) => q.value - p.value);
    rest.replaceChildren(beside, el('h3', {}, `What ${time(at.time_us)} is made of`), stack('parts of the time', terms, time),
      at.assumed.length > 0 ? el('p', { class: 'hint' }, `Assumed: ${at.assumed.join('. ')}.`) : '', why,
      details('All sizes as a table', table(titleOf(at), head, body)),
      exportsOf(context,
          { question: 'sweep', fields: asked(), answer: rows, rows: { head, body }, picture, name: `${at.operation}-${at.system}` }));
    for (const box of rest.querySelectorAll('details')) if (open.has(box.firstChild.textContent)) box.open = true;
    explain(why, at.bytes, open);
  }

  let timer;
  function explain(place, bytes, open) {
    clearTimeout(timer);
    if (shownFor) place.replaceChildren(...shownFor.nodes);
    timer = setTimeout(async () => {
      const { sizes, ...fields } = asked();
      const got = await model.ask('explain', 'explain', { ...fields, bytes: String(bytes) });
      if (!got || got.error || !place.isConnected) return;
      const nodes = [
        got.answer.changes?.length > 0
            ? table('What would change it', ['change', 'time then', 'difference'], got.answer.changes.map((c) =>
                [c.change, time(c.time_us), percentMore(c.time_us / got.answer.time_us)])) : null,
        details('Why: the arithmetic and its sources', el('pre', { tabindex: '0' }, got.text))].filter(Boolean);
      if (open.has(nodes.at(-1).firstChild.textContent) || shownFor?.nodes.at(-1).open) nodes.at(-1).open = true;
      shownFor = { nodes };
      place.replaceChildren(...nodes);
    }, 120);
  }

  parameters();
  return { root, update };
}
