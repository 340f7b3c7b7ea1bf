// Answers questions of stdin, one JSON a line, by a module: node ask.mjs MODULE_FOLDER [first | all]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';

const folder = resolve(process.argv[2]);
const which = process.argv[3] ?? 'all';
globalThis.self = globalThis;
globalThis.fabricostModule = createRequire(import.meta.url)(`${folder}/fabricost-all.js`);
const began = performance.now();
const page = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../../bindings/web/page/worker.js');
(0, eval)(readFileSync(page, 'utf8'));
const answer = await globalThis.fabricostAnswerer(readFileSync(`${folder}/fabricost-${which}.wasm`));
process.stderr.write(`ready after ${(performance.now() - began).toFixed(0)} ms\n`);
for await (const line of createInterface({ input: process.stdin })) if (line) process.stdout.write(answer(line) + '\n');
