import { open, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { bestEffort } from "../../../base/async.ts";
import { remove } from "../../../base/node/move-file.ts";
import { type AcpAgentSpec, workingFolder } from "./agent-spec.ts";
import type { KnownAgent } from "./known-agent.ts";
import { deleteSessionRows } from "./session-rows.ts";

/** Ids as agents make them: long enough that no other file has one in its name by chance. */
const sessionId = /^[\w-]{16,80}$/;
const shortId = 8;

/**
 * Removes what a closed session left on disk: files and folders that have its id in their names, and rows of databases that have it in a
 * column. Never throws. A session that may still be loaded again must not come here. Source: docs/dev/wire/acp.md, "What a session leaves on disk".
 */
export async function removeTraces(spec: AcpAgentSpec, traces: KnownAgent["traces"], id: string): Promise<void> {
  if (traces === undefined || !sessionId.test(id)) return;
  const root = traces.root(spec.environment, spec.environment["HOME"] ?? homedir());
  for (const [folder, levels] of Object.entries(traces.folders))
    await bestEffort(removeIn(join(root, folder), levels, id, traces.shortNames === true));
  const { databases } = traces;
  if (databases === undefined) return;
  const names = await readdir(root).catch(() => []); // it kept nothing yet
  for (const name of names.filter((each) => databases.test(each)))
    await bestEffort(deleteSessionRows(join(root, name), id));
}

async function removeIn(folder: string, levels: number, id: string, hasShort: boolean): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name.includes(id) || (hasShort && (await isShortlyNamed(path, entry.name, id))))
      await bestEffort(remove(path, { recursive: true }));
    else if (entry.isDirectory() && levels > 0 && mayBeOurs(entry.name, folder))
      await bestEffort(removeIn(path, levels - 1, id, hasShort));
  }
}

/** Agents that keep their sessions by project name a project's folder after the folder in which they ran. */
function mayBeOurs(name: string, folder: string): boolean {
  return !/[\\/](?:projects|tmp)$/.test(folder) || name.includes(workingFolder);
}

async function isShortlyNamed(path: string, name: string, id: string): Promise<boolean> {
  if (!new RegExp(`^session-.*-${id.slice(0, shortId)}\\.jsonl?$`).test(name)) return false;
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4_096), 0, 4_096, 0);
    return buffer.toString("utf8", 0, bytesRead).includes(id);
  } finally {
    await file.close();
  }
}
