// Small helpers for elements; texts are always set as texts.

const SVG = 'http://www.w3.org/2000/svg';

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name === 'style') made.style.cssText = value;  // as an attribute the page's policy refuses it
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== ''));
  return made;
}
export const el = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

/** A table with a caption and a header; cells are texts or elements, numbers stand to the right. */
export function table(caption, head, rows) {
  const cell = (value) =>
      el('td', { class: typeof value === 'number' || /^[-\d.,]+( \S{1,4})?$/.test(value) ? 'number' : null }, value instanceof Node
      ? value : String(value ?? ''));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    el('table', {}, el('caption', {}, caption), el('thead', {}, el('tr', {}, head.map((h) => el('th', { scope: 'col' }, h)))),
      el('tbody', {}, rows.map((row) => el('tr', {}, row.map(cell))))));
}

export const details = (summary, ...children) => el('details', {}, el('summary', {}, summary), ...children);
