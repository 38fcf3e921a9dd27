const rootAliases =
  /^\/(chat\/completions|completions|models|messages|responses?|embeddings|audio|images|moderations)(?=\/|$)/;

/**
 * The path that a route is looked up by: root aliases and doubled `/v1` folded, `/v1/response` read as `/v1/responses`,
 * slashes at the end dropped. Source: docs/wire/clients.md, "HTTP and model lists".
 */
export function foldPath(pathname: string): string {
  let path = pathname.replace(/\/{2,}/g, "/").replace(/(.)\/+$/, "$1");
  path = path.replace(/^(\/v1)+(?=\/|$)/, "/v1");
  if (rootAliases.test(path)) path = `/v1${path}`;
  return path.replace(/^\/v1\/response(?=\/|$)/, "/v1/responses");
}
