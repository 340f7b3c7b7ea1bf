// Numbers as people read them. Only how they are printed: units come with the answers.

export const digits = (x, n = 3) =>
    (x === 0 ? '0' : Math.abs(x) >= 1e15 || Math.abs(x) < 1e-4 ? x.toExponential(n - 1)
    : Number(x.toPrecision(n)).toLocaleString('en-US', { maximumSignificantDigits: Math.max(n, 1) }));

export function time(us) {
  if (us === 0) return '0 s';
  if (us < 1e3) return `${digits(us)} µs`;
  if (us < 1e6) return `${digits(us / 1e3)} ms`;
  return `${digits(us / 1e6)} s`;
}
export const seconds = (s) => time(s * 1e6);

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
export function size(bytes) {
  let at = 0;
  while (bytes >= 1024 && at + 1 < BINARY.length) {
    bytes /= 1024;
    at += 1;
  }
  return `${digits(bytes, 4)} ${BINARY[at]}`;
}
export const rate = (gigabytes) => `${digits(gigabytes)} GB/s`;
export const percent = (x) => `${digits(100 * x, 3)} %`;
export const share = (part, whole) => (whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '');
