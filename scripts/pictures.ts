import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { startSimulator } from "../simulator/index.ts";
import { installClients } from "../test/clients/install.ts";
import { openStage } from "./pictures/stage.ts";
import { terminalSvg } from "./pictures/terminal-svg.ts";

/**
 * `npm run generate -- pictures`: runs the built Millrace and the real Codex against the stand-in IDE in real terminals, kills the gateway in
 * the middle of an answer, and draws what the terminals show. It needs `npm run build` and `npm run generate -- site` before it (the
 * terminal's emulator is installed in `site/`), and Linux.
 */
const root = join(import.meta.dirname, "..");
const programs = mkdtempSync(join(tmpdir(), "millrace-pictures-"));
const script = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/node/bin.js")}" "$@"\n`;
writeFileSync(join(programs, "millrace"), script, { mode: 0o755 });

const clients = await installClients();
const home = join(homedir(), ".cache/millrace/pictures"); // Codex warns of a home below the temporary folder
const project = join(home, "project");
rmSync(home, { recursive: true, force: true });
mkdirSync(project, { recursive: true });
const codex = join(home, ".codex");
mkdirSync(codex);
writeFileSync(join(codex, "config.toml"), `[projects."${project}"]\ntrust_level = "trusted"\n`);
const simulator = await startSimulator({
  home,
  profile: "devin-3",
  plan: { used: 32, drain: 12 },
  turn: { rate: 150 },
});
const columns = 92;
const stage = await openStage({
  columns,
  heights: [21, 12],
  folder: project,
  env: {
    HOME: home,
    MILLRACE_IDE_ONLY_HOME: home,
    PATH: [programs, join(clients, "node_modules/.bin"), process.env["PATH"] ?? ""].join(delimiter),
  },
  places: [[home, "~"]],
});
const [above, below] = [0, 1];
const processOfGateway = () => {
  const text = readFileSync(join(home, ".millrace/gateway.json"), "utf8");
  return (JSON.parse(text) as { readonly pid: number }).pid; // our own file
};

try {
  await stage.run(below, "millrace usage");
  const client = stage.run(above, 'millrace run codex "write 40 lines of Markdown"');
  await stage.shows(above, /Part 1/);
  await stage.run(below, `kill -9 ${processOfGateway()}    # the gateway`);
  await stage.run(below, "millrace serve --background | head -n 1");
  await stage.shows(above, /Worked for/);
  await stage.run(below, "millrace usage");
  const frames = [...stage.frames()];
  const file = join(root, "docs/images/terminal.svg");
  const title =
    "Two terminals, with the stand-in IDE. Above, millrace run codex writes an answer. Below, the gateway is killed and started again. The answer goes on to its end, and millrace usage shows what it cost.";
  const neutral = "/home/me/project".padEnd(project.length, "-"); // as wide as this machine's path
  writeFileSync(file, terminalSvg(frames, { columns, title }).replaceAll(project, neutral));
  console.log(`terminal.svg: ${frames.length} frames, ${(statSync(file).size / 1000).toFixed(0)} kB`);
  stage.close();
  await client;
  await stage.run(below, "millrace stop --agents");
} finally {
  stage.close();
  await simulator.stop();
  for (const folder of [programs, home]) rmSync(folder, { recursive: true, force: true });
}
