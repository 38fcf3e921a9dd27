import { type Layout, type Platform, workspaceId } from "./layout.ts";
import type { Profile } from "./profile.ts";

interface ProcessFacts {
  readonly profile: Profile;
  readonly platform: Platform;
  readonly layout: Layout;
  readonly home: string;
  readonly workspace: string;
  readonly ideVersion: string;
  readonly csrfToken: string;
  readonly extensionServerPort: number;
  /** The token of that server, which is not the language server's; Antigravity passes it along. */
  readonly extensionServerToken: string;
  /** 16 hex digits that name the pipe between editor and server. */
  readonly pipeName: string;
  readonly unmarked: boolean;
}

/**
 * The flags of the language server, in the order a real one shows them.
 * Source: docs/dev/wire/processes.md, "Arguments".
 */
export function processArguments(facts: ProcessFacts): string[] {
  const pipe = facts.platform === "win32" ? `\\\\.\\pipe\\server_${facts.pipeName}` : `/tmp/server_${facts.pipeName}`;
  return facts.profile.family === "antigravity" ? antigravityArguments(facts, pipe) : windsurfArguments(facts, pipe);
}

function antigravityArguments(facts: ProcessFacts, pipe: string): string[] {
  return [
    ...words("--enable_lsp --csrf_token", facts.csrfToken),
    ...words("--extension_server_port", String(facts.extensionServerPort)),
    ...words("--extension_server_csrf_token", facts.extensionServerToken),
    ...words("--workspace_id", workspaceId(facts.workspace)),
    ...words("--cloud_code_endpoint https://daily-cloudcode-pa.googleapis.com --subclient_type ide"),
    ...words("--app_data_dir antigravity --parent_pipe_path", pipe),
  ];
}

function windsurfArguments(facts: ProcessFacts, pipe: string): string[] {
  const { profile, layout } = facts;
  return [
    ...words("--api_server_url https://server.self-serve.windsurf.com --run_child --enable_lsp"),
    ...words("--extension_server_port", String(facts.extensionServerPort)),
    ...words("--ide_name", profile.ideName),
    ...(profile.csrfIn === "argument" ? ["--csrf_token", facts.csrfToken] : []),
    ...words(
      "--random_port --inference_api_server_url https://inference.codeium.com --database_dir",
      layout.databaseFolder,
    ),
    ...words("--enable_index_service --enable_local_search --search_max_workspace_file_count 5000"),
    ...words("--indexed_files_retention_period_days 30 --workspace_id", workspaceId(facts.workspace)),
    ...words("--sentry_telemetry --sentry_environment stable --codeium_dir", profile.codeiumFolder),
    ...words("--parent_pipe_path", pipe),
    ...words("--windsurf_version", facts.ideVersion),
    ...(profile.rawChat === "answer" ? [] : ["--stdin_initial_metadata"]),
  ];
}

/** Arguments without blanks, and one behind them that may have some. */
function words(plain: string, last?: string): string[] {
  return [...plain.split(" "), ...(last === undefined ? [] : [last])];
}

/** The server's environment as the editor sets it, with nothing from the caller's own. */
export function processEnvironment(facts: ProcessFacts): Record<string, string> {
  return {
    HOME: facts.home,
    ...(facts.unmarked ? {} : { MILLRACE_STAND_IN: "1" }),
    ...(facts.platform === "win32" ? { USERPROFILE: facts.home } : {}),
    CODEIUM_EDITOR_APP_ROOT: facts.layout.appRoot,
    ...(facts.profile.csrfIn === "environment" ? { WINDSURF_CSRF_TOKEN: facts.csrfToken } : {}),
  };
}
