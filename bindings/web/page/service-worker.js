// Keeps the page's files, so that it works without a network after one visit. NAME changes with them.

const NAME = 'fabricost-@NAME@';
const FILES = @FILES@;

self.addEventListener('install',
    (event) => event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting())));
self.addEventListener('activate',
    (event) =>
    event.waitUntil(caches.keys().then((all) =>
    Promise.all(all.filter((n) => n.startsWith('fabricost-') && n !== NAME).map((n) => caches.delete(n)))).then(() =>
    self.clients.claim())));
self.addEventListener('fetch', (event) => {
  if (event.request.method === 'GET') event.respondWith(caches.match(event.request,
      { ignoreSearch: true, cacheName: NAME }).then((kept) => kept ?? fetch(event.request)));
});
