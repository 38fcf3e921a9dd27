// The built client library on whichever runtime runs this: a stream on each tier, left in the middle and gone on with from its
// file. Arguments: the gateway's URL, its key, an empty folder, a model.
import { autoResume, startReliableStream } from "../../dist/client/index.js";
import { nodeLink, openFileRecordStore } from "../../dist/client/node.js";

const [url, key, folder, model] = process.argv.slice(2);
const size = 400;
const question = `[[sim: size=${size} rate=800 thinking=0]] at length`;
const signal = AbortSignal.timeout(60_000);
for (const tier of ["bidi", "sse", "poll"]) {
  const options = { gateway: nodeLink({ url, key }, { tiers: [tier] }), store: await openFileRecordStore({ folder }) };
  const request = { model, messages: [{ role: "user", text: question }] };
  const stream = await startReliableStream(request, options, signal);
  const seen = [];
  for await (const event of stream.events) {
    seen.push(event);
    if (event.type === "text") break;
  }
  const { streams } = await autoResume({ ...options, after: seen.at(-1)?.eventId }, signal);
  for (const left of streams) for await (const event of left.events) seen.push(event);
  const text = seen.map((event) => (event.type === "text" ? event.delta : "")).join("");
  const ids = new Set(seen.map(({ eventId }) => eventId));
  const end = seen.at(-1);
  if (text.length !== size || ids.size !== seen.length || end?.type !== "end" || end.outcome !== "finished") {
    process.stderr.write(
      `${tier}: ${text.length} of ${size} characters, ${ids.size} of ${seen.length} events, ${JSON.stringify(end)}\n`,
    );
    process.exit(1);
  }
}
process.exit(0);
