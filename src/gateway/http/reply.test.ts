import { createServer, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Duplex } from "node:stream";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { writeJson } from "../../base/json.ts";
import { idle } from "../../base/wait.fake.ts";
import { answerResponse, type Reply, send, writeSse } from "./reply.ts";

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

/** The events that a client reads from these bytes, cut into pieces at these places. */
function parsed(bytes: Uint8Array, cuts: readonly number[]): readonly EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const decoder = new TextDecoder();
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [i, from] of places.slice(0, -1).entries()) {
    parser.feed(decoder.decode(bytes.subarray(from, places[i + 1]), { stream: true }));
  }
  return events;
}

/** Texts with all that is special to the format, to UTF-8 or to JSON. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\r",
        "\n",
        "\r\n",
        "\0",
        "\ufeff",
        "\ud83d",
        "\ude00",
        "\u2028",
        ":",
        "data: ",
        "id: 7\n",
        "\n\n",
      ),
      fc.string({ unit: anyCharacter, maxLength: 6 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));
const event = fc.record({ delta: text, name: fc.constantFrom(undefined, "text", "response.output_text.delta") });

test("any text comes out as it went in, however the bytes of its events are cut (P2)", () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 4 }), fc.array(fc.nat()), (events, cuts) => {
      const written = events.map(({ delta, name }, i) =>
        writeSse({ ...(name === undefined ? {} : { name }), data: JSON.stringify({ delta }) }, `a${i}`),
      );
      const read = parsed(new TextEncoder().encode(written.join("")), cuts);
      expect(
        read.map(({ id, event: name, data }) => ({ id, name, delta: (JSON.parse(data) as { delta: string }).delta })),
      ).toEqual(events.map(({ delta, name }, i) => ({ id: `a${i}`, name, delta })));
    }),
  );
});

test("the same at each single place", () => {
  const bytes = new TextEncoder().encode(
    ["a", "\u00e9", "\u4e16", "\ud83d\ude42", '"', "\r", "\n"]
      .map((delta, i) => writeSse({ data: JSON.stringify(delta) }, `a${i}`))
      .join(""),
  );
  const whole = parsed(bytes, []);
  expect(whole).toHaveLength(7);
  for (let cut = 0; cut <= bytes.length; cut++) expect(parsed(bytes, [cut])).toEqual(whole);
});

test("line ends in data that is no JSON begin new lines of that data, and never a field or an event of their own", () => {
  fc.assert(
    fc.property(text, (data) => {
      const read = parsed(new TextEncoder().encode(writeSse({ data }, "a1")), []);
      const lines = data.toWellFormed().replaceAll(/\r\n|\r/g, "\n");
      expect(read.map((one) => [one.id, one.data])).toEqual([["a1", lines]]);
    }),
  );
});

test.each([
  ["short texts", { text: 'a "quoted"\u2028 line\n', n: 1 }],
  [
    "long texts",
    { a: `"\\\u2028😀`.repeat(60_000), b: ["x".repeat(200_000), { c: "half \ud83d".repeat(20_000) }], d: null },
  ],
])("an answer with %s is the JSON of its value, and its end is told", async (_, answer) => {
  const taken: boolean[] = [];
  const server = createServer((__, response) => {
    void send(
      answerResponse(answer, { "x-one": "1" }, async (isTaken) => taken.push(isTaken)),
      response,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect([response.status, response.headers.get("x-one")]).toEqual([200, "1"]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect((await response.text()) === writeJson(answer)).toBe(true);
  await expect.poll(() => taken).toEqual([true]);
});
