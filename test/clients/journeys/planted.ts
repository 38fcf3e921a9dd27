import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { bundleFolder } from "../../support/gateway-process.ts";
import type { Bench, Ran } from "../bench.ts";
import { openForeignHost } from "./foreign-host.ts";
import { expect, hostColumns, type Journey } from "./journey.ts";
import { type Planting, plantings, proxiesAt, proxyLines, serverFiles } from "./plantings.ts";
import { answered } from "./setup.ts";

/** Where another host is named. `project's address`, `project's proxy`: the project's files name that and nothing else. */
const places = ["user", "project", "project's address", "project's proxy", "environment", "proxy"] as const;
type Place = (typeof places)[number];
type Way = "run" | "setup";

/**
 * Each cell of the table: all places together, and with `each` each place alone; with `some` the cells of either `run` or `setup` for a client. A
 * project's own configuration wins over what `setup` writes, by the rules of most clients; so it is a cell of its own there, in which nobody else
 * may get the key.
 */
export function plantedJourneys(which: "each" | "together" | "some"): readonly Journey[] {
  const alone = which === "each" ? places.map((place) => [place]) : [];
  const ofProject: readonly (readonly Place[])[] = [
    ["project", "project's proxy"],
    ["project's address"],
    ["project's proxy"],
  ];
  const cells: Readonly<Record<Way, readonly (readonly Place[])[]>> = {
    run: [places.filter((place) => place !== "project's address"), ["project's address"], ...alone],
    setup: [
      places.filter((place) => !place.startsWith("project")),
      ...ofProject,
      ...(which === "each" ? [...alone, ["project", "proxy"] as const] : []),
    ],
  };
  return plantings.flatMap((planting, at) => {
    const ways = (["run", "setup"] as const).filter((way) => planting[way] !== undefined);
    const driven = which === "some" ? ways.slice(at % ways.length).slice(0, 1) : ways;
    return driven.flatMap((way) => cells[way].map((cell) => journeyOf(planting, way, cell)));
  });
}

function journeyOf(planting: Planting, way: Way, cell: readonly Place[]): Journey {
  const { name, title, packageName } = planting;
  const keyAlone = way === "setup" && cell.some(isOfProject);
  const promise = keyAlone ? "nobody else gets the key" : "the gateway alone is asked";
  return {
    client: title,
    packageName,
    sentence: `\`millrace ${way} ${name}\`: ${promise}, though another host is named by ${cell.join(", ")}`,
    column: hostColumns[keyAlone ? 2 : way === "run" ? 0 : 1],
    async run(bench) {
      const host = await openForeignHost();
      try {
        const ran = await asked(bench, planting, way, { cell, host: host.url });
        const { seen } = host;
        const shown = `${seen.join("\n").slice(0, 1_500)}\n--- ${ran.stdout.slice(-800)}\n--- ${ran.stderr.slice(-800)}`;
        expect(seen.length > 0 || !ran.killed, "it was killed before it asked anybody", shown);
        const gotKey = (line: string) => line.includes(bench.key) || /mr[kr]?_[\w-]{43}/.test(line);
        expect(!seen.some(gotKey), "the other host got a key", shown);
        // the server that the project names is the user's choice
        const isTunnel = (line: string) => /^CONNECT (?:127\.0\.0\.1|localhost)/.test(line); // in which the key is readable
        expect(!seen.some(isTunnel), "the proxy was asked for a tunnel to the gateway", shown);
        if (keyAlone) return;
        // a vendor's host that is asked through the proxy is none of ours; a client may register with a server to sign in to it
        const wrong = seen.filter((line) => !/^(?:CONNECT|\w+ \/(?:mcp|register|\.well-known)\b)/.test(line));
        const { refusesProject } = planting;
        if (refusesProject !== undefined && cell.includes("project") && ran.code === 64)
          return expect(
            ran.stderr.includes(refusesProject) && seen.length === 0,
            "it was refused for another reason",
            shown,
          );
        expect(wrong.length === 0, "the other host was asked", `${wrong.join("\n").slice(0, 1_500)}\n${shown}`);
        answered(ran);
      } finally {
        host.close();
      }
    },
  };
}

/** Plants, sets up, and asks the client. */
async function asked(
  bench: Bench,
  planting: Planting,
  way: Way,
  { cell, host }: { readonly cell: readonly Place[]; readonly host: string },
): Promise<Ran> {
  const { name, program, prepare, quiet, run = [], setup, enter } = planting;
  const has = (place: Place) => cell.includes(place);
  prepare?.(bench);
  if (has("user")) plant(bench, planting.user(host, bench));
  if (has("project")) plant(bench, planting.project(host, bench));
  if (has("project's address")) plant(bench, { ...serverFiles(host), ...planting.projectAddress?.(host, bench) });
  if (has("project's proxy")) plant(bench, { ".env": proxyLines(host), ...planting.projectProxy?.(host) });
  const env = {
    ...quiet,
    ...(has("environment") ? { ...planting.env(host), MILLRACE_API_KEY: bench.key } : {}),
    ...(has("proxy") ? { ...proxiesAt(host), NODE_USE_ENV_PROXY: "1" } : {}),
    PATH: pathWith(bench),
    MILLRACE_HOME: join(bench.gatewayHome, ".millrace"),
    MILLRACE_MODEL: bench.target.model,
  };
  if (way === "run") return bench.run("millrace", ["run", name, "--", ...run], { env });
  const done = await bench.run("millrace", ["setup", name, "--yes"], { env });
  expect(done.code === 0, "setup failed", done.stderr);
  // what its user types then, in the shell that the client is started from
  const printed = done.stdout + done.stderr;
  const lines = printed.match(/export \w+=(?:'[^']*'|"[^"]*")|echo "\w+=[^"]*" >> \S+/g) ?? [];
  const script = [...lines, ...(enter?.(printed) ?? []), 'exec "$@"'].join("\n");
  const patienceMs = cell.some(isOfProject) ? 120_000 : bench.patienceMs; // a client may ask the project's host again and again
  return bench.run("sh", ["-c", script, "sh", program, ...setup(bench)], { env, patienceMs });
}

function isOfProject(place: Place): boolean {
  return place.startsWith("project");
}

/** Writes the files. What a file already has stays. */
function plant({ home, work }: Bench, files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = path.startsWith("~/") ? join(home, path.slice(2)) : join(work, path);
    mkdirSync(dirname(file), { recursive: true });
    const before = existsSync(file) ? readFileSync(file, "utf8") : "";
    const text = typeof content === "string" ? before + content : JSON.stringify(merged(before, content));
    writeFileSync(file, text);
  }
}

function merged(before: string, content: unknown): unknown {
  if (before === "") return content;
  const own = JSON.parse(before) as Readonly<Record<string, object>>; // it was written here
  return Object.fromEntries(
    Object.entries({ ...own, ...(content as object) }).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === "object" ? { ...own[name], ...value } : value,
    ]),
  );
}

/** The PATH of a user who has Millrace and the clients. */
export function pathWith(bench: Bench): string {
  const folders = [
    millraceFolder(bench),
    dirname(bench.bin("x")),
    dirname(process.execPath),
    process.env["PATH"] ?? "",
  ];
  return folders.join(delimiter);
}

/** A folder with the command `millrace`, of the sources as they are. */
function millraceFolder({ home }: Bench): string {
  const folder = join(home, ".local", "bin");
  mkdirSync(folder, { recursive: true });
  const script = join(bundleFolder(), "bin.js");
  writeFileSync(join(folder, "millrace"), `#!/bin/sh\nexec "${process.execPath}" --no-warnings "${script}" "$@"\n`, {
    mode: 0o755,
  });
  return folder;
}
