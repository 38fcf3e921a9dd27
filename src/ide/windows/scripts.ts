/**
 * The scripts that PowerShell runs. Each prints one JSON text. A script is passed encoded (base64 of UTF-16), so that no part of it
 * goes through a shell's quoting; only numbers are ever put into one. They run in Windows PowerShell 5.1, which every Windows has, and
 * in PowerShell 7.
 */
import { appPrograms } from "../apps/installed-apps.ts";
import { serverVariables } from "../host/host.ts";

const head = `$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
[Console]::OutputEncoding = New-Object Text.UTF8Encoding $false
`;

const describe = `$me = [Security.Principal.WindowsIdentity]::GetCurrent().User.Value
function Describe($p) {
  $sid = $null
  try { $sid = (Invoke-CimMethod -InputObject $p -MethodName GetOwnerSid).Sid } catch { }
  $started = $null
  if ($p.CreationDate) { $started = [long]([DateTimeOffset]$p.CreationDate).ToUnixTimeMilliseconds() }
  @{ ProcessId = $p.ProcessId; ParentProcessId = $p.ParentProcessId; CommandLine = $p.CommandLine
     ExecutablePath = $p.ExecutablePath; StartedAtMs = $started; Mine = $(if ($sid) { $sid -eq $me } else { $null }) }
}
`;

/** Processes that may be servers or apps (see `looksLikeServer`, `looksLikeApp`), by words in their name or command line; the rest is only counted. */
export const listScript = `${head}${describe}$all = @(Get-CimInstance Win32_Process)
$some = @($all | Where-Object { $_.Name -match '^(language[_-]server|agy|antigravity-cli)' -or
  ($_.Name -match '^${appPrograms}$' -and $_.CommandLine -notmatch ' --type=') -or
  $_.CommandLine -match 'language_server|-ide_name|-app_data_dir|-override_ide_name|antigravity-cli' })
@{ Looked = $all.Count; Processes = @($some | ForEach-Object { Describe $_ }) } | ConvertTo-Json -Compress -Depth 4
`;

export function processScript(pid: number): string {
  return `${head}${describe}$p = Get-CimInstance Win32_Process -Filter 'ProcessId = ${Math.trunc(pid)}'
if ($p) { Describe $p | ConvertTo-Json -Compress } else { '[]' }
`;
}

export const listeningScript = `${head}Get-NetTCPConnection -State Listen |
  Select-Object -Property @('LocalAddress', 'LocalPort', 'OwningProcess') | ConvertTo-Json -Compress
`;

/**
 * Reads the environment block of a 64-bit process of this user out of its memory, because Windows has no command for it:
 * PEB + 0x20 is ProcessParameters, + 0x80 of that the block, + 0x3F0 its size.
 * Source: docs/dev/wire/processes.md, "Environment of another Windows process".
 */
const pebReader = `using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Text;
public static class MillracePeb {
  [StructLayout(LayoutKind.Sequential)]
  struct BasicInformation { public IntPtr ExitStatus, Peb, Affinity, Priority, Pid, ParentPid; }
  [DllImport("ntdll.dll")]
  static extern int NtQueryInformationProcess(IntPtr process, int kind, ref BasicInformation information, int size, out int written);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern IntPtr OpenProcess(int access, bool inherit, int pid);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern bool ReadProcessMemory(IntPtr process, IntPtr address, byte[] buffer, IntPtr size, out IntPtr read);
  [DllImport("kernel32.dll")]
  static extern bool CloseHandle(IntPtr handle);
  const int QueryInformation = 0x0400, ReadMemory = 0x0010, MaxBytes = 1048576, Page = 4096;
  static byte[] Read(IntPtr process, long address, int size) {
    byte[] buffer = new byte[size];
    IntPtr read;
    if (!ReadProcessMemory(process, new IntPtr(address), buffer, new IntPtr(size), out read) || read.ToInt64() != size) throw new Win32Exception();
    return buffer;
  }
  static byte[] ReadPages(IntPtr process, long address) {
    List<byte> all = new List<byte>();
    while (all.Count < MaxBytes) {
      int size = Page - (int)((address + all.Count) % Page);
      try { all.AddRange(Read(process, address + all.Count, size)); } catch (Win32Exception) { break; }
      if (Encoding.Unicode.GetString(all.ToArray()).IndexOf("\\0\\0", StringComparison.Ordinal) >= 0) break;
    }
    return all.ToArray();
  }
  public static string[] Variables(int pid) {
    IntPtr process = OpenProcess(QueryInformation | ReadMemory, false, pid);
    if (process == IntPtr.Zero) throw new Win32Exception();
    try {
      BasicInformation information = new BasicInformation();
      int written;
      if (NtQueryInformationProcess(process, 0, ref information, Marshal.SizeOf(information), out written) != 0) throw new Win32Exception();
      long parameters = BitConverter.ToInt64(Read(process, information.Peb.ToInt64() + 0x20, 8), 0);
      long block = BitConverter.ToInt64(Read(process, parameters + 0x80, 8), 0);
      long size = BitConverter.ToInt64(Read(process, parameters + 0x3F0, 8), 0);
      byte[] bytes = size > 0 && size <= MaxBytes ? Read(process, block, (int)size) : ReadPages(process, block);
      string text = Encoding.Unicode.GetString(bytes);
      int end = text.IndexOf("\\0\\0", StringComparison.Ordinal);
      return (end < 0 ? text : text.Substring(0, end)).Split('\\0');
    } finally {
      CloseHandle(process);
    }
  }
}`;

export function environmentScript(pid: number): string {
  return `${head}Add-Type -TypeDefinition @'
${pebReader}
'@
$wanted = '${serverVariables.join("','")}'
$found = @{}
foreach ($pair in [MillracePeb]::Variables(${Math.trunc(pid)})) {
  $equals = $pair.IndexOf('=')
  if ($equals -gt 0) {
    $name = $pair.Substring(0, $equals).ToUpperInvariant()
    if ($wanted -contains $name) { $found[$name] = $pair.Substring($equals + 1) }
  }
}
$found | ConvertTo-Json -Compress
`;
}

/** Arguments that make PowerShell run a script and nothing of the user's own set-up. */
export function encodedArguments(script: string): readonly string[] {
  const encoded = Buffer.from(script, "utf16le").toString("base64");
  return ["-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-EncodedCommand", encoded];
}
