// A log pasted or dropped: each size measured beside its prediction, the errors, and what is likely wrong with the run. The text stays
// here.

import { chart } from '../chart.js';
import { fieldsOf, form, showError } from '../controls.js';
import { details, el, table } from '../dom.js';
import { digits, percent, rate, size, time } from '../numbers.js';
import { exportsOf } from '../export.js';

export const starts = {};
const NAME = 'pasted.log';
const LARGEST = 64 * 1024 * 1024;

/** A file's text; gzip is unpacked here. */
async function textOf(file) {
  if (file.size > LARGEST) throw new Error(`${file.name}: more than 64 MiB; keep the lines with measurements`);
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const stream = head[0] === 0x1f && head[1] === 0x8b ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  const decoder = new TextDecoder();
  let text = '', size = 0;
  for (const reader = stream.getReader();;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > LARGEST) {
      reader.cancel();
      throw new Error(`${file.name}: unpacks to more than 64 MiB; keep the lines with measurements`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

export function logView(context) {
  const { model, known, values, change, kept } = context;
  const diagnose = known.question('diagnose'), validate = known.question('validate');
  const result = el('div', { class: 'result', 'aria-live': 'polite' });
  const area = el('textarea',
      { id: 'log-text', rows: 14, spellcheck: 'false',
      placeholder: 'Paste what nccl-tests, nvbandwidth,\nOSU or perftest printed,\nor drop its file here.',
      oninput: () => { kept.log = area.value; kept.logName = NAME; later(); } });
  area.value = kept.log ?? '';
  const fault = el('p', { class: 'error', role: 'alert', hidden: true });
  const take = async (file) => {
    try {
      kept.log = area.value = await textOf(file);
      kept.logName = file.name.replace(/\.gz$/, '').replace(/[/\\]/g, '_').replace(/^\.+/, '') || NAME;
      fault.hidden = true;
      update();
    } catch (error) {
      fault.textContent = String(error.message ?? error);
      fault.hidden = false;
    }
  };
  const side = el('div', { class: 'side' }, el('label', { for: 'log-text' }, 'The log'), area,
    el('p', {},
        el('label', {}, 'or a file: ',
        el('input', { type: 'file', name: 'log-file', onchange: (e) => e.target.files[0] && take(e.target.files[0]) }))), fault,
    el('p', { class: 'hint' }, 'The text is read in this page and goes nowhere else; it is never part of the link.'),
    form(diagnose.fields, values, known, change,
        { first: ['system', 'nodes', 'ranks', 'expected'], hidden: ['log', 'more', 'against'] }));
  const root = el('div',
      { class: 'split', ondragover: (e) => e.preventDefault(),
      ondrop: (e) => { e.preventDefault(); if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]); } }, side, result);

  let timer;
  const later = () => { clearTimeout(timer); timer = setTimeout(update, 250); };

  async function update() {
    if (!kept.log?.trim()) {
      return result.replaceChildren(el('h2', {}, 'Measured beside predicted'),
          el('p', {}, 'Paste the output of nccl-tests, and choose the machine if the log does not name it.'),
        el('button',
            { type: 'button',
            onclick: () => { kept.log = area.value = SAMPLE; kept.logName = NAME; change('system', 'dgx-h100', { redraw: true }); } },
            'Try it with an example'));
    }
    const files = { [kept.logName ?? NAME]: kept.log };
    const name = Object.keys(files)[0];
    const fields = fieldsOf(diagnose, values);
    const { expected, ...rest } = fields;
    const common = Object.fromEntries(Object.entries(rest).filter(([key]) => validate.fields.some((f) => f.name === key)));
    const [found,
        errors] = await Promise.all([model.ask('diagnose', 'diagnose', { ...fields, log: name }, files),
        model.ask('validate', 'validate', { ...common, samples: [name] }, files)]);
    if (!found || !errors) return;
    const bad = found.error ?? null;
    if (showError(side, bad) || bad) return result.replaceChildren(el('h2', {}, 'This log cannot be judged'),
        el('pre', { class: 'error', role: 'alert' }, bad.text));
    draw(found.answer, errors, { ...fields, log: name });
  }

  function draw(found, errors, fields) {
    const groups = new Map();  // a point is drawn on the curve of its own setup alone
    for (const one of found.sizes) {
      const key = `${one.operation}, ${one.ranks} ranks on ${one.nodes} node${one.nodes === 1 ? '' : 's'}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(one);
    }
    const charts = [...groups].map(([name, all]) => {
      const sorted = [...all].sort((p, q) => p.bytes - q.bytes);
      const curve = sorted.filter((s) => s.predicted_us > 0).map((s) =>
          ({ x: s.bytes, y: s.predicted_us, low: s.interval_us[0], high: s.interval_us[1] }));
      const points = sorted.map((s) =>
          ({ x: s.bytes, y: s.measured_us,
          note: `${size(s.bytes)}: measured ${time(s.measured_us)}, predicted ${time(s.predicted_us)}` }));
      return el('figure', {},
          chart({ title: `${name}: measured crosses, predicted line with its interval`, curves: curve.length > 0
          ? [{ name, kind: 'a', rows: curve }] : [], points, axes: { x: 'size', y: 'time' } }),
        el('figcaption', {},
            `${name}. Crosses: measured. Line and band: predicted for ${found.system ?? 'no machine'}${found.basis ? '' : ''}, nine measurements in ten inside the band.`));
    });
    const head = ['operation', 'size', 'ranks', 'measured', 'predicted', 'measured / predicted', 'bus bandwidth'];
    const body = found.sizes.map((s) =>
        [s.operation, size(s.bytes), String(s.ranks), time(s.measured_us), time(s.predicted_us), digits(s.ratio), rate(s.busbw_GBps)]);
    const e = errors.answer;
    result.replaceChildren(el('h2', {}, 'What the log says'), el('p', { class: `verdict ${found.state}` }, found.verdict),
      found.causes.length > 0
          ? el('ol', { class: 'causes' },
          found.causes.map((c) =>
          el('li', {}, el('b', {}, c.cause.replaceAll('_', ' ')), ` (${percent(c.confidence)}). ${c.evidence} `,
          el('em', {}, c.remedy)))) : '',
      ...charts,
      errors.error ? el('p', { class: 'hint' }, errors.error.text) : e.points > 0
          ? el('p', {},
          `Of ${e.points} points the median error is ${digits(e.median_ape)} %, the mean ${digits(e.mape)} %; ${percent(e.interval_coverage)} lie inside their interval.`) : '',
      found.notes.length > 0 ? el('ul', { class: 'hint' }, found.notes.map((n) => el('li', {}, n))) : '',
      found.next?.length > 0
          ? details('What would tell more', el('ul', {}, found.next.map((n) => el('li', {}, el('code', {}, n.ask), ` ${n.tells}`)))) : '',
      found.sizes.length > 0 ? details('All points as a table', table('Measured beside predicted', head, body)) : '',
      exportsOf(context,
          { question: 'diagnose', fields, answer: found, rows: { head, body }, picture: charts[0]?.querySelector('svg'), name: 'log' }));
  }
  return { root, update };
}

const SAMPLE = `# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    41.10   25.51   44.65      0    40.80   25.70   44.97      0
     4194304       1048576     float     sum      -1    59.80   70.14  122.74      0    59.50   70.49  123.36      0
    16777216       4194304     float     sum      -1   112.40  149.26  261.21      0   112.10  149.66  261.91      0
    67108864      16777216     float     sum      -1   312.90  214.47  375.33      0   312.10  215.02  376.29      0
   268435456      67108864     float     sum      -1  1050.20  255.60  447.31      0  1049.80  255.70  447.48      0
  1073741824     268435456     float     sum      -1  3985.00  269.45  471.53      0  3982.00  269.65  471.89      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 287.5
`;
