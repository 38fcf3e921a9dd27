import { describe, expect, it } from "vitest";
import { type ChildKind, childEnvironment } from "./child-environment.ts";

const proxy = "http://proxy.example:3128";
const exempt = "127.0.0.1,localhost,::1";
const secrets = { OPENAI_API_KEY: "a", AWS_SECRET_ACCESS_KEY: "b", SSH_AUTH_SOCK: "c", NODE_OPTIONS: "--require x" };
const network = {
  HTTP_PROXY: proxy,
  https_proxy: proxy,
  All_Proxy: proxy,
  NODE_EXTRA_CA_CERTS: "/ca.pem",
  NODE_USE_ENV_PROXY: "1",
  SSL_CERT_FILE: "/ca.pem",
  SSL_CERT_DIR: "/certs",
  REQUESTS_CA_BUNDLE: "/ca.pem",
};
const general = { HOME: "/home/me", LANG: "C", TZ: "UTC", LC_ALL: "C", XDG_DATA_HOME: "/data" };
const own = { PATH: "/bin", MILLRACE_HOME: "/m", MILLRACE_KEY_FILE: "/k", MILLRACE_LOG_KEY_FILE: "/l" };
const all = { ...secrets, ...network, ...general, ...own };
const withoutProxy = { NO_PROXY: exempt, no_proxy: exempt };

describe.each<NodeJS.Platform>(["linux", "darwin", "win32"])("on %s, the environment", (platform) => {
  it.each<[ChildKind, object]>([
    ["own", { ...all, ...withoutProxy }],
    ["agent", { PATH: "/bin", ...general, ...network, ...withoutProxy }],
    ["tool", { PATH: "/bin", ...general, ...network, ...withoutProxy }],
    ["service", { ...own, ...network, ...withoutProxy }],
  ])("of a child of the kind %s is its list", (kind, expected) => {
    expect(childEnvironment(kind, all, platform)).toEqual(expected);
  });

  it("holds what was asked for by name, and what is set; undefined takes away", () => {
    const more = { named: ["OPENAI_API_KEY"], set: { MODE: "1", LANG: undefined } };
    expect(childEnvironment("agent", { ...secrets, LANG: "C" }, platform, more)).toEqual({
      OPENAI_API_KEY: "a",
      MODE: "1",
    });
  });

  it.each([
    [{ NO_PROXY: ".corp" }, `.corp,${exempt}`],
    [{ NO_PROXY: ".corp", no_proxy: "intranet localhost" }, "intranet,localhost,.corp,127.0.0.1,::1"],
    [{ no_proxy: "*" }, "*"],
    [{ NO_PROXY: "" }, exempt],
  ])("keeps the user's exceptions %o", (given, expected) => {
    const made = childEnvironment("agent", { HTTPS_PROXY: proxy, ...given }, platform);
    expect(made).toEqual({ HTTPS_PROXY: proxy, NO_PROXY: expected, no_proxy: expected });
  });

  it("without a proxy only the user's own programs are told of this machine", () => {
    expect(childEnvironment("agent", { PATH: "/bin" }, platform)).toEqual({ PATH: "/bin" });
    expect(childEnvironment("own", { PATH: "/bin" }, platform)).toEqual({ PATH: "/bin", ...withoutProxy });
  });
});

it("compares names as the system does", () => {
  const given = { Path: "C:\\bin", SystemRoot: "C:\\Windows", psModulePath: "C:\\m" };
  expect(childEnvironment("tool", given, "win32")).toEqual(given);
  expect(childEnvironment("tool", given, "linux")).toEqual({});
  expect(childEnvironment("own", { Path: "C:\\bin" }, "win32", { set: { PATH: "D:\\bin" } })).toEqual({
    PATH: "D:\\bin",
    ...withoutProxy,
  });
});
