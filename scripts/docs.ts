import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cliPage } from "./docs/cli-page.ts";
import { guidePage } from "./docs/guide-page.ts";
import { manPage } from "./docs/man-page.ts";
import { troubleshootingPage } from "./docs/troubleshooting.ts";

const root = join(import.meta.dirname, "..");

/** The pages that are made from the sources, by their place in the repository. */
export async function generatedPages(): Promise<Readonly<Record<string, string>>> {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
  return {
    "docs/troubleshooting.md": troubleshootingPage(),
    "docs/cli.md": await cliPage(),
    "docs/guides.md": guidePage(),
    "man/millrace.1": await manPage(version),
  };
}

/** `npm run generate` writes them; `scripts/docs.test.ts` checks that they are current. */
if (process.argv[1] === import.meta.filename) {
  for (const [file, text] of Object.entries(await generatedPages())) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
}
