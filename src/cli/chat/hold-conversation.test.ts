import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import type { StreamOptions } from "../../client/stream/stream-options.ts";
import type { CommandContext } from "../command.ts";
import { readSettings } from "../settings.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { openOutput } from "../terminal/output.ts";
import { holdConversation } from "./hold-conversation.ts";

/** A conversation in which no question is asked; answers what it wrote. */
async function typed(homeFolder: string, ...lines: readonly string[]): Promise<string> {
  const io = fakeIo({ homeFolder });
  const out = openOutput(io.stdout, io.stderr, {});
  const context: CommandContext = { io, out, settings: readSettings(io), json: false, signal: io.signal };
  const begin = {
    model: { name: "swe-2:medium", price: undefined },
    asks: {},
    thinking: false,
    streams: {} as StreamOptions, // nothing is asked
    listModels: async () => ["swe-2:medium", "swe-2:high", "other"],
    async findModel(name: string) {
      if (name.startsWith("swe-2")) return { name: name === "swe-2" ? "swe-2:medium" : name, price: undefined };
      throw new MillraceError("unknown_model", `The account has no model "${name}". No name is near it.`);
    },
    factsOf: () => Promise.reject(new Error("nothing is asked")),
  };
  const held = holdConversation(begin, context);
  const answered = async (times: number) => {
    await expect.poll(() => io.written.stdout().split("> ").length - 1).toBe(times);
  };
  await answered(1);
  for (const [at, line] of lines.entries()) {
    (io.stdin as PassThrough).write(`${line}\r`);
    await answered(at + 2);
  }
  (io.stdin as PassThrough).write("\u0004");
  expect(await held).toBe(0);
  return io.written.stdout() + io.written.stderr();
}

test("/model takes any name of a model and says which it took, and /models lists the names", async () => {
  const written = await typed("/nowhere", "/model swe-2", "/model swe-2:high", "/models", "/model swe");
  expect(written).toContain("swe-2:medium answers from now on.");
  expect(written).toContain("swe-2:high answers from now on.");
  expect(written).toContain("* swe-2:high");
  expect(written).toContain('The account has no model "swe". No name is near it.');
  expect(written).toContain("/models lists the names.");
});

test("/file and /save read ~ as the home folder", async () => {
  const home = mkdtempSync(join(tmpdir(), "millrace-talk-"));
  writeFileSync(join(home, "note.txt"), "a note");
  const written = await typed(home, "/file ~/note.txt", "/save ~/talk.md");
  expect(written).toContain("~/note.txt goes with the next message.");
  expect(written).toContain("The conversation is in ~/talk.md.");
  expect(readFileSync(join(home, "talk.md"), "utf8")).toBe("");
});
