// The interpreter that pyscript.toml names, served beside Pyodide's own files. It starts Pyodide with our compiled
// library, tells the page how far it is, and turns a missing or broken file into an error: Pyodide alone would wait
// in silence for ever. Responses pass untouched, so that the browser can keep the compiled WebAssembly.
import { loadPyodide as load, version } from "./pyodide.mjs";

export { version };

const base = new URL("./", import.meta.url).href;
const lock = "PYODIDE_LOCK";

// What loadPyodide asks of the worker's globals, watched: each good answer is a step, each bad one the end.
const watch = (owner, name, fail, check) => {
  const original = owner[name];
  owner[name] = async (...args) => {
    try {
      const result = await original.apply(owner, args);
      check(result);
      postMessage({ step: name });
      return result;
    } catch (error) {
      fail(error);
      throw error;
    }
  };
  return () => (owner[name] = original);
};

const found = (response) => {
  if (!response.ok) throw new Error(`${response.status} ${response.url}`);
};

export async function loadPyodide(options) {
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  const undo = [
    watch(globalThis, "fetch", fail, found),
    watch(WebAssembly, "instantiateStreaming", fail, () => {}),
  ];
  const started = load({
    ...options,
    stdLibURL: `${base}library.zip`,
    lockFileContents: lock,
    packageBaseUrl: base,
  });
  try {
    const pyodide = await Promise.race([started, failed]);
    postMessage({ step: "loadPyodide" });
    return pyodide;
  } finally {
    undo.forEach((restore) => restore());
  }
}
