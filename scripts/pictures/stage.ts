import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { openScreen, type Row } from "./screen.ts";
import type { Frame } from "./terminal-svg.ts";

interface StageOptions {
  readonly columns: number;
  /** The rows of each terminal, from the top. */
  readonly heights: readonly number[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Folders of this machine, and what the picture shows in their place. */
  readonly places: readonly (readonly [folder: string, shown: string])[];
}

/** Terminals above each other, which are recorded together. */
export interface Stage {
  /** Types the line into that terminal and runs it there; resolves when the program has ended. */
  run(terminal: number, line: string): Promise<void>;
  /** Resolves when that terminal shows such a text. Throws after a minute. */
  shows(terminal: number, text: RegExp): Promise<void>;
  frames(): readonly Frame[];
  /** Ends the programs that still run. */
  close(): void;
}

const typingMs = 35;
/** What comes within this time is one frame. */
const frameMs = 300;
/** A picture stands still for this time at most, and for this time after the end of a command. */
const [stillMs, readingMs] = [1_200, 2_000];
const patienceMs = 60_000;

/** Runs real programs in real terminals. Linux: `script` opens each terminal. */
export async function openStage({ columns, heights, env, folder, places }: StageOptions): Promise<Stage> {
  const terminals = await Promise.all(heights.map((height) => openScreen(columns, height)));
  const frames: Frame[] = [];
  const running = new Set<ChildProcess>();
  const at = (terminal: number) => {
    const screen = terminals[terminal];
    if (screen === undefined) throw new Error(`there is no terminal ${terminal}`);
    return screen;
  };
  const rows = (): readonly Row[] =>
    terminals.flatMap((screen, index) => {
      const shown = screen.rows();
      const height = heights[index] ?? 0;
      const rule: Row = [{ text: "─".repeat(columns), colour: undefined, bold: false, dim: true }];
      return [...(index === 0 ? [] : [rule]), ...Array.from({ length: height }, (_, y) => shown[y] ?? [])];
    });
  let since = performance.now();
  const show = (ms = Math.min(stillMs, performance.now() - since)) => {
    frames.push({ rows: rows(), ms });
    since = performance.now();
  };

  async function type(terminal: number, line: string): Promise<void> {
    await at(terminal).write("\u001B[32m$\u001B[0m ");
    for (const word of line.split(/(?<= )/)) {
      await at(terminal).write(word);
      show(typingMs * word.length);
    }
    await at(terminal).write("\r\n");
  }

  return {
    frames: () => frames,
    close: () => {
      for (const child of running) child.kill();
    },
    async run(terminal, line) {
      await type(terminal, line);
      const size = `stty cols ${columns} rows ${heights[terminal]}`;
      const child = spawn("script", ["-qefc", `${size}; ${line}`, "/dev/null"], {
        cwd: folder,
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...env, TERM: "xterm-256color", SHELL: "/bin/bash" },
      });
      running.add(child);
      // Programs ask the terminal what it can do, and wait for its answer.
      at(terminal).onAnswer((answer) => child.stdin.write(answer));
      for await (const chunk of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
        if (performance.now() - since > frameMs) show();
        await at(terminal).write(places.reduce((text, [from, to]) => text.replaceAll(from, to), chunk));
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      running.delete(child);
      show();
      show(readingMs);
    },
    async shows(terminal, text) {
      const isThere = () =>
        at(terminal)
          .rows()
          .some((row) => text.test(row.map((run) => run.text).join("")));
      for (let waited = 0; !isThere(); waited += frameMs) {
        if (waited > patienceMs) throw new Error(`the terminal never showed ${text.source}`);
        await pause(frameMs);
      }
    },
  };
}
