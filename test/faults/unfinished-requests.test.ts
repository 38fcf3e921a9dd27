import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { withLimits } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, patience, simulator } from "../support/world.ts";

const post = "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n";

const unfinished: Readonly<Record<string, string>> = {
  nothing: "",
  "a part of HTTP/2's preface": "PRI * HT",
  "HTTP/2's preface alone": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a part of the headers": post,
  "a request, and then silence": "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
};

/** Resolves when the gateway has closed the connection; rejects when it never does. */
async function closed(port: number, said: string): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}); // a reset is an end too
  socket.resume();
  await once(socket, "connect");
  socket.write(said);
  await once(socket, "close", { signal: patience() });
}

test("connections that keep a gateway waiting are closed, and a slow answer is not", async () => {
  const home = temporaryHome();
  await simulator({ home, turn: { rate: 400, firstMs: 3_000, thinking: 0, text: "Slow." } });
  const limits = withLimits({ firstByteMs: 1_000, headersMs: 1_000, requestMs: 1_000, idleMs: 1_000 });
  const served = await gateway({ home, ...limits });
  const port = Number(new URL(served.url).port);
  const slow = openai(served).chat.completions.create(ask("slowly"));
  const body = `${post}authorization: Bearer ${served.key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"mo`;
  await Promise.all([...Object.values(unfinished), body].flatMap((said) => [closed(port, said), closed(port, said)]));
  expect((await slow).choices[0]?.message.content).toBe("Slow.");
});
