import type { Row } from "./row.ts";

const deadProxy = "http://127.0.0.1:9";
const asOther = "setpriv --reuid=54321 --regid=54321 --clear-groups --";
const giveAway = `chown -R 54321:54321 "$home" "$temporary" "$away"`;

/** Ordinary environments that are not this machine's, by name. */
export const rows: Readonly<Record<string, Row>> = {
  "nothing unusual": { shown: "an ordinary machine" },

  "HTTP_PROXY and HTTPS_PROXY": { shown: "a proxy", env: { HTTP_PROXY: deadProxy, HTTPS_PROXY: deadProxy } },
  "http_proxy and https_proxy": { env: { http_proxy: deadProxy, https_proxy: deadProxy } },
  "ALL_PROXY and all_proxy": { env: { ALL_PROXY: "socks5://127.0.0.1:9", all_proxy: "socks5://127.0.0.1:9" } },
  "a proxy that Node itself obeys": { env: { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: deadProxy, HTTPS_PROXY: deadProxy } },
  "a proxy, and NO_PROXY without this machine": {
    env: { NODE_USE_ENV_PROXY: "1", http_proxy: deadProxy, NO_PROXY: "intranet.example", no_proxy: "other.example" },
  },
  "a proxy that is no address": { env: { HTTP_PROXY: "proxy.example:8080", HTTPS_PROXY: "::" } },
  "a file of certificates": {
    env: { NODE_EXTRA_CA_CERTS: "$AWAY/ca.pem", SSL_CERT_FILE: "$AWAY/ca.pem", NODE_USE_SYSTEM_CA: "1" },
    before: `cp /etc/ssl/certs/ca-certificates.crt "$away/ca.pem" || : >"$away/ca.pem"`,
  },
  "a file of certificates that is missing": {
    env: { NODE_EXTRA_CA_CERTS: "/nowhere/ca.pem", SSL_CERT_FILE: "/nowhere/ca.pem", SSL_CERT_DIR: "/nowhere" },
  },

  "TZ empty": { env: { TZ: "" } },
  "TZ wrong": { env: { TZ: "Nowhere/Atlantis" } },
  "TZ in the form of POSIX": { env: { TZ: ":/etc/localtime" } },
  "TZ fourteen hours ahead": { env: { TZ: "Pacific/Kiritimati" } },
  "LANG=C": { env: { LANG: "C", LC_ALL: "C" } },
  "LANG unset": { env: { LANG: undefined } },
  Turkish: { env: { LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8" } },
  "Japanese in Shift JIS": { env: { LANG: "ja_JP.SJIS", LC_ALL: "ja_JP.SJIS" } },
  "German numbers in Latin-1": { env: { LANG: "de_DE.ISO-8859-1", LC_ALL: "de_DE.ISO-8859-1", LC_NUMERIC: "de_DE" } },
  "a language that is not installed": { env: { LANG: "xx_YY.UTF-8", LC_ALL: "xx_YY.ISO-8859-1", LANGUAGE: "xx:yy" } },

  "HOME unset": { env: { HOME: undefined }, before: `mount --bind "$home" ~root`, needs: "mount" },
  "HOME empty": { env: { HOME: "" }, before: `mount --bind "$home" ~root`, needs: "mount" },
  "HOME with a slash at its end": { env: { HOME: "$HOME/" } },
  "HOME relative": { env: { HOME: "." }, before: `cd "$home"` },
  "HOME through a link": { env: { HOME: "$AWAY/link" }, before: `ln -s "$home" "$away/link"` },
  "HOME missing": { env: { HOME: "$AWAY/new/home" } },
  "HOME with blanks, umlauts and signs of a shell": {
    shown: "a home with blanks and signs of a shell",
    env: { HOME: '$AWAY/Jörg  Müller\'s $(false) & "Söhne"' },
    before: `mkdir "$away/Jörg  Müller's \\$(false) & \\"Söhne\\""`,
  },
  "HOME of 300 characters": {
    env: { HOME: `$AWAY/${"x".repeat(100)}/${"y".repeat(100)}/${"z".repeat(100)}` },
    before: `mkdir -p "$away/${"x".repeat(100)}/${"y".repeat(100)}/${"z".repeat(100)}"`,
  },
  "HOME that is no folder": {
    env: { HOME: "/dev/null" },
    refuses: /a file stands where a folder must be.*set MILLRACE_HOME to another folder/s,
  },
  "a home that cannot be written": {
    refuses: /cannot be written: .*MILLRACE_HOME/s,
    before: `mount --bind "$home" "$home"; mount -o remount,bind,ro "$home"`,
    needs: "mount",
  },
  "a home of very old files": {
    before: `mkdir -p "$home/.millrace" "$home/.config"; : >"$home/.millrace/turns.db"; printf '{' >"$home/.millrace/gateway.json"; printf '99999999' >"$home/.millrace/gateway.lock"; find "$home" -exec touch -h -d 1980-01-01 {} +`,
  },

  "a home in which nothing can be run": { before: `mount -t tmpfs -o noexec tmpfs "$home"`, needs: "mount" },
  "a home that cannot be written, and MILLRACE_HOME elsewhere": {
    env: { MILLRACE_HOME: "$AWAY/own", XDG_DATA_HOME: "$AWAY/data", XDG_CACHE_HOME: "$AWAY/cache" }, // the agent stores its sessions there
    before: `mount --bind "$home" "$home"; mount -o remount,bind,ro "$home"`,
    needs: "mount",
    cannot: { setup: /cannot be written: /, undo: /Nothing was set up/ },
  },
  "umask 027": { before: "umask 027" },
  "umask 077": { before: "umask 077" },
  "umask 000": { before: "umask 000" },
  "TMPDIR of 200 characters": {
    env: { TMPDIR: `$TMPDIR/${"t".repeat(100)}/${"u".repeat(100)}` },
    before: `mkdir -p "$temporary/${"t".repeat(100)}/${"u".repeat(100)}"`,
  },
  "TMPDIR missing": { env: { TMPDIR: "$AWAY/no/such/folder" } },
  "TMPDIR empty": { env: { TMPDIR: "" } },
  "TMPDIR in which nothing can be run": {
    shown: "`TMPDIR` in which nothing may run",
    before: `mount -t tmpfs -o noexec tmpfs "$temporary"`,
    needs: "mount",
  },
  "TMPDIR that cannot be written": { before: `mount -t tmpfs -o ro tmpfs "$temporary"`, needs: "mount" },

  "PATH with blanks": { env: { PATH: "$AWAY/a folder:/usr/bin:/bin:: :" }, before: `mkdir "$away/a folder"` },
  "PATH empty": { env: { PATH: "" } },
  "PATH unset": { env: { PATH: undefined } },
  "no ps, no lsof": {
    shown: "neither `ps` nor `lsof`",
    before: `for each in ps lsof ss ip; do file=$(command -v $each) && mount --bind /dev/null "$file"; done; true`,
    needs: "mount",
  },
  "no /proc": {
    shown: "no `/proc`",
    before: `mount -t tmpfs none /proc`,
    needs: "mount",
    cannot: { found: /cannot see which programs run here/ },
  },
  "/proc that hides other users": { before: `mount -o remount,hidepid=2 /proc`, needs: "mount" },
  "no /etc": { before: `mkdir "$away/etc"; mount --bind "$away/etc" /etc`, needs: "mount" },
  "no machine id": { before: `mount --bind /dev/null /etc/machine-id`, needs: "mount" },

  "localhost is another machine": {
    before: `printf '10.11.12.13 localhost\\n' >"$away/hosts"; mount --bind "$away/hosts" /etc/hosts`,
    needs: "mount",
  },
  "localhost is unknown": { before: `mount --bind /dev/null /etc/hosts`, needs: "mount" },
  "localhost is IPv6 only": {
    before: `printf '::1 localhost\\n' >"$away/hosts"; mount --bind "$away/hosts" /etc/hosts`,
    needs: "mount",
  },
  "no IPv6": { shown: "no IPv6", before: `sysctl -qw net.ipv6.conf.all.disable_ipv6=1`, needs: "mount" },
  "no IPv4": {
    before: `ip addr del 127.0.0.1/8 dev lo`,
    needs: "mount",
    refuses: /This machine has no address 127\.0\.0\.1.*--host ::1/s,
    demo: "refuses",
  },
  "a machine with the longest name": { before: `hostname ${"n".repeat(64)}`, needs: "mount" },
  "a machine without a name": { before: `echo >/proc/sys/kernel/hostname`, needs: "mount" },
  "a machine with umlauts in its name": {
    before: `printf 'm\\303\\274ller' >/proc/sys/kernel/hostname`,
    needs: "mount",
  },
  "a machine called localhost": { before: "hostname localhost", needs: "mount" },

  "stdin closed": { redirect: "<&-" },
  "stdin is a folder": { redirect: "</" },
  "stderr closed": { redirect: "2>&-" },
  "a current folder that was removed": { before: `mkdir "$away/gone"; cd "$away/gone"; rmdir "$away/gone"` },
  "a current folder that cannot be read": {
    before: `${giveAway}; mkdir "$away/closed"; cd "$away/closed"; chmod 000 "$away/closed"`,
    under: asOther,
    needs: "users",
  },
  "a current folder that cannot be written": { before: `cd /proc`, needs: "mount" },
  "XDG folders elsewhere": {
    env: {
      XDG_CONFIG_HOME: "$AWAY/config",
      XDG_DATA_HOME: "$AWAY/data",
      XDG_STATE_HOME: "$AWAY/state",
      XDG_CACHE_HOME: "$AWAY/cache",
      XDG_RUNTIME_DIR: "$AWAY/runtime",
    },
  },
  "XDG folders relative or empty": {
    env: {
      XDG_CONFIG_HOME: "config",
      XDG_DATA_HOME: "./data",
      XDG_STATE_HOME: "",
      XDG_CACHE_HOME: "../cache",
      XDG_RUNTIME_DIR: "run",
    },
  },
  "XDG folders that cannot be made": {
    cannot: { setup: /cannot be written: /, undo: /Nothing was set up/ },
    env: { XDG_CONFIG_HOME: "/dev/null/a", XDG_DATA_HOME: "relative", XDG_CACHE_HOME: "/dev/null/b" },
  },
  "an XDG folder through links that lead to themselves": {
    cannot: { setup: /cannot be read: links on the way/, undo: /Nothing was set up/ },
    env: { XDG_CONFIG_HOME: "$AWAY/loop" },
    before: `ln -s loop "$away/loop"`,
  },
  NO_COLOR: { env: { NO_COLOR: "1" } },
  "FORCE_COLOR beside NO_COLOR": { env: { NO_COLOR: "1", FORCE_COLOR: "3" } },
  "TERM=dumb": { env: { TERM: "dumb" } },
  "variables of a build server": { env: { CI: "true", NODE_ENV: "production", DEBUG: "*", NODE_DEBUG: "" } },
  "only what must be there": {
    env: { PATH: undefined, LANG: undefined, TERM: undefined, USER: undefined, SHELL: undefined },
  },
  "Node's own options": { env: { NODE_OPTIONS: "--max-old-space-size=512 --trace-uncaught", NODE_PATH: "/nowhere" } },
  "Node with its inspector": { env: { NODE_OPTIONS: "--inspect" } },
  "Node that warns of all": { env: { NODE_OPTIONS: "--trace-warnings --trace-deprecation --pending-deprecation" } },
  "npm's settings": {
    env: {
      npm_config_prefix: "$AWAY/npm",
      npm_config_offline: "true",
      npm_config_loglevel: "silly",
      npm_lifecycle_event: "x",
    },
  },
  "certificates are not checked": { env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } },
  "64 open files": { shown: "64 open files", before: "ulimit -n 64" },
  "no core files, little stack": { before: "ulimit -c 0; ulimit -s 1024" },

  "Node 22": { shown: "Node 22", runtime: "node_modules/node-22/bin/node" },
  "Node 26": { shown: "Node 26", runtime: "node_modules/node-26/bin/node" },
  Bun: { shown: "Bun", runtime: "node_modules/@oven/bun-linux-x64/bin/bun" },

  "programs that answer as those of macOS": {
    runtime: "$AWAY/node",
    env: { PATH: "$AWAY:/usr/bin:/bin" },
    before: `sh "$suite/macos/make.sh" "$node" "$suite/../../src/ide/fixtures/fake-macos.mjs" "$away"`,
    needs: "mount",
    more: [
      ["service install", /The service \(launchd\) serves on http/],
      ["service install", /The service \(launchd\) serves on http/], // over the first one, which takes its time to end
      ["service", /The service is installed/],
      ["service uninstall", /The service is removed/],
    ],
  },

  "a user without a name": { shown: "a user without a name", before: giveAway, under: asOther, needs: "users" },
  "a user without a name or HOME": {
    cannot: { setup: /cannot be written: /, undo: /Nothing was set up/ },
    env: { HOME: undefined, MILLRACE_HOME: "$AWAY/millrace", XDG_DATA_HOME: "$AWAY/data" }, // the agent stores its sessions there
    before: giveAway,
    under: asOther,
    needs: "users",
  },
  "a user without a name, HOME or MILLRACE_HOME": {
    env: { HOME: undefined },
    before: giveAway,
    under: asOther,
    needs: "users",
    refuses: /cannot be written: .*(MILLRACE_HOME|It must be yours)/s,
  },
  "two users: the other one's gateway has the port": {
    before: `${giveAway}; mkdir "$away/other"; of_another "$away/other" serve --background >"$away/said"`,
    under: asOther,
    needs: "users",
  },
  "another user's home, as root": { before: giveAway, needs: "users" },
  "a home that belongs to somebody else": {
    under: asOther,
    before: `chmod 755 "$home"; chown -R 54321:54321 "$temporary"`,
    needs: "users",
    refuses: /you may not write to .*MILLRACE_HOME/s,
  },
};
