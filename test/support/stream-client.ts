import { openFileRecordStore } from "../../src/client/node/file-record-store.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { startReliableStream } from "../../src/client/stream/open-stream.ts";

/**
 * An application in a process of its own, to be killed: asks one question and prints each event as a line of JSON.
 * Arguments: the gateway's URL, its key, the folder for records, the model, the question.
 */
const [url = "", key = "", folder = "", model = "", text = ""] = process.argv.slice(2);
const options = { gateway: nodeLink({ url, key }), store: await openFileRecordStore({ folder }) };
const request = { model, messages: [{ role: "user" as const, text }] };
const stream = await startReliableStream(request, options, new AbortController().signal);
process.stdout.write(`${JSON.stringify({ type: "stored", streamKey: stream.streamKey })}\n`);
for await (const event of stream.events) process.stdout.write(`${JSON.stringify(event)}\n`);
