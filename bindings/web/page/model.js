// The model behind a worker: questions go in as JSON, answers come back. Of questions in the same slot only the newest counts: an older
// one that still waits is never asked, and its late answer is dropped. Where a worker cannot start, the page's own thread answers.

/** The bytes of the module: beside the page, or inside it (pack.py). */
async function moduleBytes() {
  const inside = document.getElementById('module-bytes');
  let packed;
  if (inside) {
    const text = atob(inside.textContent.trim());
    packed = new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]);
  } else {
    const response = await fetch('fabricost.wasm.gz');
    if (!response.ok) throw new Error(`fabricost.wasm.gz: ${response.status}`);
    packed = await response.blob();
  }
  return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

/** The worker's text: beside the page, or inside it. */
function workerAddress() {
  const inside = document.getElementById('worker-text');
  return inside ? URL.createObjectURL(new Blob([inside.textContent], { type: 'text/javascript' })) : 'worker.js';
}

function startWorker(bytes) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerAddress());
    worker.onerror = (event) => reject(new Error(event.message || 'the worker does not start'));
    setTimeout(() => reject(new Error('the worker does not answer')), LATEST);  // of one that is never started
    worker.onmessage = ({ data }) => (data.ready ? resolve(worker) : reject(new Error(data.fault)));
    worker.postMessage({ bytes });
  });
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
  const answer = await self.fabricostAnswerer(bytes);
  const here = { onmessage: null,
      postMessage: ({ id, request }) => setTimeout(() => here.onmessage({ data: { id, answer: answer(request) } })) };
  return here;
}

const LATEST = 5000;  // ms for a worker to start; then the page's thread answers

export class Model {
  #worker;
  #bytes;
  #busy = null;
  #waiting = new Map(); // by slot, in the order of asking
  #id = 0;

  /** Ready to be asked. */
  static async start() {
    const model = new Model();
    model.#bytes = await moduleBytes();
    await model.#restart();
    return model;
  }

  async #restart() {
    try {
      this.#worker = await startWorker(this.#bytes);
      this.where = 'worker';
    } catch {
      this.#worker = await startHere(this.#bytes);
      this.where = 'page';
    }
    this.#worker.onmessage = ({ data }) => this.#answered(data);
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
    this.#worker.postMessage({ id: first.id, request: first.request });
  }

  #answered(data) {
    const asked = this.#busy;
    this.#busy = null;
    if (data.fault) this.#worker.terminate?.();
    const overtaken = this.#waiting.has(asked.slot);
    asked.resolve(overtaken ? null : data.fault ? { error: { text: data.fault, field: '' } } : JSON.parse(data.answer));
    if (data.fault) this.#restart().then(() => this.#next());
    else this.#next();
  }
}
