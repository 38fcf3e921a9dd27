import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fourApis } from "../support/four-apis.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { gateway, simulator } from "../support/world.ts";

const faults: Readonly<Record<string, (disk: SmallDisk, folder: string) => void>> = {
  "a full disk": (disk) => disk.fill(),
  "a read-only disk": (disk) => disk.readOnly(true),
  "a damaged WAL": (_disk, folder) => {
    const wal = readFileSync(join(folder, "turns.db-wal"));
    wal[40] = (wal[40] ?? 0) ^ 1;
    writeFileSync(join(folder, "turns.db-wal"), wal);
  },
  "a lost key": (_disk, folder) => rmSync(join(folder, "log-key")),
};

const aboutTheLog: unknown = expect.stringMatching(/log/i);
const oneOrTwo: unknown = expect.toSatisfy((prompts: unknown) => prompts === 1 || prompts === 2);

/** Mounting needs a right that not every user has: a reason to skip. */
test.skipIf(!mayMount).for(Object.entries(faults))(
  "%s at the start costs one more prompt at most, in each API, and none under a key that can be known",
  { timeout: 240_000 },
  async ([fault, damage]) => {
    const home = temporaryHome();
    const disk = smallDisk(32);
    const ide = await simulator({ home, turn: { rate: 1_000, size: 80 } });
    const folder = join(disk.folder, "data");
    const start = () => gateway({ home, env: { MILLRACE_HOME: folder }, args: ["--continuity", "off"] });
    const cases = Object.entries(fourApis).flatMap(([api, send]) => [
      { name: `${api} with a key`, send, key: `${api}, key` },
      { name: `${api} without a key`, send, key: undefined },
    ]);
    const first = await start();
    for (const { name, send, key } of cases) expect([name, (await send(first, name, key)).error]).toEqual([name, ""]);
    await first.kill();

    damage(disk, folder);
    const second = await start();
    const told: Record<string, string> = {};
    for (const { name, send, key } of cases) told[name] = (await send(second, name, key)).error;
    const { messages } = await ide.report();
    for (const { name, key } of cases) {
      const prompts = messages.filter(({ text }) => text.includes(name)).length;
      const isStream = name.startsWith("stream");
      const isKnown = fault !== "a lost key" && (key !== undefined || isStream);
      const isRefused = fault === "a damaged WAL" ? isKnown : fault !== "a lost key" && isStream;
      expect([name, told[name]]).toEqual([name, isRefused ? aboutTheLog : ""]);
      expect([name, prompts]).toEqual([name, isKnown ? 1 : oneOrTwo]);
    }
  },
);
