/**
 * Which folder may know which: the *knows* column of docs/dev/architecture.md, as data. Every folder may know itself and
 * `base`. A folder without a row is an error (scripts/layers/check.ts).
 */
const knows = {
  cli: [
    "opencode",
    "gateway",
    "turns",
    "backends",
    "usage",
    "models",
    "ide",
    "language-server",
    "schema",
    "log",
    "client",
    "proto",
  ],
  opencode: ["client"],
  gateway: ["turns", "models", "usage", "log", "proto"],
  turns: ["backends", "log"],
  backends: ["language-server", "log", "proto"],
  usage: ["language-server", "log", "proto"],
  models: ["language-server", "proto"],
  ide: ["language-server", "proto"],
  "language-server": ["proto"],
  schema: ["proto"],
  log: [],
  client: ["proto"],
  proto: [],
  base: [],
};

/**
 * The order inside the folders of the core and of the command line: which parts of a folder (its folders, or single files of it) may know
 * which others of it. "." are its files without a row of their own; where "." has no row, they lie above all the others and may know them.
 * A folder of the core without a row is an error, as is a row without a part (scripts/layers/check.ts).
 */
const order = {
  "src/cli": {
    terminal: [],
    ".": ["terminal"],
    config: [".", "terminal"],
    agents: ["config", "terminal"],
    keys: [".", "terminal"],
    "gateway-process": [".", "terminal"],
    service: [".", "terminal", "gateway-process"],
    clients: [".", "terminal", "keys", "gateway-process"],
    serve: [".", "terminal", "keys", "gateway-process", "clients"],
    limits: [".", "terminal", "serve"],
    compose: [".", "terminal", "config", "agents", "keys", "gateway-process", "serve", "limits"],
    chat: [".", "terminal", "gateway-process", "clients"],
    doctor: [".", "terminal", "agents", "keys", "gateway-process", "service", "serve", "limits", "compose"],
    "statusline-fast.ts": [".", "limits"],
    "dispatch.ts": [".", "terminal", "config", "serve"],
    "menu.ts": [".", "terminal", "clients", "commands"],
    commands: [
      ".",
      "terminal",
      "config",
      "agents",
      "keys",
      "gateway-process",
      "service",
      "clients",
      "serve",
      "limits",
      "compose",
      "chat",
      "doctor",
      "statusline-fast.ts",
      "dispatch.ts",
    ],
    "main.ts": [".", "terminal", "service", "dispatch.ts", "menu.ts", "commands"],
    "bin.ts": [".", "statusline-fast.ts", "main.ts"],
  },
  "src/cli/doctor": { contract: [] },
  "src/log": { "rows.ts": [], redis: ["rows.ts"], sealing: ["rows.ts"], sqlite: ["rows.ts"] },
  "src/turns": { tools: [], prompt: ["tools"], continuity: ["prompt"] },
  "src/turns/tools": {
    "shown-schema.ts": [],
    "names.ts": ["shown-schema.ts", "arguments"],
    "grammar.ts": ["names.ts"],
    arguments: ["names.ts"],
    "answer-plan.ts": ["names.ts", "grammar.ts"],
    forms: ["names.ts", "answer-plan.ts", "arguments"],
  },
  "src/backends": {
    ".": [],
    acp: ["."],
    cascade: ["."],
    "raw-chat": ["."],
    route: [".", "acp", "cascade", "raw-chat"],
  },
  "src/backends/acp": {
    wire: [],
    host: ["wire"],
    relay: ["wire"],
    known: [],
    process: ["wire", "host", "known"],
    session: ["wire", "host", "relay", "known", "process"],
    turn: ["wire", "host", "relay", "known", "process", "session"],
  },
  "src/gateway": {
    dialects: [],
    metrics: [],
    pdf: [],
    dashboard: ["dialects"],
    http: ["dialects", "metrics", "pdf", "dashboard"],
    answers: ["dialects", "metrics", "pdf", "http"],
    streams: ["dialects", "pdf", "metrics", "http"],
    routes: ["dialects", "pdf", "dashboard", "http", "answers"],
  },
  "src/gateway/dialects": {
    ".": [],
    messages: ["."],
    "anthropic-messages": [".", "messages"],
    idempotent: ["."],
    "openai-chat": [".", "messages"],
    "openai-responses": [".", "messages"],
    ollama: [".", "messages", "openai-chat"],
    gemini: ["."],
  },
  "src/gateway/streams": { rpc: [], carriers: [] },
};

/** The workspace of the stand-in IDE: what it may know of the product, and the files that the product may import. */
const simulator = { knows: ["proto", "base"], entries: "^simulator/(index|simulate|parts)\\.ts$" };

const shipped = "^(src|simulator)/";
const inside = (...folders) => `^src/(${folders.join("|")})/`;
const tests = "\\.(test|conformance|fake)\\.ts$|/fixtures/";
const rule = (name, from, to, comment) => ({ name, comment, severity: "error", from, to });

/** The files of one part of a folder in `order`, as a pattern. */
function filesOf(folder, part) {
  if (part !== ".") return part.endsWith(".ts") ? `^${folder}/${part.replace(".", "\\.")}$` : `^${folder}/${part}/`;
  const others = Object.keys(order[folder]).filter((name) => name.endsWith(".ts"));
  return `^${folder}/(?!(${others.join("|")})$)[^/]+$`;
}

/** Libraries whose code is bundled into the package: a new one is a decision, with its licence and its size. */
const bundled = [
  "@bufbuild/protobuf",
  "@connectrpc/connect",
  "@connectrpc/connect-node",
  "@connectrpc/connect-web",
  "acorn",
  "commander",
  "diff",
  "eventsource-parser",
  "jsonc-parser",
  "prom-client",
  "smol-toml",
  "unpdf",
  "ws",
  "yaml",
  "zod",
];

/** Files that run wherever JavaScript does: Node, Bun, browsers. */
const neutral = "^src/(gateway/dialects|client|proto|base)/";
const nodeOnly = "^src/(client|base)/node/";

module.exports = {
  knows,
  order,
  forbidden: [
    ...Object.entries(knows).map(([name, others]) =>
      rule(
        `knows-${name}`,
        { path: inside(name), pathNot: tests },
        { path: "^src/", pathNot: inside(name, "base", ...others) },
        `src/${name} may know: ${["base", ...others].join(", ")}`,
      ),
    ),
    ...Object.entries(order).flatMap(([folder, parts]) =>
      Object.entries(parts).map(([part, others]) =>
        rule(
          `order-${folder}/${part}`,
          { path: filesOf(folder, part), pathNot: tests },
          { path: `^${folder}/`, pathNot: [part, ...others].map((name) => filesOf(folder, name)) },
          `of ${folder}, ${part} may know: ${others.join(", ") || "nothing"}`,
        ),
      ),
    ),
    rule(
      "knows-simulator",
      { path: "^simulator/", pathNot: tests },
      { path: "^src/", pathNot: inside(...simulator.knows) },
      `the simulator may know: ${simulator.knows.join(", ")}`,
    ),
    rule(
      "simulator-by-its-entries",
      { path: "^src/" },
      { path: "^simulator/", pathNot: simulator.entries },
      "the workspace is used through what its package.json exports",
    ),
    rule(
      "only-the-command-line-simulates",
      { path: "^src/", pathNot: `^src/cli/|${tests}` },
      { path: "^simulator/" },
      "a gateway never loads the stand-in IDE",
    ),
    rule(
      "dialects-are-pure",
      { path: "^src/gateway/dialects/", pathNot: tests },
      { path: "^src/", pathNot: "^src/(gateway/dialects|log|proto|base)/" },
      "a dialect is a pure function between a body, turn events and wire events",
    ),
    rule(
      "runs-anywhere",
      { path: neutral, pathNot: `${nodeOnly}|${tests}` },
      { dependencyTypes: ["core"] },
      "these files run in browsers and Bun as well",
    ),
    rule(
      "neutral-files-know-no-node",
      { path: neutral, pathNot: `${nodeOnly}|${tests}` },
      { path: nodeOnly },
      "these files run in browsers as well, and what is in node/ does not",
    ),
    rule(
      "plugin-loads-no-sqlite",
      { path: "^src/opencode/", pathNot: tests },
      { path: "^(node:)?sqlite$", reachable: true },
      "the plugin runs inside OpenCode, whose runtime has no node:sqlite",
    ),
    rule(
      "one-owner-per-library",
      {
        path: shipped,
        pathNot: `^src/(log|ide|usage|schema)/|^src/base/node/(load-sqlite|system-lock).ts|^src/cli/bin.ts|^simulator/|${tests}`,
      },
      { path: "^(node:)?sqlite$|node_modules/redis/|^src/base/node/load-sqlite\\.ts$" },
      "databases are opened in the folders that own a store",
    ),
    rule(
      "few-may-dial",
      {
        path: "^src/",
        pathNot: `^src/(gateway|language-server|backends/acp|client/node|base/node)/|^src/cli/(doctor/check-own|keys/doors|fetch-release)\\.ts|${tests}`,
      },
      { path: "^(node:)?(net|tls|dgram|dns|http|https|http2|undici)(/|$)|node_modules/ws/" },
      "a connection is opened only where an IDE, an agent or a gateway of this machine is called, and by `update`, to what the user named",
    ),
    rule(
      "ships-no-dev-dependency",
      { path: shipped, pathNot: tests },
      {
        dependencyTypes: ["npm-dev"],
        dependencyTypesNot: ["npm-peer"],
        pathNot: `node_modules/(${bundled.join("|")})/`,
      },
      "shipped code imports what is bundled into it, or a peer that the user installs",
    ),
    rule("no-cycles", { path: shipped, pathNot: "^src/proto/" }, { circular: true }, "a cycle has no lowest part"),
    rule(
      "resolves",
      { path: shipped },
      { couldNotResolve: true, pathNot: "^(node:)?sqlite$" },
      "an import that leads nowhere",
    ),
    rule(
      "nothing-knows-tests",
      { path: shipped, pathNot: tests },
      { path: tests },
      "shipped code imports no test code",
    ),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(dist|coverage|web/dist)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
    builtInModules: { add: ["node:sqlite", "sqlite"] },
  },
};
