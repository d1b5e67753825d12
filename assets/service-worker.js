// The site without a network: keeps every file of one version of the site and serves it from there.
// build.py puts Workbox (core, routing, strategies, precaching) before this and the list of files in the place of
// PRECACHE: {url, revision, integrity}. A new version waits until a page asks for it or no page is open, its files
// stand beside the old ones until then, and no file enters whose hash is not in the list, so versions never mix.
const FILES = "PRECACHE";

const { core, precaching } = workbox;

// On user.github.io all projects of a user share the storage: the scope is part of the name.
core.setCacheNameDetails({ prefix: "calculadora-vram", suffix: registration.scope });

precaching.addPlugins([
  {
    // On the first visit the browser has just fetched most of this; an update must not meet old copies of ten minutes ago.
    requestWillFetch: async ({ request, event }) =>
      event.type === "install" ? new Request(request, { cache: registration.active ? "reload" : "default" }) : request,
  },
]);
precaching.precacheAndRoute(FILES, {
  directoryIndex: null,
  cleanURLs: false,
  ignoreURLParametersMatching: [/./],
});

const intact = async (response, integrity) => {
  if (!response) return false;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await response.arrayBuffer()));
  return integrity === `sha256-${btoa(String.fromCharCode(...hash))}`;
};

// Drop what is missing or damaged and fetch it again; without a network it stays out.
const repair = async () => {
  const cache = await caches.open(core.cacheNames.precache);
  for (const { url, integrity } of FILES) {
    const key = precaching.getCacheKeyForURL(url);
    if (await intact(await cache.match(key), integrity)) continue;
    await cache.delete(key);
    await fetch(url, { cache: "reload", integrity })
      .then((response) => cache.put(key, response))
      .catch(() => {});
  }
};

addEventListener("message", (event) => {
  if (event.data === "activate") skipWaiting();
  if (event.data === "repair") event.waitUntil(repair().finally(() => event.ports[0].postMessage("done")));
});
