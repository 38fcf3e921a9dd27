import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { troubleshootingPage } from "./docs/troubleshooting.ts";

/** `npm run docs`: writes the pages that are made from the sources. `scripts/docs/troubleshooting.test.ts` checks that they are current. */
const root = join(import.meta.dirname, "..");
writeFileSync(join(root, "docs/troubleshooting.md"), troubleshootingPage(root));
