/** The smallest client: asks one question, and survives each cut of its connection. */
import { startReliableStream } from "millrace/client";
import { nodeLink } from "millrace/client/node";

const { GATEWAY_URL: url = "", GATEWAY_KEY: key = "", MODEL: model = "" } = process.env;
const messages = [{ role: "user", text: "What is a millrace?" }] as const;
const stream = await startReliableStream({ model, messages }, { gateway: nodeLink({ url, key }) });
for await (const event of stream.events) if (event.type === "text") process.stdout.write(event.delta);
