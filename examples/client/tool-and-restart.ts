/** With a store a client survives its own death; with a tool the model can ask it something. Start it again after a kill: it shows what was left first. */
import { autoResume, type ReliableStream, startReliableStream } from "millrace/client";
import { nodeLink, openFileRecordStore } from "millrace/client/node";

const gateway = nodeLink({ url: process.env["GATEWAY_URL"] ?? "", key: process.env["GATEWAY_KEY"] ?? "" });
const store = await openFileRecordStore({ folder: "streams" });
const options = { gateway, store };

async function show(stream: ReliableStream): Promise<void> {
  for await (const event of stream.events) {
    if (event.type === "text") process.stdout.write(event.delta);
    if (event.type === "tool_call")
      await stream.runTool(event, async () => ({ text: `It is sunny there. (${event.arguments})` }));
    if (event.type === "end") process.stdout.write(`\n${event.outcome}: ${event.reason}\n`);
  }
}

// What an earlier run of this program left, first.
const left = await autoResume(options);
for (const stream of left.streams) await show(stream);

const weather = {
  name: "weather",
  description: "Tells the weather at a place.",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
};
const request = {
  model: process.env["MODEL"] ?? "",
  messages: [{ role: "user" as const, text: "How is the weather in Oslo?" }],
  tools: [weather],
};
await show(await startReliableStream(request, options));
