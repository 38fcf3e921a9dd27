import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A floor's budget: the lines that it may have now, and the number that it shall come down to. A higher number needs a reason in its commit. */
interface Budget {
  readonly lines: number;
  readonly target: number;
}

/** The floor of everything that only tests load, wherever it stands. */
const tests = "tests";
const isTest = /^test\/|\.(test|fake|conformance|faults)\./;
const leftOut = /^src\/proto\/|node_modules\/|\/(corpus|fixtures)\/|\.d\.ts$|^scripts\/layers\/broken\//;

/** The floors of the tree below `root` that have more lines of code than `budgets` allows them, or no budget, or that are gone. */
export function checkBudgets(root: string, budgets: Readonly<Record<string, Budget>>): readonly string[] {
  const counted = linesByFloor(root, Object.keys(budgets));
  const missing = Object.keys(counted).filter((floor) => budgets[floor] === undefined);
  return [
    ...missing.map((floor) => `${floor} has no budget of lines in scripts/layers/budgets.json`),
    ...Object.entries(budgets).flatMap(([floor, { lines }]) => {
      const now = counted[floor];
      if (now === undefined) return [`${floor} has a budget of lines, but is gone`];
      return now > lines
        ? [`${floor} has ${now} lines of code, and may have ${lines}: remove what this made unnecessary`]
        : [];
    }),
  ];
}

const exclude = (path: string) => path.endsWith("node_modules"); // a walk through them takes seconds

/** Lines without blanks and comments. Only a comment that begins its line is one. */
function linesByFloor(root: string, named: readonly string[]): Readonly<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const path of globSync("{src,simulator,scripts,test,web}/**/*.{ts,tsx,mjs,js}", { cwd: root, exclude })) {
    const file = path.replaceAll("\\", "/");
    if (leftOut.test(file)) continue;
    const floor = isTest.test(file) ? tests : floorOf(file, named);
    if (floor !== undefined) counted[floor] = (counted[floor] ?? 0) + linesOf(readFileSync(join(root, file), "utf8"));
  }
  return counted;
}

function floorOf(file: string, named: readonly string[]): string | undefined {
  const [first = "", second = ""] = file.split("/");
  if (first !== "src") return named.find((name) => file.startsWith(`${name}/`));
  return second.endsWith(".ts") ? undefined : `${first}/${second}`;
}

export function linesOf(text: string): number {
  let lines = 0;
  let inComment = false;
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (inComment) inComment = !line.includes("*/");
    else if (line.startsWith("/*")) inComment = !line.includes("*/");
    else if (line !== "" && !line.startsWith("//")) lines++;
  }
  return lines;
}
