// Packs Python for the browser: compiles sources with the very Python that will run them there (Pyodide, under Node)
// and writes one zip per job. Usage: node tools/pack.mjs JOBS.json, where JOBS.json is a list of
// {"source": zip, "target": archive, "solid": optional, see pack.py}.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "../node_modules/pyodide/pyodide.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const jobs = JSON.parse(await readFile(process.argv[2], "utf8"));
const pyodide = await loadPyodide({
  indexURL: join(here, "..", "node_modules", "pyodide"),
  env: { PYTHONHASHSEED: "0", PYTHONDONTWRITEBYTECODE: "1" },
});
pyodide.FS.writeFile("/home/pyodide/pack.py", await readFile(join(here, "pack.py"), "utf8"));
const pack = pyodide.pyimport("pack").pack;

for (const { source, target, solid = true } of jobs) {
  pyodide.FS.writeFile("/tmp/source.zip", await readFile(resolve(source)));
  pack.callKwargs("/tmp/source.zip", "/tmp/target.zip", { solid });
  await writeFile(resolve(target), pyodide.FS.readFile("/tmp/target.zip"));
}
