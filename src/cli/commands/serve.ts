import { untilAborted } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { defineCommand } from "../command.ts";
import { openReload } from "../config/reload.ts";
import { removedVariables } from "../config/removed-settings.ts";
import { askConsent } from "../gateway-process/ask-consent.ts";
import { startedBy, startInBackground } from "../gateway-process/background.ts";
import { lookForGateway } from "../gateway-process/gateway-client.ts";
import { keepGatewayFile, readGatewayFile } from "../gateway-process/gateway-file.ts";
import { logFormats, openGatewayLog } from "../gateway-process/gateway-log.ts";
import { keepKeyFile } from "../gateway-process/key-file.ts";
import type { LogLevel } from "../gateway-process/log-lines.ts";
import { alreadyServes, portReason } from "../gateway-process/port-taken.ts";
import { keepHeapSmall } from "../gateway-process/small-heap.ts";
import { choice, flag, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { version } from "../package-files.ts";
import { firstLines } from "../serve/first-lines.ts";
import { gatewayOptions } from "../serve/gateway-options.ts";
import { listenSomewhere } from "../serve/listen-somewhere.ts";
import { openComposed } from "../serve/open-composed.ts";
import { otlpReceiver } from "../telemetry/otlp-receiver.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

export const serveCommand = defineCommand({
  ...outlines.serve,
  description:
    "Runs the gateway. It looks for the IDE at each request, so you can start, restart or update the IDE at any time. Clients need the key that `millrace keys` shows.",
  options: {
    ...gatewayOptions,
    socket: text("listen on this Unix domain socket (mode 0600) in place of a port", "<path>", {
      env: "MILLRACE_SOCKET",
    }),
    allowHost: texts("also accept this name in the Host header", "<name>"),
    allowOrigin: texts("allow web pages of this origin to call the gateway", "<https://origin>"),
    dashboardText: flag("show the text of prompts and answers on the dashboard while they are kept", {
      env: "MILLRACE_DASHBOARD_TEXT",
    }),
    otlpEndpoint: text(
      "send OpenTelemetry traces of turns, without their texts, to this receiver of OTLP over HTTP; `env` takes OTEL_EXPORTER_OTLP_ENDPOINT",
      "<url>",
      { env: "MILLRACE_OTLP_ENDPOINT" },
    ),
    logFormat: choice("format of log lines", logFormats, undefined, {
      env: "MILLRACE_LOG_FORMAT",
      defaultText: "people on a terminal, json elsewhere",
    }),
    logFile: text("write the log to this file, rotated at 10 MB, in place of stderr", "<file>", {
      env: "MILLRACE_LOG_FILE",
      defaultText: "stderr; ~/.millrace/logs/gateway.log in the background or as a service",
    }),
    background: flag("start it in the background and return; `millrace stop` stops it"),
    json: flag("print one line of JSON when ready"),
  },
  examples: [
    ["millrace serve", "on port 42100"],
    ["millrace serve --background", "in the background, without a terminal"],
    ["millrace serve --port 0 --json", "on any free port, for a script"],
    ["millrace serve --grace 10m", "let an answer continue for ten minutes after its client disconnects"],
  ],
  async run({ options, given, argv }, context) {
    const { io, out, settings, signal } = context;
    if (options.background) {
      if (!options.json && !options.accept) await askConsent(options, context);
      return startInBackground(argv, context);
    }
    const found = await lookForGateway(settings, signal);
    const running = found === "stranger" ? undefined : found; // another program on the old port: this gateway takes another one
    const known = readGatewayFile(settings.gatewayFile);
    if (running !== undefined && options.port !== 0) {
      if (known !== undefined && new URL(running.url).port === String(options.port)) throw alreadyServes(known);
      out.note(`Your gateway is already running at ${running.url}. This is a second one.`);
    }
    const { socket } = options;
    if (socket !== undefined && io.platform === "win32")
      throw new MillraceError("invalid_request", "--socket works on Linux and macOS only.", {
        hint: "Leave it out: Millrace then listens on 127.0.0.1.",
      });
    for (const removed of removedVariables(io.env)) out.note(removed);
    const log = openGatewayLog(io, settings, options);
    const composed = await openComposed(options, context, {
      allowedHosts: options.allowHost,
      allowedOrigins: options.allowOrigin,
      dashboardText: options.dashboardText,
      log,
      otlp: otlpReceiver(options.otlpEndpoint, io.env),
    });
    const fixedBy = portReason(given, settings.folder);
    const listening = await listenSomewhere(
      composed.gateway,
      { host: "127.0.0.1", port: options.port, socket, fixedBy },
      context,
    ).catch(async (error: unknown) => {
      await composed.close();
      throw error;
    });
    const base = socket === undefined ? listening.url : "http://localhost"; // what a client says over the socket
    const address = {
      url: listening.url,
      pid: process.pid,
      instance: composed.instance,
      version: version(),
      startedAtMs: io.clock.now(),
      startedBy: startedBy(io.env),
      argv: [...argv],
    };
    const onProblem = (error: unknown) =>
      out.note(
        `${settings.gatewayFile} cannot be written (${error instanceof Error ? error.message : String(error)}). Until it can, other commands do not find this gateway.`,
      );
    keepHeapSmall(composed.events, signal);
    const keptKey = keepKeyFile(composed.ownerKey, io.clock, signal);
    const kept =
      socket === undefined // no URL leads to a socket
        ? keepGatewayFile(settings.gatewayFile, address, { clock: io.clock, onProblem }, signal)
        : undefined;
    if (options.json)
      out.json({ url: listening.url, baseUrl: `${base}/v1`, keyFile: settings.keyFile, pid: process.pid }, "line");
    else {
      const at = { url: listening.url, base, socket, startedBy: address.startedBy };
      for await (const line of firstLines(composed, at, options, context)) out.prose(line);
    }
    const reload = openReload({ command: serveCommand, argv, io, file: settings.configFile, options }, [
      { of: ["logLevel"], apply: ({ logLevel }) => log.setLevel(logLevel as LogLevel | undefined) },
      { of: ["maxTurns"], apply: ({ maxTurns }) => composed.limitTurns(maxTurns as number | undefined) },
    ]);
    io.onHangUp?.(() => void reload().then((lines) => lines.forEach((line) => out.note(line))));
    if (!options.json && !options.accept) await askConsent(options, context);
    await untilAborted(signal);
    await Promise.all([kept, keptKey]);
    await composed.close(listening);
    return exitCodes.ok;
  },
});
