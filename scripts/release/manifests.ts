/** What the manifests of a release say. */
export interface Release {
  readonly version: string;
  readonly description: string;
  readonly homepage: string;
  /** Where the files of this version stay. */
  readonly files: string;
  /** The SHA-256 of each program, by its platform. */
  readonly sums: Readonly<Record<string, string>>;
}

const winget = "Millrace.Millrace";

/** Each file that a package manager reads, by its name. One release, one table: a new manager is a row. */
export function manifestsOf(release: Release): Readonly<Record<string, string>> {
  const { version, description, homepage, files, sums } = release;
  const summary = description.replace(/,.*|\.$/g, "");
  const address = (platform: string) => `${files}/millrace-${platform}${platform === "win32-x64" ? ".exe" : ""}`;
  const sum = (platform: string) => {
    const found = sums[platform];
    if (found === undefined) throw new Error(`This release has no program for ${platform}.`);
    return found;
  };
  const brew = (platform: string) => `url ${JSON.stringify(address(platform))}\n      sha256 "${sum(platform)}"`;
  const yaml = (kind: string, more: string) =>
    `PackageIdentifier: ${winget}\nPackageVersion: ${version}\n${more}ManifestType: ${kind}\nManifestVersion: 1.10.0\n`;
  return {
    "millrace.rb": `class Millrace < Formula
  desc ${JSON.stringify(summary)}
  homepage ${JSON.stringify(homepage)}
  version "${version}"
  license "MIT"

  on_macos do
    on_arm do
      ${brew("darwin-arm64")}
    end
    on_intel do
      ${brew("darwin-x64")}
    end
  end

  on_linux do
    on_arm do
      ${brew("linux-arm64")}
    end
    on_intel do
      ${brew("linux-x64")}
    end
  end

  def install
    bin.install Dir["millrace-*"].first => "millrace"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/millrace --version")
  end
end
`,
    "scoop.json": `${JSON.stringify(
      {
        version,
        description: summary,
        homepage,
        license: "MIT",
        architecture: { "64bit": { url: `${address("win32-x64")}#/millrace.exe`, hash: sum("win32-x64") } },
        bin: "millrace.exe",
      },
      null,
      4,
    )}\n`,
    [`${winget}.yaml`]: yaml("version", "DefaultLocale: en-US\n"),
    [`${winget}.locale.en-US.yaml`]: yaml(
      "defaultLocale",
      `PackageLocale: en-US\nPublisher: Millrace\nPackageName: Millrace\nPackageUrl: ${homepage}\nLicense: MIT\nShortDescription: ${JSON.stringify(summary)}\n`,
    ),
    [`${winget}.installer.yaml`]: yaml(
      "installer",
      `InstallerType: portable\nCommands:\n- millrace\nInstallers:\n- Architecture: x64\n  InstallerUrl: ${address("win32-x64")}\n  InstallerSha256: "${sum("win32-x64").toUpperCase()}"\n`,
    ),
    Containerfile: `# A gateway in a container: docs/platforms.md says what works inside one, and how to run it.
FROM docker.io/library/debian:trixie-slim
ADD --checksum=sha256:${sum("linux-x64")} --chmod=755 ${address("linux-x64")} /usr/local/bin/millrace
RUN useradd --create-home millrace && mkdir /data && chown millrace:millrace /data
USER millrace
ENV MILLRACE_HOME=/data
VOLUME /data
ENTRYPOINT ["millrace"]
CMD ["serve"]
`,
  };
}

/** The page of the release. */
export function notesOf({ version, files }: Pick<Release, "version" | "files">, latest: string): string {
  const repository = new URL(files).pathname.split("/").slice(1, 3).join("/");
  return `Install Millrace ${version} without Node:

\`\`\`sh
curl -fsSL ${latest}/install.sh | sh
\`\`\`

In PowerShell:

\`\`\`powershell
irm ${latest}/install.ps1 | iex
\`\`\`

With Node: \`npx millrace demo\`, or \`npm install --global millrace\`. \`millrace update\` updates it, \`millrace uninstall\` removes what it made.

- Each program has its checksum in \`SHA256SUMS\`, and its libraries in \`millrace.cdx.json\` (CycloneDX). \`gh attestation verify FILE --repo ${repository}\` says which commit and which run made a file.
- **macOS**: the programs are signed for this machine only (ad hoc), not by a certificate of Apple, and not notarized. What the script fetched starts. For a file that a browser fetched, type \`xattr -d com.apple.quarantine millrace-darwin-arm64\`.
- **Windows**: the program is not signed. What the script fetched starts. For a file that a browser fetched, type \`Unblock-File millrace-win32-x64.exe\`; a policy that allows signed programs only refuses it.
- \`millrace.rb\`, \`scoop.json\`, \`Millrace.Millrace*.yaml\` and \`Containerfile\` are for Homebrew, Scoop, winget and containers. All name ${files}.
`;
}
