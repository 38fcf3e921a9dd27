import { join } from "node:path";

/** The environment of a gateway that shares a store and its keys with others; `name` is the folder of its own files in the home. */
export function sharedStore(url: string, home: string, name: string): Readonly<Record<string, string>> {
  return {
    MILLRACE_STORE: "redis",
    MILLRACE_REDIS_URL: url,
    MILLRACE_KEY_FILE: join(home, "key"),
    MILLRACE_LOG_KEY_FILE: join(home, "log-key"),
    MILLRACE_HOME: join(home, name),
  };
}
