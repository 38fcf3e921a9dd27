import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { decodedBody } from "./decoded-body.ts";

/** What is left of a text that was coded so often. */
async function decoded(times: number): Promise<string> {
  let bytes: Buffer = Buffer.from("hello");
  for (let time = 0; time < times; time++) bytes = gzipSync(bytes);
  const whole = async function* () {
    yield bytes;
  };
  const pieces: Uint8Array[] = [];
  const header = Array.from({ length: times }, () => "gzip").join(", ");
  for await (const piece of decodedBody(whole(), header)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

it("decodes a body that was coded up to three times, and refuses a fourth", async () => {
  for (const times of [0, 1, 3]) expect(await decoded(times)).toBe("hello");
  await expect(decoded(4)).rejects.toMatchObject({ status: 415 });
});
