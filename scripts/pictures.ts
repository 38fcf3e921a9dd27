import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { startSimulator } from "../simulator/index.ts";
import { record } from "./pictures/record.ts";
import { terminalSvg } from "./pictures/terminal-svg.ts";

/**
 * `npm run generate -- pictures`: runs the built Millrace against the stand-in IDE in a real terminal, and draws what it shows. It needs `npm run build`
 * and `npm run generate -- site` before it (the terminal's emulator is installed in `site/`), and Linux.
 */
const root = join(import.meta.dirname, "..");
const images = join(root, "docs/images");
const programs = mkdtempSync(join(tmpdir(), "millrace-pictures-"));
const script = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/node/bin.js")}" "$@"\n`;
writeFileSync(join(programs, "millrace"), script, { mode: 0o755 });

const simulator = await startSimulator();
const env = {
  HOME: simulator.home,
  MILLRACE_IDE_ONLY_HOME: simulator.home,
  PATH: `${programs}${delimiter}${process.env["PATH"] ?? ""}`,
};
/** The folders of this machine, as a reader's would read. */
const places: readonly (readonly [string, string])[] = [
  [simulator.home, "~"],
  [root, "/home/me/millrace"],
];

async function draw(name: string, scenes: readonly string[], size: { columns: number; height: number }, title: string) {
  const frames = await record(scenes, { ...size, env, places });
  const file = join(images, `${name}.svg`);
  writeFileSync(file, terminalSvg(frames, { columns: size.columns, title }));
  console.log(`${name}.svg: ${frames.length} frames, ${(statSync(file).size / 1000).toFixed(0)} kB`);
}

try {
  const wide = { columns: 96, height: 24 };
  await draw(
    "terminal",
    [
      "millrace serve --background",
      'millrace chat "write 6 lines of Markdown"',
      "echo oak, elm, ash | millrace chat 'list 3 things'",
      "millrace tail --list",
      "millrace usage",
    ],
    wide,
    "A terminal: millrace serve, a question with its answer, and what is left of the plan, with the stand-in IDE",
  );
  await record(["millrace stop"], { ...wide, env, places });
} finally {
  await simulator.stop();
  rmSync(programs, { recursive: true, force: true });
}
