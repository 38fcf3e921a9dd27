# Installs Millrace as one file below your user's folder. Needs nothing else: no Node, no git, no administrator.
# MILLRACE_DOWNLOAD: where the files of a release are. MILLRACE_BIN: the folder to put the program in.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$download = $env:MILLRACE_DOWNLOAD
if (-not $download) { throw 'No release of Millrace exists yet. Set MILLRACE_DOWNLOAD to the address of its files.' }
$download = $download.TrimEnd('/')
$name = 'millrace-win32-x64.exe'
$folder = $env:MILLRACE_BIN
if (-not $folder) { $folder = Join-Path $env:LOCALAPPDATA 'Programs\Millrace' }
New-Item -ItemType Directory -Force -Path $folder | Out-Null
$part = Join-Path $folder ('millrace-' + [guid]::NewGuid() + '.exe')
try {
  [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
  Invoke-WebRequest -UseBasicParsing -Uri "$download/$name.sha256" -OutFile "$part.sha256"
  Invoke-WebRequest -UseBasicParsing -Uri "$download/$name" -OutFile $part
  $wanted = (Get-Content -Raw "$part.sha256").Substring(0, 64)
  if ((Get-FileHash -Algorithm SHA256 $part).Hash -ne $wanted) { throw 'The file is not the one of the checksum. Nothing was installed.' }
  & $part --version | Out-Null
  if ($LASTEXITCODE -ne 0) { throw 'The file does not start here. Nothing was installed.' }
  $own = $env:MILLRACE_HOME
  if (-not $own) { $own = Join-Path $env:USERPROFILE '.millrace' }
  New-Item -ItemType Directory -Force -Path $own | Out-Null
  [IO.File]::WriteAllText((Join-Path $own 'release.json'), '{"from":"' + $download + '"}') # for `millrace update`
  $program = Join-Path $folder 'millrace.exe'
  # Windows replaces no program that runs, but it moves one aside. `millrace uninstall` knows this name.
  if (Test-Path $program) { Move-Item -Force $program (Join-Path $folder 'millrace-previous.exe') }
  Move-Item $part $program
} finally {
  Remove-Item -Force -ErrorAction SilentlyContinue $part, "$part.sha256"
}
$typed = $folder.Replace("'", "''") # as a person has to type it
Write-Output "Installed $folder\millrace.exe."
Write-Output "Add it to your PATH: [Environment]::SetEnvironmentVariable('Path', [Environment]::GetEnvironmentVariable('Path', 'User') + ';$typed', 'User')"
Write-Output "Type: & '$typed\millrace.exe' demo"
Write-Output "To remove it: & '$typed\millrace.exe' uninstall, then Remove-Item -Recurse '$typed'"
