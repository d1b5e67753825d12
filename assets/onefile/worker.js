// Pyodide in the worker of the one-file edition, whose own two scripts stand before this text: every file that it asks for is in the first message, and nothing else
// can be had: the policy of the document allows no connection at all. Afterwards it answers {id, name, args}.
const bytes = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const result = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) result[i] = binary.charCodeAt(i);
  return result;
};

// The bytes go straight into the stream: WebKit reads no blob in the worker of a file.
const inflated = (text, type, format = "deflate-raw") =>
  new Response(new Response(bytes(text)).body.pipeThrough(new DecompressionStream(format)), {
    headers: { "content-type": type },
  });

const start = async ({ parts, worker, lock }) => {
  const files = {
    "pyodide.asm.wasm": () => inflated(parts["pyodide.asm.wasm"], "application/wasm"),
    "library.zip": () => inflated(parts["library.pack"], "application/zip", "gzip"),
  };
  globalThis.fetch = async (address) => files[String(address).split("/").pop()]();
  const pyodide = await loadPyodide({
    indexURL: "archivo://pyodide/",
    packageBaseUrl: "archivo://pyodide/",
    stdLibURL: "archivo://pyodide/library.zip",
    lockFileContents: lock,
    createPyodideModule: _createPyodideModule,
  });
  const app = await inflated(parts["app.pack"], "application/zip", "gzip").arrayBuffer();
  pyodide.FS.writeFile("/home/pyodide/app.zip", new Uint8Array(app));
  await pyodide.runPythonAsync(worker);
  postMessage({ started: pyodide.globals.get("__export__").toJs() });
  return pyodide.globals;
};

let python;
addEventListener("message", async ({ data }) => {
  if (!python) {
    python = start(data);
    python.catch((error) => postMessage({ failed: String(error) }));
    return;
  }
  try {
    const result = await (await python).get(data.name)(...data.args);
    postMessage({ id: data.id, result });
  } catch (error) {
    postMessage({ id: data.id, error: String(error) });
  }
});
