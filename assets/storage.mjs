// PyScript opens a database to start, on the page and in the worker. Where a visitor keeps sites from storing anything,
// one in memory takes its place: it is empty at every visit, and nothing of ours is kept in it.
const usable = async () => {
  try {
    await indexedDB.databases();
    return true;
  } catch {
    return false;
  }
};

export const ensureDatabase = async () => {
  if (!(await usable())) await import("./runtime/fake-indexeddb/auto/index.mjs");
};
