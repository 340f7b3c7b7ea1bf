// Any question, from its table of fields: backward questions, machines side by side, models, where the choice changes.

import { fieldsOf, form, showError } from '../controls.js';
import { details, el, table } from '../dom.js';
import { digits } from '../numbers.js';
import { exportsOf } from '../export.js';

const LLAMA = { model: 'llama3-70b', gpus: '256', global_batch: '512' };
const EXAMPLES = {  // where a question starts
  compare: { systems: ['dgx-h100', 'dgx-b200'], ...LLAMA, train: 'true' },
  cost: { system: 'dgx-h100', model: 'llama3-70b', gpus: '1024', mfu: '40%', tokens: '1T' },
  crossovers: { system: 'dgx-h100', operation: 'all_reduce', nodes: '1,2,4' },
  explain: { system: 'dgx-h100', operation: 'all_reduce', nodes: '2', bytes: '256MiB' },
  explore: { system: 'dgx-h100', model: 'llama3-8b', gpus: '64', global_batch: '128', vary: ['nic.bandwidth=25:100:x2GB/s per direction', 'domain=8,16'] },
  explore_serve: { model: 'llama3-70b', gpus: '64', vary: ['system=dgx-h100,dgx-b200', 'batch=1:256:x2'] },
  goodput: { gpus: '16384', checkpoint_seconds: '30s', restart_seconds: '10min' },
  models: { model: 'llama3-70b' },
  moe: { operation: 'moe_dispatch', system: 'dgx-h100', tokens: '4096', hidden: '7168', experts: '256', top_k: '8', ranks: '64' },
  need: { unknown: 'nic.bandwidth', system: 'dgx-h100', ...LLAMA, gpus: '512', within: '10%' },
  need_machine: { systems: ['dgx-h100', 'dgx-b200', 'gb200-nvl72'], ...LLAMA, global_batch: '1024', tokens: '1T', in_seconds: '30d' },
  need_serve: { unknown: 'nodes', system: 'dgx-h100', model: 'llama3-70b', tokens_per_second: '100000' },
  pipeline: { schedule: 'zb_h1', stages: '8', microbatches: '24', forward_seconds: '18.5ms', backward_seconds: '18.1ms',
      weight_seconds: '9.3ms', exchange_seconds: '0.6ms' },
  plan: { system: 'dgx-h100', ...LLAMA },
  predict: { system: 'dgx-h100', operation: 'all_reduce', nodes: '2', bytes: '256MiB' },
  project: { systems: ['dgx-h100', 'gb200-nvl72'], model: 'llama3-405b', global_batch: '2048', tokens: '15T', in_seconds: '90d' },
  rl: { system: 'dgx-h100', model: 'qwen3-32b', gpus: '64', prompts: '64', osl: '4096', max_osl: '16384' },
  serve: { system: 'dgx-h100', model: 'llama3-70b', gpus: '8', ttft_seconds: '1s', tpot_seconds: '30ms' },
  share: { system: 'aws-p4d', nodes: '8', layout: 'tp=8,dp', collectives: ['all_reduce 1GiB over dp'] },
  show: { system: 'dgx-h100' },
  stragglers: { mean_seconds: '100ms', deviation_seconds: '2ms', ranks: '1024', slow: ['1%:1.1'] },
  sweep: { system: 'dgx-h100', operation: 'all_reduce', nodes: '2', sizes: '1KiB:8GiB:x8' },
  transfer_access: { system: 'dgx-h100' },
  transfer_incast: { system: 'dgx-h100', senders: '8', bytes: '1MiB' },
  transfer_storage: { system: 'dgx-h100', nodes: '16', bytes: '810GB', client: 'ethernet-100' },
  tune: { system: 'dgx-b200', operation: 'all_gather' } };
const TITLES = {  // what a question asks, where its name does not say it
  crossovers: 'Where the choice changes', explain: 'Why a collective takes so long', explore: 'Every combination, training',
  explore_serve: 'Every combination, serving', goodput: 'What failures leave', models: 'A model', moe: 'Exchange of experts',
  need: 'How much is enough to train', need_machine: 'Which machine is enough', need_serve: 'How much is enough to serve',
  plan: 'Train a model', predict: 'One collective', project: 'A whole run', rl: 'Reinforcement learning', serve: 'Serve a model',
  share: 'Collectives at once', show: 'A machine', stragglers: 'The slowest rank', sweep: 'A collective over sizes',
  transfer_access: 'Loads and stores', transfer_incast: 'Many senders to one', transfer_storage: 'Reading from storage',
  tune: 'Where NCCL’s own choice loses', compare: 'Compare machines', cost: 'What it costs', pipeline: 'A pipeline schedule' };
const titleOf = (name) => TITLES[name] ?? name.replaceAll('_', ' ');
export const starts = { question: 'compare', ...EXAMPLES.compare };
const LEFT_OUT = ['systems', 'design', 'picture', 'validate', 'diagnose'];

const words = (v) =>
    (typeof v === 'number' ? digits(v, 4) : v === null ? 'none' : typeof v === 'boolean' ? (v ? 'yes' : 'no') : String(v));
const plain = (v) => v === null || typeof v !== 'object';
let terms = {};  // their names in words
/** JSON as people read it: lists of objects as tables, objects as lists of terms. */
function shown(name, value) {
  if (plain(value)) return el('p', {}, words(value));
  if (Array.isArray(value)) {
    if (value.length === 0) return el('p', { class: 'hint' }, 'none');
    if (value.every(plain)) return el('p', {}, value.map(words).join(', '));
    if (value.every((v) => v && !Array.isArray(v))) {
      const head = [...new Set(value.flatMap((v) =>
          Object.keys(v).filter((k) => plain(v[k]) || (Array.isArray(v[k]) && v[k].every(plain)))))];
      const nested = value.flatMap((v, i) =>
          Object.entries(v).filter(([k]) => !head.includes(k)).map(([k, each]) =>
          details(`${i + 1}: ${k.replaceAll('_', ' ')}`, shown(k, each))));
      return el('div', {},
          table(name.replaceAll('_', ' '), head.map((h) => h.replaceAll('_', ' ')),
          value.map((v) =>
          head.map((h) => (Array.isArray(v[h]) ? v[h].map(words).join(' to ') : v[h] === undefined ? ''
          : name === 'terms' && h === 'name' ? terms[v[h]] ?? words(v[h]) : words(v[h]))))),
          nested.length > 0 ? details('more of each', nested) : '');
    }
    return el('ol', {}, value.map((v) => el('li', {}, shown(name, v))));
  }
  return el('dl', {},
      Object.entries(value).filter(([, v]) => v !== '').flatMap(([k, v]) =>
      [el('dt', {}, k.replaceAll('_', ' ')),
      el('dd', {}, plain(v) ? words(v) : Array.isArray(v) && v.length > 4 && !v.every(plain) ? details(`${v.length}`, shown(k, v))
      : !Array.isArray(v) && Object.keys(v).length > 6 ? details(`${Object.keys(v).length} figures`, shown(k, v))
      : shown(k, v))]));
}

export function askView(context) {
  const { model, known, values, change, restart } = context;
  terms = known.terms;
  const names = known.questions.map((q) => q.name).filter((n) => !LEFT_OUT.includes(n));
  const name = names.includes(values.question) ? values.question : 'compare';
  const question = known.question(name);
  const result = el('div', { class: 'result', 'aria-live': 'polite' });
  const needed = question.fields.filter((f) => f.needed).map((f) => f.name);
  const first = [...needed,
      ...['train', 'serve', 'within', 'step_seconds', 'over', 'nodes', 'ranks',
      'objectives'].filter((n) => question.fields.some((f) => f.name === n))];
  const side = el('div', { class: 'side' },
    el('div', { class: 'field' }, el('label', { for: 'question' }, 'question'),
        el('select',
        { id: 'question', name: 'question',
        onchange: (e) => restart({ question: e.target.value, ...(EXAMPLES[e.target.value] ?? {}) }) },
        names.map((n) => el('option', { value: n, selected: n === name }, titleOf(n))))),
    form(question.fields, values, known, change, { first }));

  async function update() {
    result.setAttribute('aria-busy', 'true');
    if (!result.firstChild) result.append(el('p', { class: 'waiting', role: 'status' }, 'The answer is computed …'));
    const fields = fieldsOf(question, values);
    const got = await model.ask('ask', name, fields);
    if (!got) return;
    result.removeAttribute('aria-busy');
    const placed = showError(side, got.error);
    if (got.error) return result.replaceChildren(placed ? el('p', { class: 'waiting' }, 'One field needs another value.')
        : el('p', { class: 'error', role: 'alert' }, got.error.text));
    const rows = Array.isArray(got.answer) && got.answer.every((r) => r && typeof r === 'object') && got.answer.length > 0
        ? { head: Object.keys(got.answer[0]),
        body: got.answer.map((r) => Object.values(r).map((v) => (plain(v) ? String(v ?? '') : JSON.stringify(v)))) } : null;
    const sentence = got.verdict ?? got.answer.verdict, figures = shown(name, got.answer);
    result.replaceChildren(el('h2', {}, titleOf(name)), sentence ? el('p', { class: 'verdict' }, sentence) : '',
      got.text ? el('pre', { tabindex: '0' }, got.text) : sentence ? el('h3', {}, 'All figures') : '', got.text ? '' : figures,
      exportsOf(context, { question: name, fields, answer: got.answer, rows, picture: null, name }));
  }
  return { root: el('div', { class: 'split' }, side, result), update };
}
