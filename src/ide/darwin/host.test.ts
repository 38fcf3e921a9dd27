import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { openDarwinHost } from "./host.ts";

const fields = readFileSync(new URL("fixtures/lsof-fields.txt", import.meta.url), "utf8");
const ownFields = fields.slice(0, fields.indexOf("\np700") + 1);
const signal = new AbortController().signal;

/** A Mac whose `lsof` answers by its arguments; `all` is undefined where the list of all sockets takes too long. */
function macWith(all: string | undefined) {
  const ran: string[] = [];
  const host = openDarwinHost({
    home: "/Users/ada",
    uid: 501,
    clock: systemClock,
    run: (_, args) => {
      const line = args.join(" ");
      ran.push(line);
      const stdout = line.includes("-a -p 4242 ") ? ownFields : line.includes("-p ") ? "" : all;
      if (stdout === undefined) return Promise.resolve({ ok: false, why: "lsof took longer than 3 s" });
      return Promise.resolve({ ok: true, value: { stdout, exitCode: 0 } });
    },
  });
  return { host, ran };
}

test("one process's listeners come before a list of all, which may take too long", async () => {
  const busy = macWith(undefined);
  const found = await busy.host.listListening(4242, signal);
  expect(found.ok && found.value.map(({ port }) => port)).toEqual([49_154, 49_155, 49_156]);
  expect(busy.ran[0]).toBe("-nP -w -a -p 4242 -iTCP -sTCP:LISTEN -Fpn");
});

test("a process that listens nowhere needs no list of all", async () => {
  const { host, ran } = macWith(fields);
  expect(await host.listListening(99, signal)).toEqual({ ok: true, value: [] });
  expect(ran).toHaveLength(1);
});

test("another process on the same port is seen", async () => {
  const { host } = macWith(`${fields}p701\nf3\nPTCP\nn*:49154\nTST=LISTEN\n`);
  const found = await host.listListening(4242, signal);
  expect(found.ok && found.value.map(({ shared }) => shared)).toEqual([true, false, false]);
});

test("the holder of a port is asked for by the port", async () => {
  const { host, ran } = macWith("");
  expect(await host.holderOf(42_100, signal)).toBeUndefined();
  expect(ran).toEqual(["-nP -w -iTCP:42100 -sTCP:LISTEN -Fpn"]);
});
