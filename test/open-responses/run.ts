import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { startSimulator } from "../../simulator/index.ts";
import { withSections } from "../clients/table.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { pinnedTo } from "../support/pinned.ts";

/*
 * `npm test -- programs open-responses [-- --suite FOLDER] [--update]`: the compliance suite of the Open Responses specification, as its
 * authors run it, against a real gateway. `--suite` names a checkout; without it the suite's repository is cloned into a temporary
 * folder, and nothing of it is kept. `--update` writes the score, and each test that did not pass, into docs/clients.md.
 */
const repository = "https://github.com/openresponses/openresponses";
const root = join(import.meta.dirname, "../..");
const args = process.argv.slice(2);
const own = mkdtempSync(join(tmpdir(), "millrace-open-responses-"));

interface Result {
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped";
  readonly errors?: readonly string[];
}

try {
  const suite = args.includes("--suite") ? (args[args.indexOf("--suite") + 1] ?? "") : cloned();
  if (suite === undefined) {
    process.stderr.write(`${repository} cannot be reached: nothing was checked. Name a checkout with --suite.\n`);
    process.stdout.write("\n0 passed, 0 failed, 1 skipped\n");
  } else {
    const results = await judge(await bundled(suite));
    for (const { name, status, errors = [] } of results)
      process.stderr.write(`${status.padEnd(8)}${name}${errors.map((error) => `\n        ${error}`).join("")}\n`);
    const count = (status: Result["status"]) => results.filter((result) => result.status === status).length;
    process.stdout.write(
      `\n${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped of ${results.length}\n`,
    );
    if (args.includes("--update")) writeScore(results, dateOf(suite));
    process.exitCode = count("failed") === 0 && count("passed") > 0 ? 0 : 1;
  }
} finally {
  rmSync(own, { recursive: true, force: true });
}

function cloned(): string | undefined {
  const folder = join(own, "suite");
  const options = { timeout: 60_000, stdio: "ignore", env: { ...process.env, GIT_TERMINAL_PROMPT: "0" } } as const;
  const { status } = spawnSync("git", ["clone", "--quiet", "--depth", "1", repository, folder], options);
  return status === 0 ? folder : undefined;
}

/** The day of the suite's last change. */
function dateOf(suite: string): string {
  const { stdout } = spawnSync("git", ["-C", suite, "log", "-1", "--format=%cs", "--", "."], { encoding: "utf8" });
  return stdout.trim() || "unknown";
}

/** The suite's command line as one file, with the Zod that it asks for: ours has both. */
async function bundled(suite: string): Promise<string> {
  const { dependencies = {} } = JSON.parse(readFileSync(join(suite, "package.json"), "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  const zod = /^\D*3/.test(dependencies["zod"] ?? "") ? "zod/v3" : "zod";
  const bundle = await rolldown({
    input: join(suite, "bin/compliance-test.ts"),
    platform: "node",
    tsconfig: false,
    logLevel: "silent",
    plugins: [
      {
        name: "zod",
        resolveId: (source) => (source === "zod" ? fileURLToPath(import.meta.resolve(zod)) : null),
      },
    ],
  });
  const file = join(own, "compliance.mjs");
  await bundle.write({ file, format: "esm" });
  await bundle.close();
  return file;
}

async function judge(program: string): Promise<readonly Result[]> {
  // the model calls the weather's tool where it is offered, because the suite asks for a call of it
  await using simulator = await startSimulator({ plan: { unlimited: true }, turn: { agent: "once" } });
  const gateway = await startGatewayProcess({ home: simulator.home, args: pinnedTo(simulator) });
  try {
    const given = ["--base-url", `${gateway.url}/v1`, "--model", "claude-sonnet-4.6", "--json"];
    const env = { ...process.env, OPENRESPONSES_API_KEY: gateway.key };
    const child = spawn(process.execPath, [program, ...given], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [printed] = await Promise.all([text(child.stdout), once(child, "exit")]);
    return (JSON.parse(printed) as { readonly results: readonly Result[] }).results; // as the suite documents it
  } finally {
    await gateway.stop();
  }
}

function writeScore(results: readonly Result[], suiteDate: string): void {
  const file = join(root, "docs/clients.md");
  const passed = results.filter(({ status }) => status === "passed").length;
  const others = results
    .filter(({ status }) => status !== "passed")
    .map(({ name, status, errors = [] }) => `- ${name}: **${status}**: ${errors.join("; ")}`);
  const score = `**${passed} of ${results.length}**, ${new Date().toISOString().slice(0, 10)}, with the suite of ${suiteDate}.`;
  const part = others.length === 0 ? score : [score, "", ...others].join("\n");
  writeFileSync(file, withSections(readFileSync(file, "utf8"), { "open-responses": part }));
}
