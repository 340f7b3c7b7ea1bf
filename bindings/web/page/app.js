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
  log: { title: 'Log', make: logView, starts: logStarts, all: true },
  layouts: { title: 'Layouts', make: layoutsView, starts: layoutsStarts, all: true },
  machine: { title: 'Machine', make: machineView, starts: machineStarts },
  ask: { title: 'Any question', make: askView, starts: askStarts, all: true },
};  // all: it asks what the module of the first view does not have
const OWN = new Set(['show', 'at', 'job', 'layout', 'question', 'b.on']);  // of the page, no fields of a question

const place = document.getElementById('view');
const note = document.getElementById('note');
document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); place.focus(); });
const kept = {};  // logs, which stay in this page
let model, known, shown, values;

function names() {
  const out = new Set(OWN);
  for (const question of known.questions) for (const field of question.fields) for (const prefix of ['',
      'b.']) out.add(prefix + field.name);
  return out;
}

/** Says in the navigation and in the title which view it is. */
function mark(name) {
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${VIEWS[name].title} · fabricost`;
}

/** Asks the model for its questions, systems and models. */
async function learn() {
  const { answer } = await model.ask(Symbol('questions'), 'questions');
  const byName = new Map(answer.questions.map((q) => [q.name, q]));
  known = { questions: answer.questions, question: (name) => byName.get(name), systems: answer.systems, models: answer.models,
      version: answer.version, terms: answer.terms };
}

let loading = 0;  // counts, so that a view that was left while it loaded is not shown
/** Draws the view that the address names. */
async function show() {
  const read = readAddress(location.hash, Object.keys(VIEWS));
  const view = VIEWS[read.view];
  const mine = ++loading;
  if (view.all && !model.hasAll) {
    shown = null;
    mark(read.view);
    place.replaceChildren(el('p', { class: 'waiting', role: 'status' }, 'The model of this view is loading …'));
    try {
      await model.loadAll();
      await learn();
    } catch (error) {
      if (mine === loading) place.replaceChildren(el('p', { class: 'error', role: 'alert' },
          `The model of this view could not be loaded: ${error.message}. A page on the web needs the network once for it. `),
          el('button', { type: 'button', onclick: show }, 'Try again'));
      return;
    }
    if (mine !== loading) return;
  }
  const all = names();
  const strange = Object.keys(read.fields).filter((name) => !all.has(name));
  note.textContent = read.note
      || (strange.length > 0 ? `This link has what this page does not know: ${strange.join(', ').slice(0, 200)}. It is left out.` : '');
  note.hidden = !note.textContent;
  for (const name of strange) delete read.fields[name];
  values = { ...view.starts, ...read.fields };
  mark(read.view);
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
        `The model does not start in this browser: ${error.message}. It needs WebAssembly with exceptions and DecompressionStream: Chromium 97, Firefox 113, Safari 16.4, or later.`));
    return;
  }
  await learn();
  document.getElementById('version').textContent = known.version;
  window.fabricostAsk = async (question, fields, files) => {  // for scripts and tests
    if (!known.question(fields?.question ?? question)) await model.loadAll();
    return model.ask(Symbol(question), question, fields, files);
  };
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
