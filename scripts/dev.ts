import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "vite";
import { startSimulator } from "../simulator/index.ts";

/*
 * `npm run dev [-- --port PORT]`: a gateway from the sources that starts anew after each change, with a stand-in IDE and a home of its own, and the
 * dashboard, which reloads. Ctrl-C ends all of it and removes its files. The page comes from Vite; what it asks goes to the gateway.
 */
const root = join(import.meta.dirname, "..");
const at = process.argv.indexOf("--port");
const port = Number(at < 0 ? "8788" : process.argv[at + 1]);
if (!Number.isInteger(port) || port < 1 || port > 65_535) {
  console.error("usage: npm run dev [-- --port PORT]   PORT is a number from 1 to 65535.");
  process.exit(64);
}
const home = mkdtempSync(join(tmpdir(), "millrace-dev-"));
const millraceHome = join(home, ".millrace");
const own = Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_"));
// never the real IDE, which may run beside
const env = { ...Object.fromEntries(own), MILLRACE_HOME: millraceHome, MILLRACE_IDE_ONLY_HOME: home };

const simulator = await startSimulator({ home });
const program = join(root, "src/cli/bin.ts");
const gateway = spawn(
  process.execPath,
  ["--watch", "--watch-preserve-output", program, "serve", "--port", String(port), "--log-level", "info"],
  { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] },
);
const url = `http://127.0.0.1:${port}`;
const page = await createServer({
  configFile: join(root, "web/vite.config.ts"),
  server: {
    host: "127.0.0.1",
    port: port + 1,
    strictPort: true,
    // the gateway refuses pages of other origins: for it, the page is its own
    proxy: { "^/(dashboard/api|v1|health)": { target: url, changeOrigin: true, headers: { origin: url } } },
  },
});
await page.listen();
const pageUrl = page.resolvedUrls?.local[0] ?? "";
gateway.stdout.on("data", (printed: Buffer) => {
  process.stdout.write(printed);
  if (printed.includes("serves on")) printLink().catch(() => {}); // one that ends again at once prints it at its next start
});

/** Prints a link that signs a browser in, at each start of the gateway. A browser that has a session needs none. */
async function printLink(): Promise<void> {
  const key = readFileSync(join(millraceHome, "key"), "utf8").trim();
  const answer = await fetch(`${url}/dashboard/api/link`, { method: "POST", headers: { "x-api-key": key } });
  const { path } = (await answer.json()) as { readonly path: string }; // a gateway of these sources
  console.log(`  the page          ${new URL(path, pageUrl).href}   (reloads; the link works once)\n`);
}

const stop = async () => {
  const ended = once(gateway, "exit");
  gateway.kill("SIGTERM");
  await Promise.all([ended, page.close(), simulator.stop()]);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void stop());
