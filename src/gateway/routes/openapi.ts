import { z } from "zod";
import type { JsonObject } from "../../base/json.ts";
import {
  answerInfos,
  everyAnswer,
  type HeaderInfo,
  refusalHeaderInfos,
  startingHeaders,
} from "../http/route-headers.ts";
import { type Route } from "./route.ts";

const contentTypes = {
  "event-stream": "text/event-stream",
  ndjson: "application/x-ndjson",
  html: "text/html",
  text: "text/plain",
} as const;

/** Where the dashboard's own routes are. They change with its page, so no other program should ask them. */
const ofDashboard = "/dashboard/api/";

/** The routes as an OpenAPI 3.1 document, without the dashboard's own; request bodies come from the very schemas that parse them. */
export function openApiDocument(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    if (route.path.startsWith(ofDashboard)) continue;
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      version,
      description:
        "A local gateway to the models of an IDE. Bodies may carry more than is listed: unknown members pass.",
    },
    servers: [{ url: "http://127.0.0.1:42100" }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      headers: named(answerInfos, ({ description, sometimes }) => ({
        description,
        ...(sometimes === true ? {} : { required: true }),
        schema: { type: "string" },
      })),
      parameters: named(startingHeaders, ({ name, description }) => parameter(name, "header", { description })),
      responses: {
        Error: {
          description: "An error.",
          headers: headersOf([...everyAnswer, ...refusalHeaderInfos]),
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      },
      schemas: {
        Error: {
          description: "An error, in the shape of the API that was called.",
          type: "object",
          properties: {
            error: {
              type: "object",
              properties: { message: { type: "string" }, type: { type: "string" }, code: { type: "string" } },
              required: ["message", "type"],
            },
          },
          required: ["error"],
        },
      },
    },
  };
}

function operation(route: Route): JsonObject {
  const content: Record<string, JsonObject> = {};
  if (route.answers !== "html" && route.answers !== "text")
    content["application/json"] = route.answer === undefined ? {} : { schema: schemaOf(route.answer, "output") };
  if (route.answers !== undefined) content[contentTypes[route.answers]] = {};
  const parameters = [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)];
  return {
    summary: route.summary,
    ...(route.guard === "open" ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body) }),
    responses: {
      "200": { description: "The answer.", headers: headersOf(answerHeaders(route)), content },
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function requestBody(body: z.ZodType): JsonObject {
  return { required: true, content: { "application/json": { schema: schemaOf(body, "input") } } };
}

function schemaOf(type: z.ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(type, { unrepresentable: "any", io });
  return schema;
}

function pathParameters({ path }: Route): JsonObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => parameter(name, "path", { required: true }));
}

function headerParameters({ headers }: Route): JsonObject[] {
  return (headers?.asked ?? []).map(({ name }) => ({ $ref: `#/components/parameters/${name}` }));
}

/** The headers of our own that an answer of the route carries, beside those that every HTTP answer may have. */
export function answerHeaders({ headers }: Pick<Route, "headers">): readonly HeaderInfo[] {
  return [...everyAnswer, ...(headers?.answered ?? [])];
}

function headersOf(infos: readonly HeaderInfo[]): JsonObject {
  return named(infos, ({ name }) => ({ $ref: `#/components/headers/${name}` }));
}

function named(infos: readonly HeaderInfo[], show: (info: HeaderInfo) => JsonObject): JsonObject {
  return Object.fromEntries(infos.map((info) => [info.name, show(info)]));
}

function queryParameters({ query = {} }: Route): JsonObject[] {
  return Object.entries(query).map(([name, description]) => parameter(name, "query", { description }));
}

function parameter(name: string, place: "header" | "path" | "query", more: JsonObject): JsonObject {
  return { name, in: place, ...more, schema: { type: "string" } };
}
