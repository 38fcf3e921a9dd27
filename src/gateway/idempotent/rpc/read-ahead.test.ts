import * as fc from "fast-check";
import { expect, test } from "vitest";
import { idle } from "../../../base/wait.fake.ts";
import { readAhead } from "./read-ahead.ts";

/** A body as a connection brings it: data that was not read when the connection breaks is lost. */
class Body {
  readonly #chunks: Uint8Array[] = [];
  #wake = () => {};
  #broken: Error | undefined;
  #ended = false;
  taken = 0;

  bring(...texts: readonly string[]): void {
    this.#chunks.push(...texts.map((text) => Buffer.from(text)));
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  break(): void {
    this.#chunks.length = 0;
    this.#broken = new Error("broken");
    this.#wake();
  }

  async *chunks(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const next = this.#chunks.shift();
      if (next !== undefined) {
        this.taken += next.length;
        yield next;
      } else if (this.#broken !== undefined) throw this.#broken;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<{ text: string; error?: unknown }> {
  let text = "";
  try {
    for await (const chunk of chunks) text += Buffer.from(chunk).toString();
    return { text };
  } catch (error) {
    return { text, error };
  }
}

test("what came before a connection broke is read, however late, and then that it broke", async () => {
  const body = new Body();
  body.bring("all of it");
  const ahead = readAhead(body.chunks(), 1_000);
  await idle();
  body.bring(" and more");
  await idle();
  body.break();
  await idle();
  expect(await readAll(ahead)).toEqual({ text: "all of it and more", error: new Error("broken") });
});

test("the first chunk is taken in the very moment of the call", () => {
  const body = new Body();
  body.bring("here");
  readAhead(body.chunks(), 1_000);
  expect(body.taken).toBe(4);
});

test("no more is held than the limit and one chunk, and the rest comes as that is taken", async () => {
  const body = new Body();
  body.bring(...Array.from({ length: 10 }, () => "12345"));
  body.end();
  const ahead = readAhead(body.chunks(), 12);
  await idle();
  expect(body.taken).toBe(15);
  expect((await readAll(ahead)).text).toBe("12345".repeat(10));
});

test("a reader that stops has nothing more read", async () => {
  const body = new Body();
  body.bring("1", "2", "3");
  const ahead = readAhead(body.chunks(), 1);
  await ahead.next();
  await ahead.return();
  await idle();
  const { taken } = body;
  body.bring("4", "5");
  await idle();
  expect(body.taken - taken).toBeLessThanOrEqual(1);
});

test("any body comes out as it went in, in any pieces, with any limit", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string()), fc.nat({ max: 20 }), async (texts, mostBytes) => {
      const body = new Body();
      const read = readAll(readAhead(body.chunks(), mostBytes));
      for (const text of texts) body.bring(text);
      body.end();
      expect(await read).toEqual({ text: texts.join("") });
    }),
    { numRuns: 50 },
  );
});
