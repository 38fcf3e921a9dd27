import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseConfig } from "../../../src/cli/config/read-config.ts";
import { apiKeyOfJson } from "../../../src/ide/account/api-key.ts";
import { keyOfCredentials } from "../../../src/ide/account/cli-credentials.ts";
import { readStateOnce } from "../../../src/ide/account/state-db.ts";
import { ourFiles } from "../../../src/schema/build-types.ts";
import { bundleStyles, writeBundle } from "../../../src/schema/bundle.fake.ts";
import { readBundle } from "../../../src/schema/read-bundle.ts";
import { type Target, textOf, utf8 } from "../target.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-fuzz-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** A database as an IDE leaves it, in this journal mode. */
function database(journal: "wal" | "delete"): Uint8Array {
  const file = join(folder, `seed-${journal}`);
  const db = new DatabaseSync(file);
  db.exec(
    `PRAGMA page_size=512; PRAGMA journal_mode=${journal}; CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)`,
  );
  const insert = db.prepare("INSERT INTO ItemTable VALUES (?, ?)");
  for (let i = 0; i < 20; i++) insert.run(`key.${i}`, `{"apiKey":"sk-ws-01-${i}"}`);
  db.close();
  return readFileSync(file);
}

export const fileTargets: readonly Target[] = [
  {
    name: "state.vscdb",
    form: "bytes",
    seeds: () => [database("delete"), database("wal")],
    async run(input) {
      const file = join(folder, "state.vscdb");
      writeFileSync(file, input);
      const read = await readStateOnce(file, ["key.3", "key.1*"]);
      if (read.kind === "read") for (const value of read.values.values()) apiKeyOfJson(value);
    },
  },
  {
    name: "API key in JSON",
    form: "json",
    seeds: () =>
      ['{"apiKey":"sk-ws-01-x","name":"n"}', '{"sessions":[{"accessToken":"t"}]}', '"sk-ws-01-abc"'].map(utf8),
    run: (input) => apiKeyOfJson(textOf(input)),
  },
  {
    name: "credentials.toml",
    form: "text",
    words: ["windsurf_api_key", "api_server_url", ' = "', "\n", "[[", "]]", '"""'],
    seeds: () => ['windsurf_api_key = "sk-ws-01-x"\napi_server_url = "https://server.example"\n'].map(utf8),
    run: (input) => keyOfCredentials(textOf(input)),
  },
  {
    name: "extension.js",
    form: "text",
    words: [
      "class ",
      "static ",
      "typeName=",
      "fields",
      "makeMessageType(",
      "exports.",
      "=>",
      "{",
      "}",
      "(",
      "[",
      "`${",
      "kind:",
      "T:",
      "()=>",
    ],
    seeds: () => bundleStyles.map((style) => utf8(writeBundle(ourFiles().slice(0, 1), style))),
    run: (input) => readBundle(textOf(input)),
  },
  {
    name: "config.toml",
    form: "text",
    words: [
      "[[agents]]",
      "[serve]",
      "name",
      "command",
      "env",
      " = ",
      '"',
      "'''",
      "\n",
      "[",
      "]",
      "{",
      "}",
      "true",
      "1979-05-27T07:32:00Z",
      "inf",
      "nan",
      "0x",
    ],
    seeds: () => ['[[agents]]\nname = "a"\ncommand = ["x", "y"]\nenv = ["HOME"]\n', "[serve]\nport = 1\n"].map(utf8),
    run: (input) => parseConfig(textOf(input), "config.toml"),
  },
];
