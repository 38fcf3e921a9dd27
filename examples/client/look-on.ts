/** Another page, process or device reads the streams while their owner writes to them. It sends nothing, answers no tool call and keeps no answer alive. */
import { observe } from "millrace/client";
import { nodeLink, openFileRecordStore } from "millrace/client/node";

const gateway = nodeLink({ url: process.env["GATEWAY_URL"] ?? "", key: process.env["GATEWAY_KEY"] ?? "" });
const store = await openFileRecordStore({ folder: "streams" });
for (const streamKey of await store.list()) {
  for await (const event of observe(streamKey, { gateway, store })) {
    if (event.type === "text") process.stdout.write(event.delta);
  }
}
