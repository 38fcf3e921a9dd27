import { spawn } from "node:child_process";
import { once } from "node:events";
import { openScreen } from "./screen.ts";
import type { Frame } from "./terminal-svg.ts";

interface RecordOptions {
  readonly columns: number;
  readonly height: number;
  readonly env: Readonly<Record<string, string>>;
  /** Folders of this machine, and what the picture shows in their place. */
  readonly places: readonly (readonly [folder: string, shown: string])[];
}

const typingMs = 35;
const readingMs = 2_500;
/** What comes within this time is one frame. */
const frameMs = 120;
const mostFrames = 14;

/** Runs the commands, one after the other, each in a terminal of its own, and draws what it shows. Linux: `script` opens the terminal. */
export async function record(commands: readonly string[], options: RecordOptions): Promise<readonly Frame[]> {
  const screen = await openScreen(options.columns, options.height);
  const frames: Frame[] = [];
  for (const command of commands) {
    await screen.write(`\u001B[32m$\u001B[0m `);
    for (const word of command.split(/(?<= )/)) {
      await screen.write(word);
      frames.push({ rows: screen.rows(), ms: typingMs * word.length });
    }
    await screen.write("\r\n");
    frames.push(...(await played(command, screen, options)));
  }
  return frames;
}

async function played(
  typed: string,
  screen: Awaited<ReturnType<typeof openScreen>>,
  { columns, height, env, places }: RecordOptions,
): Promise<readonly Frame[]> {
  const command = `stty cols ${columns} rows ${height}; ${typed}`;
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...env, TERM: "xterm-256color", SHELL: "/bin/bash" },
  });
  const frames: Frame[] = [];
  let shownAt = performance.now();
  const show = () => {
    const now = performance.now();
    frames.push({ rows: screen.rows(), ms: now - shownAt });
    shownAt = now;
  };
  for await (const chunk of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
    if (performance.now() - shownAt > frameMs) show();
    await screen.write(places.reduce((text, [folder, shown]) => text.replaceAll(folder, shown), chunk));
  }
  if (child.exitCode === null) await once(child, "exit");
  show();
  return [...thinned(frames), { rows: screen.rows(), ms: readingMs }];
}

/** Some of the frames, evenly, so that the picture stays small; each stays for the time of those it stands for. */
function thinned(frames: readonly Frame[]): readonly Frame[] {
  const every = Math.ceil(frames.length / mostFrames);
  return Array.from({ length: Math.ceil(frames.length / every) }, (_, index) => {
    const some = frames.slice(index * every, (index + 1) * every);
    const [first] = some;
    return {
      rows: first?.rows ?? [],
      ms: Math.min(
        1_200,
        some.reduce((sum, { ms }) => sum + ms, 0),
      ),
    };
  });
}
