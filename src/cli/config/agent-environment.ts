/** Variables that an agent program gets from the environment of Millrace. Everything else stays out. */
const passed: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "TERM",
  "TZ",
  "TMPDIR",
  "TEMP",
  "TMP",
  // Windows finds programs, folders and sockets by these.
  "USERPROFILE",
  "USERNAME",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "COMSPEC",
  "PATHEXT",
  "WINDIR",
]);

/** Never, not even by name: it makes the vendor's agent wait for a sign-in that only the editor can do. */
const forbidden: ReadonlySet<string> = new Set(["ACP_BACKEND"]);

/**
 * The environment of an agent program: an allow-list of variables that programs need to run, the variables that its configuration
 * passes on by name, and those that it sets. Names are compared as the system compares them: on Windows in any case.
 */
export function agentEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  agent: { readonly env: readonly string[]; readonly set: Readonly<Record<string, string>> },
  platform: NodeJS.Platform,
): Record<string, string> {
  const spelled = (name: string) => (platform === "win32" ? name.toUpperCase() : name);
  const named = new Set(agent.env.map(spelled));
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    const key = spelled(name);
    if (value === undefined || forbidden.has(name.toUpperCase())) continue;
    if (passed.has(key) || key.startsWith("LC_") || key.startsWith("XDG_") || named.has(key)) chosen[name] = value;
  }
  for (const [name, value] of Object.entries(agent.set)) if (!forbidden.has(name.toUpperCase())) chosen[name] = value;
  return chosen;
}
