// The interpreter that pyscript.toml names, served beside Pyodide's own files. It starts Pyodide with the parts that the
// page has asked for (parts.mjs): WebAssembly compiled already, our compiled library and our own code. A part that is not
// what it should be becomes an error that the page is told of: Pyodide alone would wait in silence for ever.
import { loadPyodide as load, version } from "./pyodide.mjs";

export { version };

const base = new URL("./", import.meta.url).href;
const lock = "PYODIDE_LOCK";
const APP = "/home/pyodide/app.zip";
const ASK_AGAIN_MS = 50;

class Broken extends Error {
  constructor(file, error) {
    super(`${file}: ${error?.message ?? error}`);
    this.file = file;
  }
}

// The page hands the parts over through a channel of ours: PyScript listens to the worker's own messages. It may not be
// there yet when it is first asked.
const part = {};
const handed = Object.fromEntries(["wasm", "library", "app"].map((name) => [name, new Promise((done) => (part[name] = done))]));
const ask = () => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => {
    clearInterval(asking);
    part[data.part](data.value);
  };
  postMessage({ wanted: "parts" }, [port2]);
};
const asking = setInterval(ask, ASK_AGAIN_MS);
ask();

const glue = import("./pyodide.asm.mjs").catch((error) => {
  postMessage({ failed: "unreachable", file: "pyodide.asm.mjs" });
  throw error;
});

// An archive of ours is a zip without compression inside one gzip stream: its files compress better together.
const unpacked = async (file, buffer) => {
  try {
    const plain = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(plain).arrayBuffer());
  } catch (error) {
    throw new Broken(file, error);
  }
};

const isZip = (buffer) => new TextDecoder().decode(buffer.slice(0, 2)) === "PK"; // the library as Pyodide ships it
const library = handed.library.then((buffer) => (isZip(buffer) ? new Uint8Array(buffer) : unpacked("library.pack", buffer)));
const app = handed.app.then((buffer) => unpacked("app.pack", buffer));
for (const one of [library, app, glue]) one.catch(() => {}); // whoever waits for it will say so

export async function loadPyodide(options) {
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  for (const one of [library, app, glue]) one.catch(fail);

  // What Pyodide fetches is what has come already; what it fails to start must not be waited for.
  const { fetch } = globalThis;
  const { instantiateStreaming } = WebAssembly;
  globalThis.fetch = async (address, ...rest) => {
    const file = String(address).split("/").pop();
    if (file === "library.zip") return new Response(await library);
    return file === "pyodide.asm.wasm" ? undefined : fetch(address, ...rest);
  };
  WebAssembly.instantiateStreaming = async (_, imports) => {
    try {
      const module = await handed.wasm;
      return { module, instance: await WebAssembly.instantiate(module, imports) };
    } catch (error) {
      fail(new Broken("pyodide.asm.wasm", error));
      throw error;
    }
  };
  const start = async () => {
    const pyodide = await load({
      ...options,
      createPyodideModule: (await glue).default,
      stdLibURL: `${base}library.zip`,
      lockFileContents: lock,
      packageBaseUrl: base,
    });
    pyodide.FS.writeFile(APP, await app);
    return pyodide;
  };
  try {
    return await Promise.race([start(), failed]);
  } catch (error) {
    postMessage({ failed: error.file ? "broken" : "unknown", file: error.file ?? String(error) });
    throw error;
  } finally {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  }
}
