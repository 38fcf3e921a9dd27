/** What can fail, and where: a stream that cannot be read throws (without a gateway after 30 s), and an answer that failed is its `end` event. */
import { isMillraceError, nodeLink, startReliableStream } from "millrace/client/node";

const { GATEWAY_URL: url = "", GATEWAY_KEY: key = "" } = process.env;
const request = { model: "no-such-model", messages: [{ role: "user", text: "Hello?" }] } as const;
const tell = (...words: readonly (string | undefined)[]) => process.stderr.write(`${words.join(" ")}\n`);
try {
  const stream = await startReliableStream(request, {
    gateway: nodeLink({ url, key }),
    onConnection: (change) => {
      if (change.state === "attached" && change.degraded) tell("This answer cannot be resumed.", change.why);
    },
  });
  for await (const event of stream.events) {
    if (event.type === "text") process.stdout.write(event.delta);
    if (event.type === "end" && event.outcome === "failed") tell(event.errorMessage, event.errorHint);
  }
} catch (error) {
  if (!isMillraceError(error)) throw error;
  tell(`${error.code}:`, error.message, error.hint); // `code` is for programs, the rest for a person
  process.exitCode = 1;
}
