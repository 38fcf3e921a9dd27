import type { JsonObject } from "../../src/base/json.ts";
import type { Place } from "./owners/owner.ts";

/** The names of an agent's settings, each as the path of its members, by the form of their values. */
interface Names {
  readonly texts: string;
  /** Lists of texts. */
  readonly lists: string;
  readonly flags: string;
}

/**
 * What takes a text, a list of texts or a flag: of Claude, Gemini CLI and Qwen Code by their published schemas, of OpenCode and Codex listed by
 * hand.
 */
const settingNames: Readonly<Record<string, Names>> = {
  opencode: {
    texts: `
      shell default_agent username server.hostname agent.plan.prompt agent.plan.description agent.build.prompt agent.general.prompt
      agent.title.prompt agent.compaction.prompt mode.plan.prompt command.deploy.template reference.owner.path enterprise.url`,
    lists: `
      instructions plugin skills.paths experimental.primary_tools formatter.owner.command lsp.owner.command watcher.ignore`,
    flags: `
      snapshot autoshare tools.bash tools.read tools.write tools.task experimental.batch_tool experimental.openTelemetry
      experimental.continue_loop_on_deny compaction.auto compaction.prune`,
  },
  codex: {
    texts: `
      instructions developer_instructions model_instructions_file experimental_instructions_file compact_prompt
      experimental_compact_prompt_file model_catalog_json commit_attribution personality log_dir sqlite_home js_repl_node_path zsh_path
      review_model auto_review.policy audio.microphone realtime.voice memories.extract_model memories.consolidation_model otel.environment
      agents.helper.config_file agents.helper.description experimental_realtime_start_instructions experimental_realtime_ws_base_url
      file_opener`,
    lists: `
      notify project_root_markers project_doc_fallback_filenames js_repl_node_module_dirs shell_environment_policy.include_only
      sandbox_workspace_write.writable_roots hooks.managed_dirs notice.seen`,
    flags: `
      hide_agent_reasoning show_raw_agent_reasoning allow_login_shell disable_paste_burst include_apps_instructions
      include_environment_context include_permissions_instructions suppress_unstable_features_warning experimental_use_unified_exec_tool
      experimental_use_freeform_apply_patch otel.log_user_prompt memories.use_memories memories.generate_memories
      features.apply_patch_freeform features.child_agents_md features.chronicle features.code_mode features.code_mode_only features.collab
      features.connectors features.enable_fanout features.hooks features.js_repl features.memories features.memory_tool features.multi_agent
      features.plugins features.remote_plugin features.responses_websockets features.search_tool features.shell_snapshot features.shell_tool
      features.skill_mcp_dependency_install features.sqlite features.tool_search features.unified_exec features.web_search
      features.web_search_request features.workspace_dependencies tools.view_image tools.web_search skills.bundled.enabled`,
  },
  claude: {
    texts: `
      apiKeyHelper awsCredentialExport awsAuthRefresh attribution.commit attribution.pr plansDirectory language model statusLine.command
      fileSuggestion.command forceLoginOrgUUID otelHeadersHelper outputStyle sandbox.network.tlsTerminate.caCertPath
      sandbox.network.tlsTerminate.caKeyPath sandbox.ripgrep.command sandbox.bwrapPath sandbox.socatPath prUrlTemplate pluginTrustMessage
      agent autoMemoryDirectory minimumVersion subagentStatusLine.command advisorModel gcpAuthRefresh requiredMaximumVersion
      requiredMinimumVersion claudeMd policyHelper.path teammateDefaultModel processWrapper forceLoginGatewayUrl`,
    lists: `
      claudeMdExcludes permissions.additionalDirectories availableModels enabledMcpjsonServers disabledMcpjsonServers httpHookAllowedEnvVars
      allowedHttpHookUrls skippedMarketplaces skippedPlugins sandbox.network.allowUnixSockets sandbox.network.allowedDomains
      sandbox.network.deniedDomains sandbox.network.allowMachLookup sandbox.excludedCommands sandbox.filesystem.allowWrite
      sandbox.filesystem.denyWrite sandbox.filesystem.denyRead sandbox.filesystem.allowRead sandbox.ripgrep.args sandbox.enabledPlatforms
      spinnerVerbs.verbs spinnerTipsOverride.tips companyAnnouncements worktree.sparsePaths worktree.symlinkDirectories autoMode.allow
      autoMode.soft_deny autoMode.environment autoMode.hard_deny fallbackModel pluginSuggestionMarketplaces sshHostAllowlist`,
    flags: `
      autoMemoryEnabled attribution.sessionUrl includeGitInstructions includeCoAuthoredBy respectGitignore fastMode fastModePerSessionOptIn
      enableAllProjectMcpServers disableAllHooks allowManagedHooksOnly allowManagedPermissionRulesOnly statusLine.hideVimModeIndicator
      skipWebFetchPreflight sandbox.network.allowLocalBinding sandbox.network.allowAllUnixSockets sandbox.network.allowManagedDomainsOnly
      sandbox.network.strictAllowlist sandbox.autoAllowBashIfSandboxed sandbox.enableWeakerNetworkIsolation sandbox.enableWeakerNestedSandbox
      sandbox.allowUnsandboxedCommands sandbox.enabled sandbox.filesystem.allowManagedReadPathsOnly sandbox.filesystem.disabled
      sandbox.failIfUnavailable sandbox.credentials.allowPlaintextInject sandbox.allowAppleEvents spinnerTipsEnabled
      spinnerTipsOverride.excludeDefault terminalProgressBarEnabled showTurnDuration prefersReducedMotion alwaysThinkingEnabled
      allowManagedMcpServersOnly autoMode.classifyAllShell channelsEnabled disableSkillShellExecution forceRemoteSettingsRefresh
      showClearContextOnPlanAccept showThinkingSummaries skipDangerousModePermissionPrompt strictPluginOnlyCustomization
      useAutoModeDuringPlan voiceEnabled wslInheritsWindowsSettings autoCompactEnabled disableAgentView enforceAvailableModels
      fileCheckpointingEnabled respondToBashCommands voice.enabled voice.autoSubmit wheelScrollAccelerationEnabled disableBundledSkills
      awaySummaryEnabled autoScrollEnabled allowAllClaudeAiMcps agentPushNotifEnabled axScreenReader disableArtifact
      disableClaudeAiConnectors disableRemoteControl disableWorkflows inputNeededNotifEnabled remoteControlAtStartup
      syntaxHighlightingDisabled verbose workflowKeywordTriggerEnabled enableArtifact permissionExplainerEnabled externalEditorContext
      autoConnectIde autoInstallIdeExtension emojiCompletionEnabled disableSideloadFlags disableBrowserExternalNavigation
      disableMobileSimulatorTools requireCoworkFullVmSandbox`,
  },
  gemini: {
    texts: `
      general.plan.directory general.sessionRetention.maxAge general.sessionRetention.minRetention ui.theme telemetry.target
      telemetry.otlpEndpoint telemetry.outfile model.name agents.browser.profilePath agents.browser.visualModel context.fileName
      context.importFormat tools.sandbox.image tools.shell.pager tools.discoveryCommand tools.callCommand mcp.serverCommand
      security.auth.selectedType security.auth.enforcedType advanced.dnsResolutionOrder advanced.bugCommand.urlTemplate
      experimental.extensionRegistryURI experimental.gemmaModelRouter.binaryPath experimental.gemmaModelRouter.classifier.host
      experimental.gemmaModelRouter.classifier.model`,
    lists: `
      policyPaths adminPolicyPaths ui.footer.items ui.customWittyPhrases agents.browser.allowedDomains context.memoryBoundaryMarkers
      context.includeDirectories context.fileFiltering.customIgnoreFilePaths tools.sandbox.allowedPaths tools.sandboxAllowedPaths tools.core
      tools.allowed tools.confirmationRequired tools.exclude mcp.allowed mcp.excluded security.allowedExtensions
      security.environmentVariableRedaction.allowed security.environmentVariableRedaction.blocked advanced.excludedEnvVars
      extensions.disabled extensions.workspacesWithMigrationNudge skills.disabled hooksConfig.disabled`,
    flags: `
      general.openEditorInNewWindow general.vimMode general.devtools general.enableAutoUpdate general.enableAutoUpdateNotification
      general.enableNotifications general.checkpointing.enabled general.plan.enabled general.plan.modelRouting general.retryFetchErrors
      general.debugKeystrokeLogging general.sessionRetention.enabled general.topicUpdateNarration general.logRagSnippets ui.debugRainbow
      ui.autoThemeSwitching ui.hideWindowTitle ui.showStatusInTitle ui.dynamicWindowTitle ui.showHomeDirectoryWarning
      ui.showCompatibilityWarnings ui.hideTips ui.escapePastedAtSymbols ui.showShortcutsHint ui.compactToolOutput ui.hideBanner
      ui.hideContextSummary ui.footer.showLabels ui.footer.hideCWD ui.footer.hideSandboxStatus ui.footer.hideModelInfo
      ui.footer.hideContextPercentage ui.hideFooter ui.collapseDrawerDuringApproval ui.showMemoryUsage ui.showLineNumbers ui.showCitations
      ui.showModelInfoInChat ui.showUserIdentity ui.useAlternateBuffer ui.renderProcess ui.terminalBuffer ui.useBackgroundColor
      ui.incrementalRendering ui.showSpinner ui.accessibility.enableLoadingPhrases ui.accessibility.screenReader ide.enabled ide.hasSeenNudge
      privacy.usageStatisticsEnabled telemetry.enabled telemetry.traces telemetry.logPrompts telemetry.useCollector telemetry.useCliAuth
      model.disableLoopDetection model.skipNextSpeakerCheck agents.browser.headless agents.browser.disableUserInput
      agents.browser.confirmSensitiveActions agents.browser.blockFileUploads context.includeDirectoryTree
      context.loadMemoryFromIncludeDirectories context.fileFiltering.respectGitIgnore context.fileFiltering.respectGeminiIgnore
      context.fileFiltering.enableFileWatcher context.fileFiltering.enableRecursiveFileSearch context.fileFiltering.enableFuzzySearch
      tools.sandbox.enabled tools.sandbox.networkAccess tools.sandboxNetworkAccess tools.shell.enableInteractiveShell tools.shell.showColor
      tools.shell.enableShellOutputEfficiency tools.useRipgrep tools.disableLLMCorrection useWriteTodos security.toolSandboxing
      security.disableYoloMode security.disableAlwaysAllow security.enablePermanentToolApproval security.autoAddToPolicyByDefault
      security.blockGitExtensions security.folderTrust.enabled security.environmentVariableRedaction.enabled security.auth.useExternal
      security.enableConseca advanced.autoConfigureMemory advanced.ignoreLocalEnv experimental.gemma experimental.voiceMode
      experimental.adk.agentSessionNoninteractiveEnabled experimental.adk.agentSessionInteractiveEnabled
      experimental.adk.agentSessionSubagentEnabled experimental.enableAgents experimental.worktrees experimental.extensionManagement
      experimental.extensionConfig experimental.extensionRegistry experimental.extensionReloading experimental.useOSC52Paste
      experimental.useOSC52Copy experimental.taskTracker experimental.modelSteering experimental.directWebFetch
      experimental.dynamicModelConfiguration experimental.gemmaModelRouter.enabled experimental.gemmaModelRouter.autoStartServer
      experimental.stressTestProfile experimental.autoMemory experimental.generalistProfile experimental.powerUserProfile
      experimental.contextManagement experimental.topicUpdateNarration skills.enabled hooksConfig.enabled hooksConfig.notifications
      contextManagement.tools.outputMasking.protectLatestTurn admin.secureModeEnabled admin.extensions.enabled admin.mcp.enabled
      admin.skills.enabled`,
  },
  qwen: {
    texts: `
      plansDirectory proxy general.preferredEditor general.outputStyle general.voice.language general.voice.keytermsFile
      general.outputLanguage dualOutput.jsonFile dualOutput.inputFile ui.theme ui.brand.name ui.brand.logoPath ui.customBannerTitle
      ui.customBannerSubtitle fastModel advisorModel visionModel compactionModel imageModel modelFallbacks voiceModel model.name
      model.baseUrl model.openAILoggingDir tools.sandboxImage tools.webSearch.model tools.shell.pager tools.discoveryCommand
      tools.callCommand mcp.serverCommand security.auth.selectedType security.auth.enforcedType security.auth.apiKey security.auth.baseUrl
      advanced.runtimeOutputDir agents.builtin.exploreModel agents.arena.worktreeBaseDir experimental.liveVoice.apiKey
      experimental.liveVoice.model experimental.liveVoice.endpoint experimental.liveVoice.voice experimental.liveVoice.shortcut
      artifact.host.uploadCommand artifact.host.urlTemplate artifact.host.keyPrefix artifact.oss.bucket artifact.oss.endpoint
      artifact.oss.keyPrefix artifact.oss.acl artifact.oss.publicBaseUrl omni.delivery.upload.baseUrl omni.delivery.upload.apiKeyEnv
      omni.delivery.upload.model omni.memory.recall.mode omni.memory.recall.sideQuery.model`,
    lists: `
      serve.channels ui.customWittyPhrases context.includeDirectories context.fileFiltering.customIgnoreFiles slashCommands.disabled
      skills.disabledLevels skills.disabled skills.defaultDisabled skills.enabled skills.directories permissions.allow permissions.ask
      permissions.deny permissions.autoMode.hints.allow permissions.autoMode.hints.softDeny permissions.autoMode.hints.hardDeny
      permissions.autoMode.hints.deny permissions.autoMode.environment tools.core tools.allowed tools.exclude tools.disabled tools.visible
      tools.eager mcp.allowed mcp.excluded security.allowedHttpHookUrls security.allowedInsecureVoiceBaseUrls advanced.excludedEnvVars
      agents.allowedGrades hooks.UserPromptSubmit hooks.UserPromptExpansion hooks.Stop hooks.StopFailure hooks.MessageDisplay
      hooks.Notification hooks.PreToolUse hooks.PostToolUse hooks.PostToolUseFailure hooks.PostToolBatch hooks.SessionStart hooks.SessionEnd
      hooks.SessionDelete hooks.PreCompact hooks.SubagentStart hooks.SubagentStop hooks.PermissionRequest hooks.PostCompact
      hooks.PermissionDenied hooks.TodoCreated hooks.TodoCompleted hooks.InstructionsLoaded worktree.symlinkDirectories
      omni.memory.recall.kinds`,
    flags: `
      general.vimMode general.voice.enabled general.voice.refineTranscript general.enableAutoUpdate general.showSessionRecap
      general.gitCoAuthor.commit general.gitCoAuthor.pr general.debugKeystrokeLogging general.terminalBell general.preventSystemSleep
      general.chatRecording review.attribution review.comment output.showTimestamps ui.autoModeAcknowledged ui.hideBuiltinWorktreeIndicator
      ui.hideWindowTitle ui.disableWorkflowKeywordTrigger ui.showStatusInTitle ui.hideTips ui.history.collapseOnResume ui.showLineNumbers
      ui.showCitations ui.showResponseTokensPerSecond ui.enableWelcomeBack ui.enableUserFeedback ui.enableFollowupSuggestions
      ui.enableCacheSharing ui.enableSpeculation ui.accessibility.enableLoadingPhrases ui.accessibility.screenReader ui.compactMode
      ui.useTerminalBuffer ui.showScrollbar ui.mouseTracking ui.showToolCallDetails ui.showToolCallArgs ui.hideBanner ide.enabled
      ide.hasSeenNudge privacy.usageStatisticsEnabled model.skipNextSpeakerCheck model.skipWorkflowUsageWarning model.skipLoopDetection
      model.skipStartupContext model.enableOpenAILogging model.generationConfig.enableCacheControl
      model.generationConfig.forceGlobalCacheScope model.generationConfig.splitToolMedia context.loadFromIncludeDirectories
      context.fileFiltering.respectGitIgnore context.fileFiltering.respectQwenIgnore context.fileFiltering.enableRecursiveFileSearch
      context.fileFiltering.enableFuzzySearch memory.enableManagedAutoMemory memory.enableManagedAutoDream memory.enableAutoSkill
      memory.autoSkillConfirm memory.enableTeamMemory memory.enableTeamMemorySync permissions.autoMode.classifier.thinking.stage2Enabled
      permissions.autoMode.classifyAllShell permissions.autoMode.mcp.forwardArguments tools.codeModeOnly tools.webSearch.enabled
      tools.webSearch.webExtractor tools.toolSearch.enabled tools.listDirectory.enabled tools.todoWrite.enabled
      tools.shell.enableInteractiveShell tools.shell.showColor tools.autoAccept tools.useRipgrep tools.useBuiltinRipgrep
      tools.workflowsEnabled tools.workflowNameOnly security.folderTrust.enabled security.auth.useExternal security.allowPrivateNetworkHooks
      advanced.autoConfigureMemory agents.crossSessionMessaging agents.arena.preserveArtifacts disableAllHooks experimental.liveVoice.enabled
      experimental.sessionWorkflow experimental.cron experimental.todoStopGuard experimental.sessionWriterLease experimental.agentTeam
      experimental.artifact experimental.emitToolUseSummaries artifact.autoOpen omni.enabled omni.memory.recall.includeHistoricalVersions`,
  },
};

/** What says where models are and how the agent signs in. It stays as its owner has it. */
const ofSignIn =
  /^(?:security\.auth|model\b|modelProviders|apiKeyHelper|aws|gcp|forceLogin|enabled_providers|disabled_providers|small_model)/;

/**
 * Settings with each of these names of the agent: a program leaves a mark, a path leads to a file with a canary, any other text is one. Each
 * mark and canary begins with `level`, and says the setting.
 */
export function plantedSettings(agent: string, place: Place, level: string): JsonObject {
  const { texts, lists, flags } = settingNames[agent] ?? { texts: "", lists: "", flags: "" };
  const settings: Record<string, unknown> = {};
  for (const name of wordsOf(texts)) put(settings, name, textFor(name, place, level));
  for (const name of wordsOf(lists)) put(settings, name, listFor(name, place, level));
  for (const name of wordsOf(flags)) put(settings, name, true);
  return settings;
}

const wordsOf = (names: string) => names.split(/\s+/).filter((name) => name !== "" && !ofSignIn.test(name));

const isProgram = (name: string) => /command|helper|wrapper|script|hook|notify|bin|node_path|shell/i.test(name);

function textFor(name: string, place: Place, level: string): string {
  if (isProgram(name)) return place.mark(`${level} ${name}`);
  if (/file|path|dir|folder|instructions|claudeMd/i.test(name)) return `${place.home}/project/notes.md`;
  return place.canary(`${level} ${name}`);
}

function listFor(name: string, place: Place, level: string): readonly string[] {
  return isProgram(name) ? ["sh", "-c", place.mark(`${level} ${name}`)] : [textFor(name, place, level)];
}

function put(settings: Record<string, unknown>, name: string, value: unknown): void {
  const path = name.split(".");
  const last = path.pop() ?? "";
  let at = settings;
  for (const step of path) at = (at[step] ??= {}) as Record<string, unknown>; // only objects are put here before
  at[last] = value;
}
