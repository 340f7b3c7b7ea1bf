// The model behind a worker: questions go in as JSON, answers come back. Of questions in the same slot only the newest counts: an older
// one that still waits is never asked, and its late answer is dropped. Where a worker cannot start, the page's own thread answers. What the
// first view asks is in a module of its own; the one with everything is loaded when a view needs it.

const unpacked = (packed) => new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();

const inside = document.getElementById('module-bytes');

/** The bytes of a module: 'first' answers what the first view asks, 'all' everything. Inside the page (pack.py) there is one of them. */
async function moduleBytes(which) {
  if (inside && which === 'all') throw new Error('this file holds only the model of the first view; fabricost.html has all');
  if (inside) return unpacked(new Blob([bytesOf(inside.textContent, Number(inside.dataset.size))]));
  const name = `fabricost-${which}.wasm.gz`;
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return unpacked(await response.blob());
}

/** Bytes from text of seven bits a character; one of more than seven is one of SPARED and the next seven (pack.py). */
const SPARED = [0, 13, 60];
function bytesOf(text, size) {
  const out = new Uint8Array(size);
  let at = 0, kept = 0, bits = 0;
  const take = (seven) => {
    kept = ((kept << 7) | seven) & 0x7fff;
    bits += 7;
    if (bits >= 8) out[at++] = kept >> (bits -= 8);
  };
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code > 127) take(SPARED[(code >> 7) - 1]);
    take(code & 127);
  }
  return out;
}

/** The worker's text: beside the page, or inside it. */
function workerAddress() {
  const inside = document.getElementById('worker-text');
  return inside ? URL.createObjectURL(new Blob([inside.textContent], { type: 'text/javascript' })) : 'worker.js';
}

/** The model in a worker: {ask, load, stop}; answers come to its `answered`. */
async function startWorker(bytes) {
  const worker = new Worker(workerAddress());
  let loading;  // how the loading of a module ends
  const failed = (event) => loading.reject(new Error(event.message || 'the worker does not start'));
  const handle = {
    answered: null,
    ask: (message) => worker.postMessage(message),
    load: (module) => new Promise((resolve, reject) => { loading = { resolve, reject }; worker.postMessage({ bytes: module }); }),
    stop: () => worker.terminate(),
  };
  await new Promise((resolve, reject) => {
    loading = { reject };
    worker.onerror = failed;
    worker.onmessage = resolve;
    setTimeout(() => reject(new Error('the worker does not answer')), LATEST);  // WebKitGTK starts none from a file
  });
  worker.onmessage = ({ data }) => {
    if (data.loaded) loading.resolve();
    else if (data.unloaded) loading.reject(new Error(data.unloaded));
    else handle.answered(data);
  };
  await handle.load(bytes);
  return handle;
}

/** The same on this thread. */
async function startHere(bytes) {
  const load = (address) => new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = address;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${address} does not load`));
    document.head.append(script);
  });
  if (!self.fabricostAnswerer) {
    if (!document.getElementById('worker-text')) await load('fabricost.js');
    await load(workerAddress());
  }
  let answer;
  const handle = {
    answered: null,
    ask: ({ id, request }) => setTimeout(() => handle.answered({ id, answer: answer(request) })),
    load: async (module) => { answer = await self.fabricostAnswerer(module); },
    stop: () => {},
  };
  await handle.load(bytes);
  return handle;
}

const LATEST = 1500;  // ms until a worker says that it is there; else the page's thread answers

export class Model {
  #worker;
  #bytes;
  #busy = null;
  #waiting = new Map(); // by slot, in the order of asking
  #id = 0;
  #all = null; // the loading of the module with everything

  /** Ready to be asked what the first view asks. */
  static async start() {
    const model = new Model();
    model.hasAll = inside?.dataset.holds === 'all';
    model.#bytes = await moduleBytes('first');
    await model.#restart();
    return model;
  }

  /** Ready to be asked everything: the other module takes the place of the first. */
  loadAll() {
    if (this.hasAll) return Promise.resolve();
    const load = async () => {
      const bytes = await moduleBytes('all');
      await this.#worker.load(bytes);
      this.#bytes = bytes;
      this.hasAll = true;
    };
    this.#all ??= load().finally(() => { this.#all = null; });
    return this.#all;
  }

  async #restart() {
    try {
      this.#worker = await startWorker(this.#bytes);
      this.where = 'worker';
    } catch {
      this.#worker = await startHere(this.#bytes);
      this.where = 'page';
    }
    this.#worker.answered = (data) => this.#answered(data);
  }

  /** {answer, text} or {error}; null where a newer question of the slot overtook it. */
  ask(slot, question, fields = {}, files = undefined) {
    return new Promise((resolve) => {
      this.#waiting.get(slot)?.resolve(null);
      this.#waiting.delete(slot);
      this.#waiting.set(slot, { slot, id: ++this.#id, request: JSON.stringify({ question, fields, files }), resolve });
      this.#next();
    });
  }

  #next() {
    if (this.#busy || this.#waiting.size === 0) return;
    const [slot, first] = this.#waiting.entries().next().value;
    this.#waiting.delete(slot);
    this.#busy = first;
    this.#worker.ask({ id: first.id, request: first.request });
  }

  #answered(data) {
    const asked = this.#busy;
    this.#busy = null;
    if (data.fault) this.#worker.stop();
    const overtaken = this.#waiting.has(asked.slot);
    asked.resolve(overtaken ? null : data.fault ? { error: { text: data.fault, field: '' } } : JSON.parse(data.answer));
    if (data.fault) this.#restart().then(() => this.#next());
    else this.#next();
  }
}
