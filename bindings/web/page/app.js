// The page: which view is shown, what is in its address, and the model behind it.

import { address, readAddress } from './state.js';
import { el } from './dom.js';
import { Model } from './model.js';
import { tour } from './tour.js';
import { askView, starts as askStarts } from './views/ask.js';
import { curveView, starts as curveStarts } from './views/curve.js';
import { layoutsView, starts as layoutsStarts } from './views/layouts.js';
import { logView, starts as logStarts } from './views/log.js';
import { machineView, starts as machineStarts } from './views/machine.js';

const VIEWS = {
  curve: { title: 'Collective', make: curveView, starts: curveStarts },
  log: { title: 'Log', make: logView, starts: logStarts },
  layouts: { title: 'Layouts', make: layoutsView, starts: layoutsStarts },
  machine: { title: 'Machine', make: machineView, starts: machineStarts },
  ask: { title: 'Any question', make: askView, starts: askStarts },
};
const OWN = new Set(['show', 'at', 'job', 'layout', 'question', 'b.on']);  // of the page, no fields of a question

const place = document.getElementById('view');
const note = document.getElementById('note');
const kept = {};  // logs, which stay in this page
let model, known, shown, values;

function names() {
  const out = new Set(OWN);
  for (const question of known.questions) for (const field of question.fields) for (const prefix of ['',
      'b.']) out.add(prefix + field.name);
  return out;
}

/** Draws the view that the address names. */
function show() {
  const read = readAddress(location.hash, Object.keys(VIEWS));
  const view = VIEWS[read.view];
  const all = names();
  const strange = Object.keys(read.fields).filter((name) => !all.has(name));
  note.textContent = read.note
      || (strange.length > 0 ? `This link has what this page does not know: ${strange.join(', ').slice(0, 200)}. It is left out.` : '');
  note.hidden = !note.textContent;
  for (const name of strange) delete read.fields[name];
  values = { ...view.starts, ...read.fields };
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view === read.view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${view.title} · fabricost`;
  shown = { name: read.view, ...view.make({ model, known, values, change, restart, kept }) };
  place.replaceChildren(shown.root);
  shown.update();
}

/** A value has changed. \param commit false while a slider moves: the address follows when it stops; redraw: the form changes, too */
function change(name, value, { commit = true, redraw = false } = {}) {
  if (value === undefined) delete values[name];
  else values[name] = value;
  if (value === undefined && name in VIEWS[shown.name].starts) values[name] = '';
  const next = address(shown.name, values, VIEWS[shown.name].starts);
  if (commit && next !== location.hash) history.pushState(null, '', next);
  if (redraw) {
    const focus = document.activeElement?.name;
    show();
    if (focus) place.querySelector(`[name="${CSS.escape(focus)}"]`)?.focus();
  } else shown.update();
}

/** The view from other values. */
function restart(fields) {
  const starts = VIEWS[shown.name].starts;
  const cleared = Object.fromEntries(Object.keys(starts).map((name) => [name, '']));
  history.pushState(null, '', address(shown.name, { ...cleared, ...fields }, starts));
  show();
}

async function begin() {
  const began = performance.now();
  try {
    model = await Model.start();
  } catch (error) {
    place.replaceChildren(el('p', { class: 'error', role: 'alert' },
        `The model does not start in this browser: ${error.message}. It needs WebAssembly with exceptions and DecompressionStream (browsers since 2023).`));
    return;
  }
  const got = await model.ask('questions', 'questions');
  const byName = new Map(got.answer.questions.map((q) => [q.name, q]));
  known = { questions: got.answer.questions, question: (name) => byName.get(name), systems: got.answer.systems,
      models: got.answer.models };
  document.getElementById('version').textContent = got.answer.version;
  window.fabricostAsk = (question, fields, files) => model.ask(Symbol(question), question, fields, files);  // for scripts and tests
  document.documentElement.dataset.ready = String(Math.round(performance.now() - began));
  document.documentElement.dataset.where = model.where;
  window.addEventListener('hashchange', show);
  show();
  tour(document.getElementById('tour'));
}

for (const [name, view] of Object.entries(VIEWS)) document.querySelector('nav ul').append(el('li', {},
    el('a', { href: `#v=1&view=${name}`, 'data-view': name }, view.title)));
if ('serviceWorker' in navigator && location.protocol.startsWith('http')
    && !document.getElementById('module-bytes')) navigator.serviceWorker.register('service-worker.js').catch(() => {});
begin();
