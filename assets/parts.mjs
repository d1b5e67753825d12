// What Python needs to start. The page asks for it as soon as it is read, while PyScript is still making the worker, and
// hands each part over when the worker says that it is there: WebAssembly compiled, archives as they came.
const base = new URL("./", import.meta.url);
const sizes = "SIZES"; // bytes of each file as the page gets to see it, by name

const files = { wasm: "runtime/pyodide/pyodide.asm.wasm", library: "runtime/pyodide/library.pack", app: "app.pack" };
const glue = ["interpreter.mjs", "pyodide.mjs", "pyodide.asm.mjs"]; // the worker will find them in the browser's cache

const named = (path) => path.split("/").pop();

// A failure with its file, and whether it did not come (unreachable) or is not what it should be (broken).
export class Fault extends Error {
  constructor(how, path, error) {
    super(`${named(path)}: ${error?.message ?? error}`);
    Object.assign(this, { how, file: named(path) });
  }
}

const get = async (path) => {
  try {
    const response = await fetch(new URL(path, base));
    if (!response.ok) throw new Error(response.status);
    return response;
  } catch (error) {
    throw new Fault("unreachable", path, error);
  }
};

const as = async (path, response, read) => {
  try {
    return await read(response);
  } catch (error) {
    throw new Fault("broken", path, error);
  }
};

const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);

// Returns a promise for each part; `advanced(loaded, total)` hears of the bytes that come.
export const gather = (advanced) => {
  let loaded = 0;
  const advance = (bytes) => advanced((loaded += bytes), total);
  const count = async (response) => {
    const reader = response.clone().body.getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) advance(chunk.value.length);
  };
  const part = async (path, read) => {
    const response = await get(path);
    count(response).catch(() => {});
    return as(path, response, read);
  };
  const bytes = (response) => response.arrayBuffer();
  for (const name of glue) fetch(new URL(`runtime/pyodide/${name}`, base)).catch(() => {});
  return {
    wasm: part(files.wasm, (response) => WebAssembly.compileStreaming(response)),
    // Python's library as Pyodide ships it is larger and slower, and better than none.
    library: part(files.library, bytes).catch(async (error) => {
      console.info("library.pack:", error);
      return (await get("runtime/pyodide/python_stdlib.zip")).arrayBuffer();
    }),
    app: part(files.app, bytes),
  };
};
