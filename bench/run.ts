/** `npm run bench [name]`: one benchmark by its name, `gateway` if none is given. Prints; writes nothing. */
const benches: Readonly<Record<string, () => Promise<unknown>>> = {
  load: () => import("./load.ts"),
  setup: () => import("./setup.ts"),
  growth: () => import("./growth.ts"),
  blocks: () => import("./blocks.ts"),
  "hot-path": () => import("./hot-path.ts"),
  log: () => import("./log.ts"),
  mixed: () => import("./mixed.ts"),
  restart: () => import("./restart.ts"),
  gateway: () => import("./gateway.ts"),
  discovery: () => import("./discovery.ts"),
  schema: () => import("./schema.ts"),
  usage: () => import("./usage.ts"),
  "first-paint": () => import("./first-paint.ts"),
  frames: () => import("./frames.ts"),
  streams: () => import("./streams.ts"),
  startup: () => import("./startup.ts"),
  shared: () => import("./shared.ts"),
  "wrong-key": () => import("./wrong-key.ts"),
  acp: () => import("./acp.ts"),
  tools: () => import("./tools.ts"),
  input: () => import("./input.ts"),
};

const name = process.argv[2]?.startsWith("-") === false ? process.argv.splice(2, 1)[0] : undefined;
const bench = benches[name ?? "gateway"];
if (bench === undefined) {
  console.error(`There is no benchmark called ${name}; there are ${Object.keys(benches).join(", ")}.`);
  process.exitCode = 64;
} else {
  await bench();
}
