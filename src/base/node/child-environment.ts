import { isProxy, loopbackExemption } from "./loopback.ts";

/**
 * `own`: what the user could start in this shell, such as a client or a browser: everything is passed on. `agent` and `tool` (a program of
 * the system): a list. `service`: a list that stays with the service, so nothing of this session.
 */
export type ChildKind = "own" | "agent" | "tool" | "service";

/** What any program needs to run, and where it finds its user's files. */
const general = [
  ..."PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM TZ TMPDIR TEMP TMP".split(" "),
  // Windows finds programs, folders and sockets by these.
  ..."USERPROFILE USERNAME USERDOMAIN COMPUTERNAME HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PUBLIC".split(
    " ",
  ),
  ..."PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432".split(
    " ",
  ),
  ..."SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT PSMODULEPATH OS NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE".split(
    " ",
  ),
];

/** How programs reach the network, on every system in both cases of letters. Source: docs/dev/wire/processes.md, "Proxies". */
const network = [
  ..."HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY NODE_USE_ENV_PROXY".split(" "),
  ..."NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE".split(" "),
];

/** Where Millrace's own files are. */
const ofMillrace = ["MILLRACE_HOME", "MILLRACE_KEY_FILE", "MILLRACE_LOG_KEY_FILE"];

interface Passed {
  readonly names: ReadonlySet<string>;
  readonly beginnings: readonly string[];
}
const listed: Readonly<Record<Exclude<ChildKind, "own">, Passed>> = {
  agent: { names: new Set(general), beginnings: ["LC_", "XDG_"] },
  tool: { names: new Set([...general, "DBUS_SESSION_BUS_ADDRESS"]), beginnings: ["LC_", "XDG_"] },
  service: { names: new Set(["PATH", ...ofMillrace]), beginnings: [] },
};

/**
 * The environment of a program that Millrace starts, the same for every system: what its kind gets of Millrace's own, the variables `named`
 * for it, and those `set` for it (undefined: taken away). A program that has a proxy does not use it for this machine. Names are compared as
 * the system compares them: on Windows in any case.
 */
export function childEnvironment(
  kind: ChildKind,
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
  {
    named = [],
    set = {},
  }: { readonly named?: readonly string[]; readonly set?: Readonly<Record<string, string | undefined>> } = {},
): Record<string, string> {
  const spelled = (name: string) => (platform === "win32" ? name.toUpperCase() : name);
  const asked = new Set(named.map(spelled));
  const replaced = new Set(Object.keys(set).map(spelled));
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || replaced.has(spelled(name))) continue;
    if (kind === "own" || asked.has(spelled(name)) || isListed(listed[kind], name, spelled(name))) chosen[name] = value;
  }
  for (const [name, value] of Object.entries(set)) if (value !== undefined) chosen[name] = value;
  if (kind !== "own" && !Object.entries(chosen).some(isProxy)) return chosen;
  const exempt = loopbackExemption(chosen);
  for (const name of Object.keys(chosen)) if (name.toUpperCase() === "NO_PROXY") delete chosen[name];
  return { ...chosen, ...exempt };
}

function isListed({ names, beginnings }: Passed, name: string, spelled: string): boolean {
  return (
    names.has(spelled) ||
    network.includes(name.toUpperCase()) ||
    beginnings.some((beginning) => spelled.startsWith(beginning))
  );
}
