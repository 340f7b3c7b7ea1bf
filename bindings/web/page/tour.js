// A tour of three steps, where it is asked for.

import { el } from './dom.js';

const STEPS = [
  ['Choose a machine and an operation',
      'The curve is what the model predicts; the band holds nine measurements in ten. Choose another machine, or more nodes, at the left.', '.side'],
  ['Look at one size', 'Click the curve or move the slider below it: what runs, what the time is made of, and what would change it.',
      '.result'],
  ['Drag the machine',
      'The parameters change the machine itself, as a faster NIC. The address in the bar always holds what you see: mail it.', '.parameter'],
];

export function tour(button) {
  const box = el('dialog', { class: 'tour', 'aria-label': 'Tour' });
  document.body.append(box);
  const close = () => { box.close(); document.querySelector('.toured')?.classList.remove('toured'); };
  const step = (at) => {
    document.querySelector('.toured')?.classList.remove('toured');
    const [title, words, where] = STEPS[at];
    document.querySelector(where)?.classList.add('toured');
    box.classList.toggle('at-left', where === '.result');  // not over what it speaks of
    box.replaceChildren(el('p', { class: 'hint' }, `Step ${at + 1} of ${STEPS.length}`), el('h2', {}, title), el('p', {}, words),
      el('div', { class: 'toolbar' }, at > 0 ? el('button', { type: 'button', onclick: () => step(at - 1) }, 'Back') : null,
        at + 1 < STEPS.length ? el('button', { type: 'button', class: 'first', onclick: () => step(at + 1) }, 'Next') : null,
            el('button', { type: 'button', onclick: close }, at + 1 < STEPS.length ? 'Skip' : 'Done')));
    if (!box.open) box.show();
    box.querySelector('button.first, button')?.focus();
  };
  box.addEventListener('keydown', (event) => { if (event.key === 'Escape') close(); });
  button.addEventListener('click', () => { if (!document.querySelector('.parameter')) location.hash = '#v=1&view=curve'; step(0); });
}
