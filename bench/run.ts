/** `npm run bench [name]`: one benchmark by its name, `load` if none is given. Prints; writes nothing. */
const benches: Readonly<Record<string, () => Promise<unknown>>> = {
  load: () => import("./load.ts"),
  growth: () => import("./growth.ts"),
  tools: () => import("./tools.ts"),
  hostile: () => import("./hostile.ts"),
  page: () => import("./page.ts"),
  startup: () => import("./startup.ts"),
};

const name = process.argv[2]?.startsWith("-") === false ? process.argv.splice(2, 1)[0] : undefined;
const bench = benches[name ?? "load"];
if (bench === undefined) {
  console.error(`There is no benchmark called ${name}; there are ${Object.keys(benches).join(", ")}.`);
  process.exitCode = 64;
} else {
  await bench();
}
