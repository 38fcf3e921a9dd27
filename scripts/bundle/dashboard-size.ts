import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** What the dashboard may weigh: all files packed with gzip, and what the page loads at first as it is, because a gateway sends that. */
const most = 120_000;

export interface DashboardSize {
  /** Bytes of all files, each packed with gzip. */
  readonly packed: number;
  /** Bytes of the page and of what it names itself. */
  readonly first: number;
}

export function dashboardSize(folder: string): DashboardSize {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  const sizes = names.map((name) => {
    const bytes = readFileSync(join(folder, name));
    const isFirst = name === "index.html" || page.includes(`/${name.replaceAll("\\", "/")}"`);
    return { packed: gzipSync(bytes).length, first: isFirst ? bytes.length : 0 };
  });
  return {
    packed: sizes.reduce((sum, { packed }) => sum + packed, 0),
    first: sizes.reduce((sum, { first }) => sum + first, 0),
  };
}

/** @throws Error for a dashboard that is too large. */
export function checkDashboardSize(folder: string): void {
  const { packed, first } = dashboardSize(folder);
  console.log(`dashboard: ${first} bytes at first, ${packed} bytes in all with gzip (${most} at most, each)`);
  if (packed > most || first > most)
    throw new Error("The dashboard is too large. Load parts of it later, or leave them out.");
}
