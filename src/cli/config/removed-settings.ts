/** What to do in place of a setting that development builds had; undefined for a name that never was one. `key`: as `[serve]` spelled it, `[table]`, or `table.key`. */
export function insteadOf(key: string): string | undefined {
  return hints.get(key);
}

/** The variables of such settings that are set here, each with what to do instead. A key is `tls_cert`, its variable `MILLRACE_TLS_CERT`. */
export function removedVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [...hints].flatMap(([key, hint]) => {
    const name = `MILLRACE_${key.toUpperCase()}`;
    return env[name] ? [`${name} is no setting any more. ${hint}`] : [];
  });
}

const reach =
  "Millrace listens on this machine only. docs/reach.md shows how to reach it from elsewhere: ssh, Tailscale, or a reverse proxy.";

const traces =
  "Leave it out: Millrace sends no traces. `millrace tail`, the dashboard and `GET /metrics` show turns, without their texts.";

const log =
  "Leave it out: a terminal gets lines for people, everything else JSON. `millrace serve 2> FILE` writes the log to another file.";

const fixed = "Leave it out: its value is fixed now.";

const hints: ReadonlyMap<string, string> = new Map([
  ...["host", "tls_cert", "tls_key", "allow_cleartext"].map((key) => [key, reach] as const),
  ...[
    "streams_open",
    "streams_attaches",
    "streams_mb",
    "first_byte_seconds",
    "headers_seconds",
    "request_seconds",
    "idle_seconds",
    "open_requests",
    "usage_days",
  ].map((key) => [key, fixed] as const),
  ...["otlp_endpoint", "otlp_headers"].map((key) => [key, traces] as const),
  ...["log_format", "log_file"].map((key) => [key, log] as const),
  ...["pid", "ide_pid"].map(
    (key) => [key, "A process id changes with each start: give --pid to the command."] as const,
  ),
  ["ide_state_file", "Leave it out: MILLRACE_IDE_TOKEN_FILE may hold the API key on its second line."],
  ["simulator_model_url", "Give --model-url to `millrace simulate` or `millrace demo`."],
  ["[acp]", "Leave the table out. --acp-command, or acp_command of [serve], names another agent program."],
  ["agents.client_name", fixed],
  ["retention_cap", "Leave it out: an answer is kept for two hours at most, or for --retention if that is longer."],
  ["dashboard_text", 'Leave it out. The button "Show texts" on the dashboard shows them, for one session.'],
  ["no_implicit_join", "Leave it out, and give each request an idempotency key of its own."],
  ["config", "The file is config.toml in the folder of MILLRACE_HOME."],
]);
