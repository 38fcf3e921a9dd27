import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { describe, expect, it } from "vitest";
import { idle } from "../../base/wait.fake.ts";
import { type Reply, send } from "./reply.ts";

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

/** A reply that is sent over a held connection, and what it was told of its end. */
function sending(body: Reply["body"]) {
  const socket = new HeldSocket();
  const incoming = new IncomingMessage(socket as unknown as Socket); // all that http asks of it is a stream
  Object.assign(incoming, { method: "GET", url: "/", httpVersionMajor: 1, httpVersionMinor: 1 });
  const response = new ServerResponse(incoming);
  response.assignSocket(socket as unknown as Socket); // as above
  const told: boolean[] = [];
  const done = async (isTaken: boolean) => void told.push(isTaken);
  const sent = send({ status: 200, headers: {}, ...(body !== undefined && { body }), done }, response);
  return { socket, sent, told };
}

const streamed = async (response: ServerResponse) => void response.end("the whole answer");

describe.each([
  ["whole", "the whole answer"],
  ["streamed", streamed],
] as const)("a %s reply", (_, body) => {
  it("is done only once the connection has taken its last byte", async () => {
    const { socket, sent, told } = sending(body);
    await idle();
    expect(told).toEqual([]);
    await socket.accept();
    await sent;
    expect(socket.taken).toContain("the whole answer");
    expect(told).toEqual([true]);
  });

  it("is not taken when the client goes before that", async () => {
    const { socket, sent, told } = sending(body);
    await idle();
    socket.destroy();
    await sent;
    expect(told).toEqual([false]);
  });
});

it("a stream that breaks cuts the connection, so that it does not look complete", async () => {
  const { socket, sent, told } = sending(async (response) => {
    response.write("half");
    throw new Error("broken");
  });
  await idle();
  await socket.accept();
  await sent;
  expect(told).toEqual([false]);
  expect(socket.destroyed).toBe(true);
});
