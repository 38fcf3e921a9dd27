import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openFileRecordStore } from "../../src/client/node/file-record-store.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { autoResume, startReliableStream } from "../../src/client/stream/open-stream.ts";
import { backoff, patience, runApplication, tellingNames, toolRequest } from "./stream-client.ts";

/**
 * An application in a process of its own, to be killed and started again until it ends by itself: asks one question, writes
 * every event that it is handed into its journal, and runs a tool whose effect is a line in a file. Each life goes on with
 * what the last one left. Arguments: the gateway's URL, its key, its own folder, the question's name, the answer, the model.
 */
const [url = "", key = "", folder = "", name = "", answer = "", model = ""] = process.argv.slice(2);
const journal = join(folder, "journal");
const write = (line: object) => appendFileSync(journal, `${JSON.stringify(line)}\n`);
const lines = existsSync(journal) ? readFileSync(journal, "utf8").split("\n").slice(0, -1) : [];
const seen = lines.map((line) => JSON.parse(line) as { readonly type: string; readonly eventId?: string });
const after = seen.findLast(({ eventId }) => eventId !== undefined)?.eventId ?? "0";
if (!seen.some(({ type }) => type === "end")) {
  const { signal } = new AbortController();
  const files = await openFileRecordStore({ folder: join(folder, "records") });
  const store = tellingNames(files, (names) => write({ type: "names", ...names }));
  const options = { gateway: nodeLink({ url, key }), store, backoff, patience };
  const { streams } = await autoResume({ ...options, after }, signal);
  const start = () => startReliableStream(toolRequest({ name, answer, model }), options, signal);
  let stream = streams[0] ?? (await start());
  while ((await runApplication(stream, join(folder, "effects"), write)) === "refused") stream = await start();
}
