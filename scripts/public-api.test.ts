import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publicEntries } from "./bundle/bundle.ts";
import { hiddenNames } from "./public-api.ts";

const root = join(import.meta.dirname, "..");
/** A whole program is compiled. */
const timeout = 300_000;

test("an entry of the package exports every type that it shows, and the error that it throws", { timeout }, () => {
  expect(hiddenNames(root, Object.values(publicEntries))).toEqual([]);
});

test("package.json has the types of each entry", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  }; // our own file
  const types = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.types]));
  expect(new Set(types)).toEqual(new Set(Object.keys(publicEntries).map((name) => `./dist/types/${name}.d.ts`)));
});

test("a type that is shown and not exported is reported, and an error that is not", { timeout }, () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-api-"));
  try {
    mkdirSync(join(folder, "src"));
    writeFileSync(
      join(folder, "tsconfig.json"),
      '{ "compilerOptions": { "module": "NodeNext", "allowImportingTsExtensions": true, "noEmit": true } }',
    );
    writeFileSync(
      join(folder, "src/parts.ts"),
      "export interface Hidden { a: 1 }\nexport interface Options { readonly of?: Hidden }\nexport const schema = { b: 2 };\n" +
        "export class Thing { #own: Hidden | undefined; run(options: Options): void { const inside: Hidden | undefined = this.#own; void inside; } set(how: typeof schema): void { void how; } }\n" +
        "export function start(): Thing { return new Thing(); }\n",
    );
    writeFileSync(join(folder, "src/index.ts"), 'export { start, Thing, type Options } from "./parts.ts";\n');
    expect(hiddenNames(folder, ["src/index.ts"])).toEqual([
      "src/index.ts: Thing shows schema, which is not exported",
      "src/index.ts: Options shows Hidden, which is not exported",
      "src/index.ts: MillraceError is thrown and not exported",
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
