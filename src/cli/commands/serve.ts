import { untilAborted } from "../../base/async.ts";
import { readSocketAddress } from "../../gateway/http/socket-address.ts";
import { defineCommand } from "../command.ts";
import { openReload } from "../config/reload.ts";
import { askConsent } from "../gateway-process/ask-consent.ts";
import { startedBy, startInBackground } from "../gateway-process/background.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
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
import { tlsOf } from "../serve/port-tls.ts";
import { otlpReceiver } from "../telemetry/otlp-receiver.ts";
import { exitCodes } from "../terminal/exit-codes.ts";

export const serveCommand = defineCommand({
  ...outlines.serve,
  description:
    "Runs the gateway. It looks for the IDE at each request, so you can start, restart or update the IDE at any time. Clients need the key that `millrace key` shows.",
  options: {
    ...gatewayOptions,
    host: text("address to listen on", "<address>", { defaultText: "127.0.0.1", env: "MILLRACE_HOST" }),
    tlsCert: text("serve over TLS with this certificate (PEM); read again when it changes", "<file>", {
      env: "MILLRACE_TLS_CERT",
    }),
    tlsKey: text("the key of that certificate (PEM)", "<file>", { env: "MILLRACE_TLS_KEY" }),
    allowCleartext: flag(
      "allow --host to be an address that other machines can reach without TLS; key and prompts then travel unencrypted",
    ),
    socket: text(
      "listen on this Unix domain socket (mode 0600), on Windows on this named pipe, in place of an address and port",
      "<path>",
      { env: "MILLRACE_SOCKET" },
    ),
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
    const running = await findGateway(settings, signal);
    const known = readGatewayFile(settings.gatewayFile);
    if (running !== undefined && options.port !== 0) {
      if (known !== undefined && new URL(running.url).port === String(options.port)) throw alreadyServes(known);
      out.note(`Your gateway is already running at ${running.url}. This is a second one.`);
    }
    const { host = "127.0.0.1", allowCleartext } = options;
    const socket = options.socket === undefined ? undefined : readSocketAddress(options.socket, io.platform);
    const givenTls = tlsOf(options, out);
    let tls = givenTls;
    const where = { host, allowCleartext, socket, tls: givenTls && (() => (tls ?? givenTls)()) };
    const log = openGatewayLog(io, settings, options);
    const composed = await openComposed(options, context, {
      allowedHosts: options.allowHost,
      allowedOrigins: options.allowOrigin,
      dashboardText: options.dashboardText,
      log,
      otlp: otlpReceiver(options.otlpEndpoint, io.env),
    });
    const fixedBy = portReason(given, settings.folder);
    const listening = await listenSomewhere(composed.gateway, { ...where, port: options.port, fixedBy }, context).catch(
      async (error: unknown) => {
        await composed.close();
        throw error;
      },
    );
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
    const keptKey = keepKeyFile(settings.keyFile, composed.key, io.clock, signal);
    const kept =
      socket === undefined // no URL leads to a socket
        ? keepGatewayFile(settings.gatewayFile, address, { clock: io.clock, onProblem }, signal)
        : undefined;
    if (options.json)
      out.line(
        JSON.stringify({
          url: listening.url,
          baseUrl: `${base}/v1`,
          keyFile: settings.keyFile,
          pid: process.pid,
        }),
      );
    else {
      const at = { url: listening.url, base, socket, startedBy: address.startedBy };
      for await (const line of firstLines(composed, at, options, context)) out.prose(line);
    }
    const reload = openReload({ command: serveCommand, argv, io, file: settings.configFile, options }, [
      { of: ["logLevel"], apply: ({ logLevel }) => log.setLevel(logLevel as LogLevel | undefined) },
      { of: ["maxTurns"], apply: ({ maxTurns }) => composed.limitTurns(maxTurns as number | undefined) },
      {
        of: ["tlsCert", "tlsKey"],
        isLive: (now) => givenTls !== undefined && now["tlsCert"] !== undefined && now["tlsKey"] !== undefined,
        apply: (now) => (tls = tlsOf(now as typeof options, out)),
      },
    ]);
    io.onHangUp?.(() => void reload().then((lines) => lines.forEach((line) => out.note(line))));
    if (!options.json && !options.accept) await askConsent(options, context);
    await untilAborted(signal);
    await Promise.all([kept, keptKey]);
    await composed.close(listening);
    return exitCodes.ok;
  },
});
