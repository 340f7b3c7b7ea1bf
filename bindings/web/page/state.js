// The state of the page, in its address: after # the version, the view, and each field that differs from where the view starts, with
// the names of the
// fields. Lists repeat their name. Logs are never part of it.

const VERSION = '1';

/** {view, fields, note}; fields: text, or a list of texts. */
export function readAddress(hash, views) {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const fields = Object.create(null);  // so that no name of a link is a property of every object
  let view = views[0];
  let note = '';
  for (const [name, value] of given) {
    if (name === 'v') {
      if (value !== VERSION) note = `This link is of version ${value.slice(0, 20)}; this page reads version ${VERSION}. Some of it may be lost.`;
    } else if (name === 'view') {
      if (views.includes(value)) view = value;
      else note = `This link names a view that is not here: ${value.slice(0, 40)}.`;
    } else if (name in fields) {
      fields[name] = [].concat(fields[name], value);
    } else {
      fields[name] = value;
    }
  }
  return { view, fields, note };
}

export function address(view, fields, starts) {
  const out = new URLSearchParams({ v: VERSION, view });
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || String(value) === String(starts[name] ?? '')) continue;
    for (const one of [].concat(value)) out.append(name, one);
  }
  return '#' + out.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
}
