// Controls made from what the module tells of a question's fields: name, words, type, unit, range, default, choices.

import { details, el } from './dom.js';

/** Machines, then clusters. */
function machineOptions(systems, chosen) {
  const group = (label, all) =>
      el('optgroup', { label }, all.map((one) => el('option', { value: one.name, selected: one.name === chosen }, one.name)));
  return [group('machines', systems.filter((one) => !one.cluster)), group('clusters', systems.filter((one) => one.cluster))];
}

const hintOf = (field) => {
  const range = field.min !== undefined && field.max !== undefined && field.max < 1e6 ? ` From ${field.min} to ${field.max}.` : '';
  return field.words + (/[.)]$/.test(field.words) ? '' : '.') + range;
};

/** The control of one field. \param change called with (name, value) when a person is done with it */
export function control(field, value, known, change, prefix = '') {
  const id = `field-${prefix}${field.name}`;
  const common = { id, name: prefix + field.name, 'aria-describedby': `${id}-hint ${id}-error` };
  const done = (event) => change(prefix + field.name, event.target.value);
  let input;
  if (field.type === 'flag') {
    const standing = field.default === true;
    input = el('input', { ...common, type: 'checkbox', checked: value === undefined ? standing : String(value) === 'true',
      onchange: (e) => change(prefix + field.name, e.target.checked === standing ? undefined : String(e.target.checked)) });
  } else if (field.type === 'machine' || field.type === 'choice' || field.type === 'model') {
    const options = field.type === 'machine' ? machineOptions(known.systems, value)
      : (field.type === 'model' ? known.models
          : field.choices).map((one) => el('option', { value: one, selected: String(value ?? '') === one }, one));
    const listed = field.type === 'machine' ? known.systems.some((s) => s.name === value) : options.some((o) => o.value === value);
    const unset = field.default ? `default: ${field.default}` : field.needed ? 'choose' : 'not set';
    input = el('select', { ...common, onchange: done }, el('option', { value: '' }, unset),
      value && !listed ? el('option', { value, selected: true }, value) : null, options);
  } else if (field.type === 'texts' || field.type === 'machines') {
    input = el('textarea',
        { ...common, rows: 2, spellcheck: 'false', placeholder: field.type === 'machines' ? 'one name a line'
        : `${field.kind}, one a line`,
      onchange: (e) => change(prefix + field.name, e.target.value.split('\n').map((l) => l.trim()).filter(Boolean)) });
    input.value = [].concat(value ?? []).join('\n');
  } else {
    input = el('input', { ...common, type: 'text', value: value ?? '', autocomplete: 'off', spellcheck: 'false',
      inputmode: field.amount === 'count' ? 'numeric' : null, placeholder: field.default ? `default: ${field.default}`
          : null, onchange: done });
  }
  if (field.needed) input.required = true;
  return el('div', { class: `field ${field.type}` }, el('label', { for: id }, field.name.replaceAll('_', ' ')), input,
    el('p', { id: `${id}-hint`, class: 'hint' }, hintOf(field)),
        el('p', { id: `${id}-error`, class: 'error', role: 'alert', hidden: true }));
}

/** First fields in view, the others behind a summary, which is open where one of them is set. */
export function form(fields, values, known, change, { first, prefix = '', hidden = [] }) {
  const made = (field) => control(field, values[prefix + field.name], known, change, prefix);
  const shown = fields.filter((f) => !hidden.includes(f.name) && f.type !== 'file' && f.type !== 'files');
  const front = first.map((name) => shown.find((f) => f.name === name)).filter(Boolean);
  const rest = shown.filter((f) => !first.includes(f.name));
  const more = details(`${rest.length} more fields`, el('div', { class: 'fields' }, rest.map(made)));
  more.open = rest.some((f) => values[prefix + f.name] !== undefined);
  return el('form', { onsubmit: (e) => e.preventDefault() }, el('div', { class: 'fields' }, front.map(made)), rest.length > 0 ? more
      : null);
}

/** Shows an error at its field, or gives it back for another place. */
export function showError(root, error, prefix = '') {
  for (const old of root.querySelectorAll(`.error[id^="field-${prefix}"]`)) old.hidden = true;
  for (const old of root.querySelectorAll('[aria-invalid]')) if (old.name.startsWith(prefix)) old.removeAttribute('aria-invalid');
  if (!error) return false;
  const input = error.field ? root.querySelector(`[name="${CSS.escape(prefix + error.field)}"]`) : null;
  if (!input) return false;
  const place = root.querySelector(`#${CSS.escape(`field-${prefix}${error.field}-error`)}`);
  place.textContent = error.text;
  place.hidden = false;
  input.setAttribute('aria-invalid', 'true');
  input.closest('details')?.setAttribute('open', '');
  return true;
}

/** Fields for a question: what is set, without those of other prefixes or names that it does not have. */
export function fieldsOf(question, values, prefix = '') {
  const out = {};
  for (const field of question.fields) {
    const value = values[prefix + field.name];
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) continue;
    if (field.type === 'flag') out[field.name] = String(value) === 'true';
    else if (['texts', 'machines', 'files'].includes(field.type)) out[field.name] = [].concat(value);
    else out[field.name] = value;
  }
  return out;
}
