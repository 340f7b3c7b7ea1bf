// The exports: the link, the same question for the command, Python and C++, and the answer as CSV, JSON, SVG and PNG.

import { details, el } from './dom.js';

function save(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A cell as text/csv.cpp writes it: an apostrophe before what a spreadsheet would take for a formula, nothing that acts on a terminal. */
function cell(value) {
  let text = String(value).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, ' ');
  if (/^ *[=+@-]./.test(text) && !/^[+-]?(\d|\.\d)[\d.]*(e[+-]?\d+)?$/i.test(text)) text = `'${text}`;
  return /[",]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
export const csv = ({ head, body }) => [head, ...body].map((row) => row.map(cell).join(',')).join('\n') + '\n';

/** A picture with its colours inside, so that it looks the same elsewhere. */
function alone(picture) {
  const copy = picture.cloneNode(true);
  const from = [picture, ...picture.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'fill-opacity', 'font-size', 'font-family',
        'opacity']) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  const box = picture.viewBox.baseVal;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', box.width);
  copy.setAttribute('height', box.height);
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  return { text: new XMLSerializer().serializeToString(copy), width: box.width, height: box.height };
}

async function png(picture) {
  const { text, width, height } = alone(picture);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el('canvas', { width: 2 * width, height: 2 * height });
  canvas.getContext('2d').drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

/** Copies, and says so. */
async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = 'Copied.';
  } catch {
    said.textContent = 'The browser does not let this page copy; mark the text and copy it.';
  }
  setTimeout(() => { said.textContent = ''; }, 4000);
}

/** \param rows {head, body} or null; picture an SVG element or null; fields those of the question */
export function exportsOf({ model }, { question, fields, answer, rows, picture, name }) {
  const said = el('span', { role: 'status' });
  const place = el('div', {});
  const file = name.replace(/[^\w.-]+/g, '-');
  const button = (text, work) => el('button', { type: 'button', onclick: work }, text);
  const code = details('The same in the command, Python, C++', place);
  code.addEventListener('toggle', async () => {
    if (!code.open || place.firstChild) return;
    const got = await model.ask('code', 'code', { question, fields });
    if (!got) return;
    if (got.error) return place.replaceChildren(el('p', {}, got.error.text));
    const names = { command: 'Command', python: 'Python', cpp: 'C++' };
    place.replaceChildren(...Object.entries(got.answer).flatMap(([key, text]) =>
        [el('h4', {}, names[key]), el('pre', { class: `code ${key}`, tabindex: '0' }, text.trimEnd()),
        button(`Copy as ${names[key]}`, () => copy(text, said))]));
  });
  return el('section', { class: 'exports', 'aria-label': 'Share and save' },
    el('div', { class: 'toolbar' }, button('Copy the link', () => copy(location.href, said)),
      rows ? button('CSV', () => save(`${file}.csv`, 'text/csv', csv(rows))) : null,
      button('JSON', () => save(`${file}.json`, 'application/json', JSON.stringify(answer, null, 2) + '\n')),
      picture ? button('SVG', () => save(`${file}.svg`, 'image/svg+xml', alone(picture).text)) : null,
      picture ? button('PNG', async () => save(`${file}.png`, 'image/png', await png(picture))) : null, said), code);
}
