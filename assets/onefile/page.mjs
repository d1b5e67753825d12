// The one-file edition: shows one page of the site at a time, chosen by the fragment (#/inferencia?context=4096), and
// runs the site's own page code on MicroPython and its worker on Pyodide, out of parts that this very file holds.
const part = (name) => document.querySelector(`script[data-part="${name}"]`).textContent;

const inflated = (name, type) => {
  const binary = Uint8Array.from(atob(part(name)), (letter) => letter.charCodeAt(0));
  const plain = new Blob([binary]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(plain, { headers: { "content-type": type } });
};

const root = document.documentElement;
const main = document.querySelector("main");
const pages = new Map([...document.querySelectorAll("template[data-page]")].map((one) => [one.dataset.page, one]));
const first = pages.keys().next().value;

// Addresses

const place = () => {
  const [, name = "", inputs = "", anchor = ""] = /^#\/(\w*)(?:\?([^#]*))?(?:#(.*))?$/.exec(location.hash) ?? [];
  return { name: pages.has(name) ? name : first, inputs, anchor };
};

// What a link of the site is called here: "../metodo/#metodo-limites" is "#/metodo#metodo-limites".
const here = (link) => {
  const address = link.getAttribute("href");
  const found = /^(?:\.{1,2}\/)*(?:(\w+)\/)?[^#/:]*(?:#(.*))?$/.exec(address);
  if (!found || !address || address.startsWith("#")) return null;
  const [, name = first, rest] = found;
  return `#/${name}${rest ? (rest.includes("=") ? "?" : "#") + rest : ""}`;
};

// The worker, one for all pages

const calls = new Map();

// A classic worker, with Pyodide's own scripts inside: Chromium starts no module from a blob of a file, and in WebKit the
// worker of a file imports nothing.
const startWorker = async () => {
  const scripts = ["pyodide.js", "pyodide.asm.js"].map((name) => inflated(name, "text/javascript").text());
  const text = [...(await Promise.all(scripts)), part("worker.js")].join("\n");
  const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  const names = ["pyodide.asm.wasm", "library.pack", "app.pack"];
  const parts = Object.fromEntries(names.map((name) => [name, part(name)]));
  worker.postMessage({ parts, worker: part("worker.py"), lock: JSON.parse(part("lock.json")) });
  const started = new Promise((resolve, reject) => {
    worker.onerror = (event) => reject(event.message ?? "worker");
    worker.onmessage = ({ data }) => {
      if (data.started) resolve(data.started);
      else if (data.failed) reject(data.failed);
      else if (calls.has(data.id)) {
        const [resolved, rejected] = calls.get(data.id);
        calls.delete(data.id);
        if ("error" in data) rejected(data.error);
        else resolved(data.result);
      }
    };
  });
  started.catch(() => {});
  return { worker, started };
};

let count = 0;
const running = startWorker();
const started = running.then((one) => one.started);
started.catch(() => {});
const call = (name, args) =>
  new Promise((...settle) => {
    calls.set(++count, settle);
    const message = { id: count, name, args };
    running.then(({ worker }) => worker.postMessage(message));
  });

// What page code does to the document and to time, undone when another page takes its place

let visit = { name: null, left: new AbortController(), timers: new Set() };

for (const target of [document, window]) {
  const listen = target.addEventListener.bind(target);
  target.addEventListener = (type, action, options) =>
    listen(type, action, { ...(typeof options === "object" ? options : {}), signal: visit.left.signal });
}

const own = {
  location: {
    pathname: "",
    search: "",
    get hash() {
      return location.hash.startsWith("#/") || !location.hash ? `#${place().inputs}` : location.hash;
    },
    get href() {
      return location.href;
    },
    reload: () => location.reload(),
  },
  history: {
    replaceState: (state, title, fragment) =>
      history.replaceState(null, "", `#/${visit.name}${fragment ? `?${fragment.slice(1)}` : ""}`),
  },
  setTimeout: (action, milliseconds) => {
    const timer = setTimeout(action, milliseconds);
    visit.timers.add(timer);
    return timer;
  },
  clearTimeout: (timer) => clearTimeout(timer),
};

const browser = new Proxy(globalThis, {
  get: (target, name) => {
    const value = name in own ? own[name] : target[name];
    return typeof value === "function" && !value.prototype ? value.bind(target) : value;
  },
});

// The functions that worker.py exports; an answer for a page that has been left is dropped.
const handOut = (names) => {
  const { signal } = visit.left;
  const gated = (name) => (...args) =>
    new Promise((resolve, reject) =>
      call(name, args).then(
        (result) => signal.aborted || resolve(result),
        (error) => signal.aborted || reject(error),
      ),
    );
  return Object.fromEntries(names.map((name) => [name, gated(name)]));
};

const startPython = async () => {
  const code = await inflated("micropython.mjs", "text/javascript").blob();
  const { loadMicroPython } = await import(URL.createObjectURL(code));
  globalThis.fetch = async () => inflated("micropython.wasm", "application/wasm");
  const python = await loadMicroPython({ url: "archivo://micropython.wasm", stderr: console.error, stdout: console.log });
  python.registerJsModule("js", browser);
  for (const module of document.querySelectorAll("script[data-module]"))
    python.FS.writeFile(module.dataset.module, module.textContent);
  return python;
};

// One page at a time

const show = async ({ name, anchor }) => {
  visit.left.abort();
  visit.timers.forEach(clearTimeout);
  const mine = (visit = { name, left: new AbortController(), timers: new Set() });
  const page = pages.get(name);
  main.replaceChildren(page.content.cloneNode(true));
  document.title = page.dataset.title;
  root.dataset.state = page.dataset.code ? "loading" : "ready";
  for (const link of document.querySelectorAll("a[href]")) {
    const address = here(link);
    if (address) link.setAttribute("href", address);
  }
  for (const link of document.querySelectorAll("nav a")) {
    link.removeAttribute("aria-current");
    if (link.getAttribute("href").split("?")[0] === `#/${name}`) link.setAttribute("aria-current", "page");
  }
  if (!page.dataset.code) return go(anchor);
  const python = await mpy;
  if (visit !== mine) return;
  python.registerJsModule("polyscript", { workers: { estimador: started.then(handOut) } });
  python.runPython(part(page.dataset.code));
  go(anchor);
};

const go = (anchor) => {
  const target = anchor && document.getElementById(anchor);
  if (target) target.scrollIntoView();
};

const moved = () => {
  const wanted = place();
  if (!location.hash.startsWith("#/") && location.hash) return;
  if (wanted.name === visit.name) return go(wanted.anchor);
  scrollTo(0, 0);
  show(wanted).catch(cannotStart);
  main.focus({ preventScroll: true });
};

const cannotStart = (error) => {
  console.warn("estimador:", error);
  root.dataset.state = "failed";
  const words = document.querySelector("template[data-say=failed]");
  document.querySelector("[data-status]")?.replaceChildren(words.content.cloneNode(true));
};

EventTarget.prototype.addEventListener.call(window, "hashchange", moved);
EventTarget.prototype.addEventListener.call(document, "click", (event) => {
  const link = event.target.closest("a[href]");
  const address = link && here(link);
  if (!address) return;
  event.preventDefault();
  location.hash = address;
});

const mpy = startPython();
show(place()).catch(cannotStart);
