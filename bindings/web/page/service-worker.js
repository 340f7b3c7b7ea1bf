// Keeps the page's files, so that it works without a network after one visit; LATER, what a view loads when it is opened, is kept once it was
// loaded. NAME changes with them.

const NAME = 'fabricost-@NAME@';
const FILES = @FILES@;
const LATER = @LATER@;

self.addEventListener('install',
    (event) => event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting())));
self.addEventListener('activate',
    (event) =>
    event.waitUntil(caches.keys().then((all) =>
    Promise.all(all.filter((n) => n.startsWith('fabricost-') && n !== NAME).map((n) => caches.delete(n)))).then(() =>
    self.clients.claim())));

async function answered(request) {
  const kept = await caches.match(request, { ignoreSearch: true, cacheName: NAME });
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok && LATER.some((name) => new URL(request.url).pathname.endsWith(`/${name}`)))
    await (await caches.open(NAME)).put(request, response.clone());
  return response;
}
self.addEventListener('fetch', (event) => {
  if (event.request.method === 'GET') event.respondWith(answered(event.request));
});
