import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withSections } from "../test/clients/table.ts";
import { clientList, otherClients } from "./docs/client-table.ts";
import { commandTable, exitCodeTable } from "./docs/command-tables.ts";
import { errorList } from "./docs/error-table.ts";
import { manPage } from "./docs/man-page.ts";
import { configSchema, settingsLists } from "./docs/settings.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** The files that are made from the sources, by their place in the repository. Of a page only the marked parts are; people write the rest. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  const { version } = JSON.parse(read("package.json")) as { readonly version: string };
  const parts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    "docs/reference.md": { commands: await commandTable(), "exit codes": exitCodeTable(), ...settingsLists() },
    "docs/help.md": { errors: errorList() },
    "docs/clients.md": { "names of clients": clientList(), "other clients": otherClients() },
  };
  return {
    ...Object.fromEntries(Object.entries(parts).map(([file, made]) => [file, withSections(read(file), made)])),
    "docs/config.schema.json": configSchema(),
    "man/millrace.1": await manPage(version),
  };
}

/** `npm run generate` writes them; `scripts/docs.test.ts` checks that they are current. */
if (process.argv[1] === import.meta.filename)
  for (const [file, text] of Object.entries(await generatedPages())) writeFileSync(join(root, file), text);
