import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the built dashboard. */
    dashboard: string;
  }
}

/** Builds the dashboard once for all tests of a run. */
export default async function setup(project: TestProject): Promise<void> {
  const outDir = mkdtempSync(join(tmpdir(), "millrace-dashboard-build-"));
  await build({
    configFile: join(import.meta.dirname, "../../web/vite.config.ts"),
    logLevel: "error",
    build: { outDir, emptyOutDir: true },
  });
  project.provide("dashboard", outDir);
}
