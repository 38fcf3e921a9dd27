import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { idle } from "../../base/wait.fake.ts";
import { serveNode } from "./node-adapter.ts";
import { pulledBody } from "./sse-body.ts";

/** A connection that takes bytes only at the test's command. */
class HeldSocket extends Duplex {
  taken = "";
  #held: (() => void)[] = [];

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#held.push(() => {
      this.taken += chunk.toString();
      done();
    });
    this.emit("held");
  }

  /** Takes all bytes written so far, and those that follow at once. */
  async accept(): Promise<void> {
    for (let held = this.#held.shift(); held !== undefined; held = this.#held.shift()) {
      held();
      await idle();
    }
  }
}

/** An exchange over a held connection, whose body notes how often it was asked for more. */
function exchange() {
  const socket = new HeldSocket();
  const incoming = new IncomingMessage(socket as unknown as Socket); // all that http asks of it is a stream
  Object.assign(incoming, { method: "GET", url: "/", httpVersionMajor: 1, httpVersionMinor: 1 });
  const outgoing = new ServerResponse(incoming);
  outgoing.assignSocket(socket as unknown as Socket); // as above
  const seen = { delivered: false, left: false };
  async function* texts() {
    try {
      yield "the whole answer";
      seen.delivered = true;
    } finally {
      seen.left = true;
    }
  }
  const headers = { "content-length": "16" };
  const served = serveNode(
    () => new Response(pulledBody(texts(), new AbortController()), { headers }),
    incoming,
    outgoing,
  );
  return { socket, served, seen };
}

it("asks for more only once the connection has taken what was written", async () => {
  const { socket, served, seen } = exchange();
  await once(socket, "held");
  await idle();
  expect(seen.delivered).toBe(false);
  await socket.accept();
  await served;
  expect(socket.taken).toContain("the whole answer");
  expect(seen.delivered).toBe(true);
});

it("never asks for more when the client goes before it has the answer", async () => {
  const { socket, served, seen } = exchange();
  await once(socket, "held");
  socket.destroy();
  await served;
  expect(seen).toEqual({ delivered: false, left: true });
});
