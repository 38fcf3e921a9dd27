import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bodies } from "./body.ts";

/** A body that arrives in these pieces. */
async function* arriving(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

const read = (pieces: readonly Uint8Array[]) => new Bodies(1_000_000).read(arriving(pieces), (json) => json);

describe("a body", () => {
  it("is the same JSON however it is cut, in the middle of a character too", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "漢", "😀", "\u{feff}", '"', "\\"), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(200), { maxLength: 5 }), async (said, cuts) => {
        const bytes = Buffer.from(JSON.stringify({ said }));
        const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((to, i) => bytes.subarray(at[i], to));
        expect(await read(pieces)).toEqual({ said });
      }),
    );
  });

  it("is the same JSON with large images in it, however it is cut", async () => {
    const data = "iVBORw0KGgo/".repeat(6_000);
    const [url, escaped] = [`data:image/png;base64,${data}`, data.replaceAll("/", "\\/")];
    const image = (of: string) => `{"image_url":{"url":"${of}"},"data":"${of}"}`;
    const images = [url, data, `é${data}`, `\\"${data}`, `${data}é`, escaped, `${"x ".repeat(600)}${data}`].map(image);
    for (const name of ["messages", "contents", "other"]) {
      const text = `{"é":1,"${name}":[${images.join()},{"data":"${data}","data":"last"},{"__proto__":"${data}"}]}`;
      const bytes = Buffer.from(text);
      for (const size of [bytes.length, 65_521, 9_973]) {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        expect(await new Bodies(9_000_000).read(arriving(pieces), (json) => json)).toEqual(JSON.parse(text));
      }
    }
  });

  it.each(["\n", "\u0007"])("with %j in an image is no JSON", async (letter) => {
    const body = `{"messages":[{"data":"data:${letter}${"iVBORw0KGgo/".repeat(6_000)}"}]}`;
    await expect(read([Buffer.from(body)])).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("of Gemini's API may have more than 8 MB of images", async () => {
    const data = "iVBORw0KGgo/".repeat(750_000);
    const body = (name: string) => Buffer.from(`{"contents":[{"parts":[{"${name}":{"data":"${data}"}}]}]}`);
    const large = (name: string) => new Bodies(20_000_000).read(arriving([body(name)]), () => "read");
    expect(await large("inlineData")).toBe("read");
    await expect(large("args")).rejects.toMatchObject({ code: "invalid_request" });
  });

  it.each([
    ["a byte that is no UTF-8", [0x22, 0xff, 0x22]],
    ["a character that is not whole at its end", [0x22, 0xe6, 0xbc]],
  ])("with %s is refused", async (_, bytes) => {
    await expect(read(bytes.map((byte) => Uint8Array.of(byte)))).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("gives its memory back when it is answered, also where that fails", async () => {
    const bodies = new Bodies(1_000_000);
    const zeros = Buffer.from(`[${"0,".repeat(200_000)}0]`); // some 13 MB of values
    for (let n = 0; n < 12; n++) {
      const failing = () => Promise.reject(new Error("the turn failed"));
      await expect(bodies.read(arriving([zeros]), failing)).rejects.toThrow("the turn failed");
    }
    expect(await bodies.read(arriving([zeros]), (json) => (json as unknown[]).length)).toBe(200_001);
  });
});

describe("the memory of bodies", () => {
  const mb = 1024 * 1024;
  const free = 256 * 1024; // of each body

  it("is 128 MB for all of them, of which issued keys have half together, and all of it comes back", () => {
    const bodies = new Bodies(1_000_000);
    const [owners, issued, other] = [bodies.memory(true), bodies.memory(false), bodies.memory(false)];
    for (let again = 0; again < 2; again++) {
      issued.hold(64 * mb + free);
      expect(() => other.hold(free + 1)).toThrow("too many large bodies");
      other.hold(free);
      owners.hold(64 * mb + free);
      expect(() => owners.hold(64 * mb + free + 1)).toThrow("too many large bodies");
      issued.hold(mb + free);
      other.hold(63 * mb + free);
      for (const memory of [owners, issued, other]) memory.hold(0);
    }
  });
});
