import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import type * as Simulators from "../../../simulator/index.ts";
import type * as Gateways from "../../support/gateway-process.ts";
import { type EarlierHome, largeQuestion } from "./earlier-home.ts";

/**
 * Makes a small home with the build of a work tree, as one JSON text: `node test/faults/homes/make-home.ts TREE > NAME.json`. It holds a
 * finished turn with a key, a large one, and four that were running when the gateway was killed: with a key, without one, in the background,
 * and of a stream. A tree whose limits of parts are some KB (`longText`, `largeRequest`, `partLength`) leaves a small home with parts.
 */
const tree = resolve(process.argv[2] ?? ".");
const load = async <Module>(...paths: string[]) =>
  (await import(join(tree, paths.find((path) => existsSync(join(tree, path))) ?? ""))) as Module;
const { startSimulator } = await load<typeof Simulators>("simulator/index.ts", "src/simulator/start.ts");
const { startGatewayProcess } = await load<typeof Gateways>("test/support/gateway-process.ts");

const home = mkdtempSync(join(tmpdir(), "millrace-home-"));
const folder = join(home, ".millrace");
const ide = await startSimulator({ home, turn: { rate: 4_000, size: 300 } });
const gateway = await startGatewayProcess({ home, args: ["--continuity", "off"] });
const model = "claude-sonnet-4.6";
const bodyOf = (text: string) => ({ model, messages: [{ role: "user", content: text }] });
const post = (path: string, body: object, headers = {}) =>
  fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const firstText = async (response: Response) => {
  for await (const piece of response.body ?? []) if (Buffer.from(piece).includes('"content":"')) return;
};

const finished = await post("/v1/chat/completions", bodyOf("finished"), { "idempotency-key": "finished" });
const answer = (await finished.json()) as { choices: { message: { content: string } }[] };
await ide.setTurn({ rate: 4_000, size: 6_000 });
const large = await post("/v1/chat/completions", bodyOf(largeQuestion), { "idempotency-key": "large" });
const largeAnswer = (await large.json()) as typeof answer;
await ide.setTurn({ rate: 4_000, size: 300, holdAfter: 100 });
await firstText(
  await post("/v1/chat/completions", { ...bodyOf("keyed"), stream: true }, { "idempotency-key": "keyed" }),
);
const keyless = await post("/v1/chat/completions", { ...bodyOf("keyless"), stream: true });
const reading = firstText(keyless);
const background = await post("/v1/responses", { model, input: "background", background: true });
const records = join(home, "records");
const client = spawn(process.execPath, [
  join(tree, "test/support/stream-client.ts"),
  gateway.url,
  gateway.key,
  records,
  model,
  largeQuestion,
]);
const stored = await new Promise<string>((done) => client.stdout.once("data", (line: Buffer) => done(String(line))));
await reading;
while ((await ide.report()).messages.length < 6) await new Promise((again) => setTimeout(again, 100));
await new Promise((written) => setTimeout(written, 1_000));
await gateway.kill();
client.kill();

const file = join(folder, "turns.db");
const named = (names: readonly string[], at: string) =>
  Object.fromEntries(
    names.filter((name) => existsSync(join(at, name))).map((name) => [name, readFileSync(join(at, name), "base64")]),
  );
const made: EarlierHome = {
  build: execFileSync("git", ["-C", tree, "log", "-1", "--format=%cI"], { encoding: "utf8" }).trim(),
  atMs: Date.now(),
  files: named(["key", "log-key", "home-id"], folder),
  records: named(
    readdirSync(records).filter((name) => /\.(stream|key|mark)$/.test(name)),
    records,
  ),
  answer: answer.choices[0]?.message.content ?? "",
  large: largeAnswer.choices[0]?.message.content ?? "",
  background: ((await background.json()) as { id: string }).id,
  streamKey: (JSON.parse(stored.split("\n")[0] ?? "") as { streamKey: string }).streamKey,
  sql: sqlOf(file),
};
process.stdout.write(`${JSON.stringify(made, null, 1)}\n`);
await ide.stop();
rmSync(home, { recursive: true, force: true });

/** The statements that make this database again. */
function sqlOf(path: string): readonly string[] {
  const database = new DatabaseSync(path);
  const all = (sql: string) => database.prepare(sql).all();
  const pragma = (name: string) => `PRAGMA ${name} = ${String(all(`PRAGMA ${name}`)[0]?.[name])}`;
  const objects = all(
    "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
  );
  const rows = objects.flatMap(({ name, type }) => {
    if (type !== "table") return [];
    const valuesOf = (row: Record<string, SQLOutputValue>) => Object.values(row).map(literal).join(", ");
    return all(`SELECT * FROM ${String(name)}`).map((row) => `INSERT INTO ${String(name)} VALUES (${valuesOf(row)})`);
  });
  return [pragma("application_id"), pragma("user_version"), ...objects.map(({ sql }) => String(sql)), ...rows];
}

function literal(value: SQLOutputValue): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString("hex")}'`;
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}
