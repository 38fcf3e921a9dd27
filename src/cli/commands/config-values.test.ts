import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { serveSettings } from "./config.ts";
import { serveCommand } from "./serve.ts";

const no = "no such value";
/** Values that `serve` would refuse, by setting; those of free text have none. */
const wrong: Readonly<Record<string, readonly string[]>> = {
  "serve.port": ["65536", "-1", "1.5", "", "0x10", "1e3", "port"],
  "serve.store": [no, "", "SQLITE"],
  "serve.redis_url": [no, "http://127.0.0.1", "redis://", ""],
  "serve.grace": ["2", "2 m", "-1s", "8d", "m", ""],
  "serve.max_turns": ["-1", "10001", "1.5", "many", ""],
  "serve.retention": ["1s", "59s", "0", "366d", "2", "", "99999999999999999999d"],
  "serve.continuity": ["yes", "true", ""],
  "serve.ide": [no, "antigravity", ""],
  "serve.endpoint": [no, "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "ftp://127.0.0.1:1"],
  "serve.backend": [no, ""],
  "serve.tools": [no, ""],
  "serve.ide_tools": [no, ""],
  "serve.acp_command": ["", "devin 'acp"],
  "serve.log_level": [no, "INFO", ""],
  "serve.show_texts": [no, "true", ""],
  "serve.socket": ["", `/${"a".repeat(200)}`],
  "serve.allow_host": ["http://a.example", "a.example:42100", "", "a b"],
  "serve.allow_origin": [
    "a.example",
    "https://a.example/",
    "app://obsidian.md/x",
    "App://x",
    "file://",
    "*",
    "",
    "null",
  ],
};
const right: Readonly<Record<string, readonly string[]>> = {
  "serve.port": ["0", "65535"],
  "serve.grace": ["0", "7d", "500ms"],
  "serve.retention": ["1m", "365d"],
  "serve.max_turns": ["0", "10000"],
  "serve.ide": ["devin", "devin-next"],
  "serve.endpoint": ["127.0.0.1:42101", "[::1]:42101"],
  "serve.allow_host": ["box", "box.lan"],
  "serve.allow_origin": [
    "https://a.example",
    "http://127.0.0.1:3000",
    "app://obsidian.md",
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
    "moz-extension://4f6b7c1e-0000-4000-8000-000000000000",
    "vscode-webview://1a2b3c",
    "tauri://localhost",
  ],
};

const set = async (key: string, value: string) => {
  const homeFolder = temporaryFolder();
  const io = fakeIo({ homeFolder });
  const code = await main(["config", "set", "--", key, value], io);
  return { code, stderr: io.written.stderr(), isWritten: existsSync(join(homeFolder, ".millrace", "config.toml")) };
};

test("each setting that takes no free text has values that are refused here", () => {
  const free = ["serve.home", "serve.model", "serve.token_file"];
  const all = serveSettings(serveCommand).map(({ key }) => key);
  expect([...Object.keys(wrong), ...free].toSorted()).toEqual(all.toSorted());
});

const rows = (values: typeof wrong) =>
  Object.entries(values).flatMap(([key, each]) => each.map((value) => [key, value] as const));

test.each(rows(wrong))("config set %s %j is refused with words, and nothing is written", async (key, value) => {
  const { code, stderr, isWritten } = await set(key, value);
  expect([code, isWritten]).toEqual([64, false]);
  expect(stderr).toMatch(/^error: .*\nhint: /s);
});

test.each(rows(right))("config set %s %j is written", async (key, value) => {
  expect(await set(key, value)).toMatchObject({ code: 0, isWritten: true });
});
