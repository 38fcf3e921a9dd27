import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type AskReport, cells } from "../matrix/apis.ts";
import { askOf, expectedPrompts, promptsOf } from "../matrix/repeats.ts";
import { type BackendName, backends, standInFor } from "../matrix/stand-in.ts";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { mayMount, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { rowsOf } from "../support/tables.ts";
import { gateway } from "../support/world.ts";

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

/** Mounting needs a right that not every user has: a reason to skip. */
describe.skipIf(!mayMount).each(backends)("over %s", (backend: BackendName) => {
  test.for(rowsOf(Object.entries(faults)))(
    "%s at the start costs one more prompt at most, in each API, and none under a key that the log still has",
    async ([fault, damage]) => {
      const disk = smallDisk(32);
      const standIn = await standInFor(backend, { turn: { rate: 1_000, size: 80 } });
      const folder = join(disk.folder, "data");
      const start = () =>
        gateway({ home: standIn.ide.home, env: { MILLRACE_HOME: folder }, args: ["--continuity", "off"] });
      const asked = askOf(cells, [standIn.model], "Ask before and after.");
      const all = (served: GatewayProcess): Promise<AskReport[]> =>
        Promise.all(asked.map(({ cell, question }) => cell.ask(served, question)));
      const first = await start();
      expect((await all(first)).filter(({ failed }) => failed)).toEqual([]);
      // an agent's host would keep its file on the disk, which then cannot be mounted anew
      await (backend === "ACP" && fault.endsWith("disk") ? first.stop() : first.kill());

      damage(disk, folder);
      const told = await all(await start());
      const hows = asked.map(({ cell }, at) => [cell.how, told[at]?.failed === true ? "refused" : "answered"]);
      // SQLite drops a WAL from its first bad frame on, and says nothing
      const isKnown = (keyed: boolean) => fault !== "a lost key" && fault !== "a damaged WAL" && keyed;
      // a stream's name is not looked up in a log that cannot be opened; SQLite opens one on a full disk if it was left with a WAL
      const canOpen = fault !== "a read-only disk" && (fault !== "a full disk" || backend !== "ACP");
      const isUnread = (api: string) => !canOpen && api === "the stream protocol";
      // on a disk that takes no writes, a key has its answer from the log or is refused with the reason
      const open = hows.filter((_, at) => !isKnown(asked[at]?.cell.keyed === true));
      expect(open.filter(([, how]) => how === "refused")).toEqual([]);
      for (const { text } of told.filter(({ failed }) => failed)) expect(text).toMatch(/log/i);
      const counted = promptsOf(asked, await standIn.prompts());
      expect(counted).toEqual(expectedPrompts(asked, ({ keyed, api }) => isKnown(keyed) && !isUnread(api)));
    },
  );
});
