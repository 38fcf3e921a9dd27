import { isObject } from "../../src/base/json.ts";

/** A recorded body that continues a response, with the calls whose outputs it has: the response that it continued is not recorded. */
export function withItsCalls<Body>(body: Body): Body {
  if (!isObject(body) || typeof body["previous_response_id"] !== "string" || !Array.isArray(body["input"])) return body;
  const calls = body["input"].map((item) => ({ type: "function_call", call_id: item.call_id, name: "bash" }));
  return { ...body, input: [...calls, ...body["input"]] };
}
