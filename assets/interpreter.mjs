// The interpreter that pyscript.toml names, served beside Pyodide's own files. It asks for everything at once, starts
// Pyodide with our compiled library, tells the page how far it is, and turns a missing or broken file into an error:
// Pyodide alone would wait in silence for ever. The WebAssembly passes untouched, so that the browser can keep it compiled.
import { loadPyodide as load, version } from "./pyodide.mjs";

export { version };

const base = new URL("./", import.meta.url).href;
const lock = "PYODIDE_LOCK";
const sizes = "SIZES"; // bytes of each file once it is decoded, by name
const APP = "/home/pyodide/app.zip";

const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
let loaded = 0;
const advance = (bytes) => postMessage({ loaded: (loaded += bytes), total });

const count = async (stream) => {
  const reader = stream.getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) advance(chunk.value.length);
};

// A failure with its file, and whether it did not come (unreachable) or is not what it should be (broken).
class Fault extends Error {
  constructor(how, file, error) {
    super(`${file}: ${error?.message ?? error}`);
    Object.assign(this, { how, file });
  }
}

const named = (path) => path.split("/").pop();

const get = async (path) => {
  try {
    const response = await fetch(new URL(path, base));
    if (!response.ok) throw new Error(response.status);
    return response;
  } catch (error) {
    throw new Fault("unreachable", named(path), error);
  }
};

// An archive of ours is a zip without compression inside one gzip stream: its files compress better together.
const unpacked = async (path) => {
  const response = await get(path);
  try {
    const plain = response.body.pipeThrough(new DecompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(plain).arrayBuffer());
    advance(sizes[named(path)]);
    return bytes;
  } catch (error) {
    throw new Fault("broken", named(path), error);
  }
};

// Python's library as Pyodide ships it is larger and slower, and better than none.
const library = () =>
  unpacked("library.pack").catch(async (error) => {
    console.info("library.pack:", error);
    return new Uint8Array(await (await get("python_stdlib.zip")).arrayBuffer());
  });

const wasm = async () => {
  const response = await get("pyodide.asm.wasm");
  count(response.clone().body).catch(() => {});
  return response;
};

const glue = async () => {
  try {
    const { default: createPyodideModule } = await import("./pyodide.asm.mjs");
    advance(sizes["pyodide.asm.mjs"]);
    return createPyodideModule;
  } catch (error) {
    throw new Fault("unreachable", "pyodide.asm.mjs", error);
  }
};

export async function loadPyodide(options) {
  const asked = { "library.zip": library().then((bytes) => new Response(bytes)), "pyodide.asm.wasm": wasm() };
  const app = unpacked("../../app.pack");
  const createPyodideModule = glue();
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  for (const one of [...Object.values(asked), app, createPyodideModule]) one.catch(fail);

  // What Pyodide fetches is what has been asked for already; what it fails to compile must not be waited for.
  const { fetch } = globalThis;
  const { instantiateStreaming } = WebAssembly;
  globalThis.fetch = (address, ...rest) => asked[String(address).split("/").pop()] ?? fetch(address, ...rest);
  WebAssembly.instantiateStreaming = async (...args) => {
    try {
      return await instantiateStreaming.apply(WebAssembly, args);
    } catch (error) {
      fail(new Fault("broken", "pyodide.asm.wasm", error));
      throw error;
    }
  };
  const start = async () => {
    const pyodide = await load({
      ...options,
      createPyodideModule: await createPyodideModule,
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
    postMessage({ failed: error.how ?? "unknown", file: error.file ?? String(error) });
    throw error;
  } finally {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  }
}
