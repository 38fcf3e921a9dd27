import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openFileRecordStore } from "../../src/client/node/file-record-store.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { resume } from "../../src/client/stream/open-stream.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, patienceMs, simulator } from "../support/world.ts";
import { type EarlierHome, largeQuestion } from "./homes/earlier-home.ts";

/* Homes of earlier builds (`homes/make-home.ts`): what they stored is read, or told as of another version, and never "damaged". */

/** Loaded into a gateway: its clock goes as if it started when the earlier one was killed. */
const then = `const now = Date.now, off = Number(process.env.MILLRACE_TEST_NOW) - now(); Date.now = () => now() + off;`;

const folder = join(import.meta.dirname, "homes");
const homes = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as EarlierHome);
/** Of a build whose log had other tables. */
const hasOtherTables = ({ sql }: EarlierHome) => sql.some((statement) => statement.startsWith("CREATE TABLE turns "));

/** The home as it was left, with an IDE that does not know its conversations any more. */
async function world(home: EarlierHome, change: (database: DatabaseSync) => void = () => {}) {
  const at = temporaryHome();
  const records = join(at, "records");
  for (const [place, files] of [
    [join(at, ".millrace"), home.files],
    [records, home.records],
  ] as const) {
    mkdirSync(place, { mode: 0o700 });
    for (const [name, base64] of Object.entries(files))
      writeFileSync(join(place, name), Buffer.from(base64, "base64"), { mode: 0o600 });
  }
  const file = join(at, ".millrace/turns.db");
  const database = new DatabaseSync(file);
  for (const statement of home.sql) database.exec(statement);
  change(database);
  database.close();
  const ide = await simulator({ home: at, turn: { rate: 4_000, size: 50 } });
  const env = {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(then)}`,
    MILLRACE_TEST_NOW: String(home.atMs),
  };
  const served = await gateway({ home: at, env });
  const store = await openFileRecordStore({ folder: records });
  const stream = () =>
    resume(home.streamKey, { gateway: nodeLink({ url: served.url, key: served.key }), store, after: "0" });
  return { ide, served, stream, file };
}

async function outcomes(home: EarlierHome, { served, stream }: Awaited<ReturnType<typeof world>>) {
  const keyed = (key: string, question = key) =>
    openai(served)
      .chat.completions.create(ask(question), { headers: { "idempotency-key": key } })
      .then((answer) => answer.choices[0]?.message.content ?? "")
      .catch((error: unknown) => String(error));
  const response = () =>
    openai(served)
      .responses.retrieve(home.background)
      .catch((error: unknown) => String(error));
  const responded = async () => {
    await expect.poll(response, { timeout: patienceMs }).not.toMatchObject({ status: "in_progress" });
    const ended = await response();
    return typeof ended === "string" ? ended : `${ended.status}: ${ended.error?.message}`;
  };
  const streamed = async () => {
    try {
      const events = [];
      for await (const event of (await stream()).events) events.push(event);
      return JSON.stringify(events.at(-1));
    } catch (error) {
      return String(error);
    }
  };
  return {
    finished: await keyed("finished"),
    ...(home.large !== undefined && { large: await keyed("large", largeQuestion) }),
    running: await keyed("keyed"),
    background: await responded(),
    stream: await streamed(),
  };
}

/** All rows of this table. */
function rowsIn(file: string, table: string, where = "true") {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(`SELECT * FROM ${table} WHERE ${where}`).all();
  database.close();
  return rows;
}

test.each(homes.filter((home) => !hasOtherTables(home)))(
  "a home that the build of $build left is read: what had ended is there, its use too, and what ran ends by name",
  async (home) => {
    const it = await world(home);
    const found = await outcomes(home, it);
    expect([found.finished, found.large]).toEqual([home.answer, home.large]);
    const { url, key } = it.served;
    const usage = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
    expect(await usage.json()).toMatchObject({ data: [{ finished: home.large === undefined ? 1 : 2 }] });
    for (const ended of [found.running, found.background, found.stream]) {
      expect(ended).toContain("The IDE's server no longer has this conversation.");
    }
    expect((await it.ide.report()).messages).toEqual([]);
  },
);

test.each(homes.filter(hasOtherTables))(
  "a log that the build of $build left is told as of another version, and stays as it is",
  async (home) => {
    const it = await world(home);
    const before = rowsIn(it.file, "turns");
    const found = await outcomes(home, it);
    for (const said of Object.values(found))
      expect(said).toContain("The log was written by another version of Millrace.");
    expect(before).toHaveLength(5);
    expect(rowsIn(it.file, "turns")).toEqual(before);
    expect((await it.ide.report()).messages).toEqual([]);
  },
);

test("rows of a form that a later build wrote are told as of another version, and stay as they are", async () => {
  const [home] = homes.slice(-1);
  if (home === undefined) throw new Error("there is no home");
  const later = "UPDATE logs SET meta = json_set(meta, '$.form', 999) WHERE kind IN ('turn', 'stream')";
  const it = await world(home, (database) => database.exec(later));
  const rows = () => rowsIn(it.file, "logs", "meta LIKE '%999%'");
  const before = rows();
  const found = await outcomes(home, it);
  for (const said of Object.values(found)) expect(said).toContain("Another version of Millrace stored this answer");
  expect(rows()).toEqual(before);
  expect((await it.ide.report()).messages).toEqual([]);
});
