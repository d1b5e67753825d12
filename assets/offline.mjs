// Keeps the site for later without a network, in the browsers that can: registers the service worker once the page
// has started, says quietly when there is a new version, and mends what was kept before a failed start is tried again.
// Where service workers are missing or refused (file://, plain http, private windows) nothing of this happens.
const ADDRESS_MS = 300; // what page.py takes to write the last input into the address
const REPAIR_MS = 10_000;

const root = document.documentElement;
const site = new URL("../", import.meta.url).href;

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const loaded = () =>
  new Promise((done) => {
    if (document.readyState === "complete") done();
    else addEventListener("load", done, { once: true });
  });

// A page without Python has no state and is ready once it is loaded.
const ready = () =>
  new Promise((done) => {
    const look = () => ["loading", "failed"].includes(root.dataset.state) || done(observer.disconnect());
    const observer = new MutationObserver(look);
    observer.observe(root, { attributes: true, attributeFilter: ["data-state"] });
    look();
  });

const once = (worker, state, action) => {
  const look = () => worker.state === state && action();
  worker.addEventListener("statechange", look);
  look();
};

const announce = () => document.querySelectorAll("[data-update]").forEach((line) => (line.hidden = false));

const follow = (registration) => {
  const arrived = (worker) => worker && once(worker, "installed", () => registration.active && announce());
  arrived(registration.waiting);
  arrived(registration.installing);
  registration.addEventListener("updatefound", () => arrived(registration.installing));
};

const update = async (registration) => {
  await pause(ADDRESS_MS);
  const waiting = registration?.waiting;
  if (!waiting) return location.reload();
  once(waiting, "activated", () => location.reload());
  waiting.postMessage("activate");
};

const repair = (worker) =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    setTimeout(done, REPAIR_MS);
    worker.postMessage("repair", [port2]);
  });

const start = async () => {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  // Another tab asked for the new version. What has started goes on with what it holds; what has not starts afresh.
  workers.addEventListener("controllerchange", () => (root.dataset.state === "loading" ? location.reload() : announce()));
  addEventListener(
    "click",
    async (event) => {
      if (event.target.closest("[data-action=update]")) await update(await workers.getRegistration(site));
      if (!workers.controller || !event.target.closest("[data-action=retry], .no-start a")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      await repair(workers.controller);
      location.reload();
    },
    { capture: true },
  );
  await loaded();
  const known = await workers.getRegistration(site);
  if (known) return follow(known);
  await ready();
  follow(await workers.register(`${site}service-worker.js`));
};

start().catch((error) => console.info("sin modo sin conexión:", error));
