import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isOwnFile, ownNames, readSettings } from "./settings.ts";

test("each file that the sources make in Millrace's folder is removed by uninstall", () => {
  const root = join(import.meta.dirname, "..");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    /^(?:cli|usage|opencode)\/.*(?<!\.test|\.fake)\.ts$/.test(name.replaceAll("\\", "/")),
  );
  const made = files.flatMap((name) => {
    const text = readFileSync(join(root, name), "utf8");
    const joined = [...text.matchAll(/join\((?:settings\.folder|ownFolder|logs|of\.folder), "([^"]+)"/g)];
    return joined.map(([, part]) => part ?? "");
  });
  const { folder, ...paths } = readSettings({ env: {}, homeFolder: "/home/me" });
  const named = Object.values(paths).map((path) => path.slice(folder.length + 1));
  expect(made).toContain("run");
  expect([...made, ...named].filter((name) => !isOwnFile(name))).toEqual([]);
  expect(["turns.db-wal", "turns.db.damaged-1", "notes.md", "keystone"].map(isOwnFile)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("docs/reference.md has a line for each of them, and for nothing else", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/reference.md"), "utf8");
  const [, table = ""] = page.split("## Files");
  const rows = [...table.matchAll(/^- `([\w-]+)[^`]*`: /gm)].map(([, name]) => name);
  expect(new Set(rows)).toEqual(new Set(ownNames));
});
