// Starts PyScript and watches the start, whatever part of it fails: the parts tell how far they are, or what is wrong,
// and silence for too long is wrong too. What the page was built with stays, and what was typed goes into the address,
// so that «Reintentar» finds it again. Once the page's own code computes, this has nothing more to say.

const root = document.documentElement;
const core = "./runtime/pyscript/core.js";
const silence = Number(root.dataset.silence ?? 30_000);

const starting = () => root.dataset.state === "loading";

const named = (path) => path.split("/").pop();

const all = (selector, action) => document.querySelectorAll(selector).forEach(action);

// The message

const fail = (how, detail = "") => {
  if (!starting()) return;
  root.dataset.state = "failed";
  clearTimeout(timer);
  console.warn("estimador:", how, detail);
  const words = document.querySelector(`template[data-cause="${how}"]`);
  const message = document.querySelector('template[data-say="failed"]');
  all("[data-status]", (line) => {
    const cause = document.createElement("span");
    cause.append(words.content.cloneNode(true));
    cause.querySelector("[data-detail]")?.append(detail);
    line.replaceChildren(cause, " ", message.content.cloneNode(true));
  });
};

// Silence

let timer;
const heard = () => {
  clearTimeout(timer);
  if (starting()) timer = setTimeout(() => fail("stalled", missing()), silence);
};

// The first file that was asked for and has not come, as far as the page can tell.
const missing = () => {
  const came = new Set(performance.getEntriesByType("resource").map((one) => one.name.split("/").pop()));
  return [named(core), "micropython.mjs", "micropython.wasm", "worker.py", "interpreter.mjs"].find((name) => !came.has(name)) ?? "";
};

// What the worker says

const told = ({ data }) => {
  if (data?.failed) fail(data.failed, data.file);
  if (!data?.total) return;
  heard();
  all("progress[data-progress]", (bar) => {
    bar.max = data.total;
    bar.value = data.loaded;
  });
};

const follow = () => {
  const worker = document.querySelector("script[name=estimador]")?.xworker;
  if (worker) worker.addEventListener("message", told);
  else if (starting()) setTimeout(follow, 20);
};

// What goes wrong on the page itself

const cause = (error) => {
  const text = String(error?.message ?? error);
  const file = /(micropython|core|interpreter|page|files|worker|combobox|controls|screen|address|exports|versus)[\w-]*\.(mjs|wasm|js|py)/.exec(text)?.[0];
  if (/wasm|WebAssembly/i.test(text)) return ["broken", file ?? "micropython.wasm"];
  if (file) return ["unreachable", file];
};

for (const type of ["error", "unhandledrejection"])
  addEventListener(type, (event) => {
    const found = starting() && cause(event.reason ?? event.error ?? event.message);
    if (found) fail(...found);
  });

document.addEventListener("cannot-start", () => fail("unknown"));

// What was typed: the controls that no longer hold what the page was built with, as the address writes them.

const value = (control) => (control.type === "checkbox" && !control.checked ? "no" : control.value);

const differs = (control) => {
  if (control.type === "checkbox") return control.checked !== control.defaultChecked;
  if (control.type === "radio") return control.checked && !control.defaultChecked;
  if (control.tagName === "SELECT") return ![...control.options].some((one) => one.selected && one.defaultSelected);
  return control.value !== control.defaultValue;
};

const remember = () => {
  const typed = [...document.querySelectorAll("form[data-calculator] [name]")].filter((one) => !one.disabled && differs(one));
  const parts = typed.map((one) => `${encodeURIComponent(one.name)}=${encodeURIComponent(value(one))}`).sort();
  parts.push(...location.hash.slice(1).split("&").filter((part) => part.startsWith("vs=")));
  if (parts.length) history.replaceState(null, "", `#${parts.join("&")}`);
};

addEventListener(
  "click",
  (event) => {
    if (!event.target.closest?.("[data-action=retry], .no-start a")) return;
    if (root.dataset.state !== "ready") remember();
    event.preventDefault();
    location.reload();
  },
  { capture: true },
);

const start = async () => {
  heard();
  if (typeof WebAssembly === "undefined") return fail("webassembly");
  follow();
  await import(core).catch((error) => fail("unreachable", `${named(core)} (${error.message})`));
};

start();
