/**
 * Known names of models: UID, canonical name, vendor and label, one model a line, with tabs between. Data, not truth: the account's
 * own list decides which models exist, and the meaning of a MODEL_PRIVATE number.
 *
 * Source: docs/dev/wire/account.md.
 */
export const catalogueLines = `
MODEL_CHAT_3_5_TURBO	gpt-3.5-turbo	openai	GPT-3.5 Turbo
MODEL_CHAT_GPT_4	gpt-4	openai	GPT-4
MODEL_CHAT_GPT_4_1106_PREVIEW	gpt-4-turbo	openai	GPT-4 Turbo
MODEL_GOOGLE_GEMINI_1_0_PRO	gemini-1.0-pro	google	Gemini 1.0 Pro
MODEL_GOOGLE_GEMINI_1_5_PRO	gemini-1.5-pro	google	Gemini 1.5 Pro
MODEL_CLAUDE_3_OPUS_20240229	claude-3-opus	anthropic	Claude 3 Opus
MODEL_CLAUDE_3_SONNET_20240229	claude-3-sonnet	anthropic	Claude 3 Sonnet
MODEL_CHAT_GPT_4O_2024_05_13	gpt-4o-2024-05-13	openai	GPT-4o (2024-05-13)
MODEL_MISTRAL_7B	mistral-7b	mistral	Mistral 7B
MODEL_CLAUDE_3_5_SONNET_20240620	claude-3.5-sonnet-20240620	anthropic	Claude 3.5 Sonnet (20240620)
MODEL_LLAMA_3_1_405B_INSTRUCT	llama-3.1-405b	meta	Llama 3.1 405B
MODEL_LLAMA_3_1_8B_INSTRUCT	llama-3.1-8b	meta	Llama 3.1 8B
MODEL_LLAMA_3_1_70B_INSTRUCT	llama-3.1-70b	meta	Llama 3.1 70B
MODEL_CHAT_GPT_4O_2024_08_06	gpt-4o	openai	GPT-4o
MODEL_CHAT_GPT_4O_MINI_2024_07_18	gpt-4o-mini	openai	GPT-4o mini
MODEL_CHAT_O1_PREVIEW	o1-preview	openai	o1-preview
MODEL_CHAT_O1_MINI	o1-mini	openai	o1-mini
MODEL_CLAUDE_3_5_SONNET_20241022	claude-3.5-sonnet	anthropic	Claude 3.5 Sonnet
MODEL_CHAT_O1	o1	openai	o1
MODEL_CLAUDE_3_5_HAIKU_20241022	claude-3.5-haiku	anthropic	Claude 3.5 Haiku
MODEL_CLAUDE_3_HAIKU_20240307	claude-3-haiku	anthropic	Claude 3 Haiku
MODEL_QWEN_2_5_7B_INSTRUCT	qwen-2.5-7b	alibaba	Qwen 2.5 7B
MODEL_QWEN_2_5_32B_INSTRUCT	qwen-2.5-32b	alibaba	Qwen 2.5 32B
MODEL_QWEN_2_5_72B_INSTRUCT	qwen-2.5-72b	alibaba	Qwen 2.5 72B
MODEL_GOOGLE_GEMINI_EXP_1206	gemini-exp-1206	google	Gemini Exp 1206
MODEL_GOOGLE_GEMINI_2_0_FLASH	gemini-2.0-flash	google	Gemini 2.0 Flash
MODEL_DEEPSEEK_V3	deepseek-v3	deepseek	DeepSeek V3
MODEL_DEEPSEEK_R1	deepseek-r1	deepseek	DeepSeek R1
MODEL_CHAT_O3_MINI	o3-mini	openai	o3-mini
MODEL_LLAMA_3_3_70B_INSTRUCT	llama-3.3-70b	meta	Llama 3.3 70B
MODEL_LLAMA_3_3_70B_INSTRUCT_R1	llama-3.3-70b-r1	meta	Llama 3.3 70B R1
MODEL_XAI_GROK_2	grok-2	xai	Grok 2
MODEL_CHAT_O3_MINI_LOW	o3-mini:low	openai	o3-mini Low
MODEL_CHAT_O3_MINI_HIGH	o3-mini:high	openai	o3-mini High
MODEL_DEEPSEEK_R1_SLOW	deepseek-r1-slow	deepseek	DeepSeek R1 Slow
MODEL_DEEPSEEK_R1_FAST	deepseek-r1-fast	deepseek	DeepSeek R1 Fast
MODEL_XAI_GROK_3	grok-3	xai	Grok 3
MODEL_CHAT_O3	o3	openai	o3
MODEL_PRIVATE_2	claude-sonnet-4.5	anthropic	Claude Sonnet 4.5
MODEL_PRIVATE_3	claude-sonnet-4.5-thinking	anthropic	Claude Sonnet 4.5 Thinking
MODEL_PRIVATE_4	grok-code-fast-1	xai	Grok Code Fast 1
MODEL_QWEN_2_5_32B_INSTRUCT_R1	qwen-2.5-32b-r1	alibaba	Qwen 2.5 32B R1
MODEL_CLAUDE_3_7_SONNET_20250219	claude-3.7-sonnet	anthropic	Claude 3.7 Sonnet
MODEL_CLAUDE_3_7_SONNET_20250219_THINKING	claude-3.7-sonnet-thinking	anthropic	Claude 3.7 Sonnet Thinking
MODEL_CHAT_GPT_4_5	gpt-4.5	openai	GPT-4.5
MODEL_XAI_GROK_3_MINI_REASONING	grok-3-mini	xai	Grok 3 mini (Thinking)
MODEL_GOOGLE_GEMINI_2_5_PRO	gemini-2.5-pro	google	Gemini 2.5 Pro
MODEL_CHAT_GPT_4_1_2025_04_14	gpt-4.1	openai	GPT-4.1
MODEL_CHAT_GPT_4_1_MINI_2025_04_14	gpt-4.1-mini	openai	GPT-4.1 mini
MODEL_CHAT_GPT_4_1_NANO_2025_04_14	gpt-4.1-nano	openai	GPT-4.1 nano
MODEL_CHAT_O3_LOW	o3:low	openai	o3 Low
MODEL_CHAT_O3_HIGH	o3:high	openai	o3 High
MODEL_CHAT_O4_MINI	o4-mini	openai	o4-mini
MODEL_CHAT_O4_MINI_LOW	o4-mini:low	openai	o4-mini Low
MODEL_CHAT_O4_MINI_HIGH	o4-mini:high	openai	o4-mini High
MODEL_GOOGLE_GEMINI_2_5_FLASH_PREVIEW_04_17	gemini-2.5-flash-preview-04-17	google	Gemini 2.5 Flash Preview 04-17
MODEL_GOOGLE_GEMINI_2_5_FLASH_PREVIEW_05_20	gemini-2.5-flash-preview-05-20	google	Gemini 2.5 Flash Preview 05-20
MODEL_GOOGLE_GEMINI_2_5_FLASH_PREVIEW_05_20_THINKING	gemini-2.5-flash-preview-05-20-thinking	google	Gemini 2.5 Flash Preview 05-20 Thinking
MODEL_CLAUDE_4_OPUS_BYOK	claude-4-opus-byok	anthropic	Claude Opus 4 (BYOK)
MODEL_CLAUDE_4_OPUS_THINKING_BYOK	claude-4-opus-thinking-byok	anthropic	Claude Opus 4 Thinking (BYOK)
MODEL_CLAUDE_4_SONNET_BYOK	claude-4-sonnet-byok	anthropic	Claude Sonnet 4 (BYOK)
MODEL_CLAUDE_4_SONNET_THINKING_BYOK	claude-4-sonnet-thinking-byok	anthropic	Claude Sonnet 4 Thinking (BYOK)
MODEL_CLAUDE_4_SONNET	claude-4-sonnet	anthropic	Claude Sonnet 4
MODEL_CLAUDE_4_SONNET_THINKING	claude-4-sonnet-thinking	anthropic	Claude Sonnet 4 Thinking
MODEL_CLAUDE_3_5_SONNET_BYOK	claude-3.5-sonnet-byok	anthropic	Claude 3.5 Sonnet (BYOK)
MODEL_CLAUDE_3_7_SONNET_BYOK	claude-3.7-sonnet-byok	anthropic	Claude 3.7 Sonnet (BYOK)
MODEL_CLAUDE_3_7_SONNET_THINKING_BYOK	claude-3.7-sonnet-thinking-byok	anthropic	Claude 3.7 Sonnet Thinking (BYOK)
MODEL_CODEX_MINI_LATEST	codex-mini	openai	codex-mini
MODEL_CODEX_MINI_LATEST_LOW	codex-mini:low	openai	codex-mini Low
MODEL_CODEX_MINI_LATEST_HIGH	codex-mini:high	openai	codex-mini High
MODEL_CLAUDE_4_OPUS	claude-4-opus	anthropic	Claude Opus 4
MODEL_CLAUDE_4_OPUS_THINKING	claude-4-opus-thinking	anthropic	Claude Opus 4 Thinking
MODEL_O3_PRO_2025_06_10	o3-pro	openai	o3-pro
MODEL_O3_PRO_2025_06_10_LOW	o3-pro:low	openai	o3-pro Low
MODEL_O3_PRO_2025_06_10_HIGH	o3-pro:high	openai	o3-pro High
MODEL_GOOGLE_GEMINI_2_5_FLASH	gemini-2.5-flash	google	Gemini 2.5 Flash
MODEL_GOOGLE_GEMINI_2_5_FLASH_THINKING	gemini-2.5-flash-thinking	google	Gemini 2.5 Flash Thinking
MODEL_PRIVATE_6	gpt-5:low	openai	GPT-5 Low Thinking
MODEL_PRIVATE_7	gpt-5:medium	openai	GPT-5 Medium Thinking
MODEL_PRIVATE_8	gpt-5:high	openai	GPT-5 High Thinking
MODEL_PRIVATE_9	gpt-5.1-codex:medium	openai	GPT-5.1-Codex Medium
MODEL_CLAUDE_3_7_SONNET_OPEN_ROUTER_BYOK	claude-3.7-sonnet-openrouter-byok	anthropic	Claude 3.7 Sonnet (OpenRouter BYOK)
MODEL_CLAUDE_3_7_SONNET_THINKING_OPEN_ROUTER_BYOK	claude-3.7-sonnet-thinking-openrouter-byok	anthropic	Claude 3.7 Sonnet Thinking (OpenRouter BYOK)
MODEL_CLAUDE_4_SONNET_OPEN_ROUTER_BYOK	claude-4-sonnet-openrouter-byok	anthropic	Claude Sonnet 4 (OpenRouter BYOK)
MODEL_CLAUDE_4_SONNET_THINKING_OPEN_ROUTER_BYOK	claude-4-sonnet-thinking-openrouter-byok	anthropic	Claude Sonnet 4 Thinking (OpenRouter BYOK)
MODEL_KIMI_K2	kimi-k2	moonshot	Kimi K2
MODEL_QWEN_3_235B_INSTRUCT	qwen-3-235b	alibaba	Qwen 3 235B
MODEL_QWEN_3_CODER_480B_INSTRUCT	qwen-3-coder-480b	alibaba	Qwen 3 Coder 480B
MODEL_GPT_OSS_120B	gpt-oss-120b	openai	GPT-OSS 120B
MODEL_QWEN_3_CODER_480B_INSTRUCT_FAST	qwen-3-coder-480b-fast	alibaba	Qwen 3 Coder 480B Fast
MODEL_CLAUDE_4_1_OPUS	claude-4.1-opus	anthropic	Claude Opus 4.1
MODEL_CLAUDE_4_1_OPUS_THINKING	claude-4.1-opus-thinking	anthropic	Claude Opus 4.1 Thinking
MODEL_GPT_5_NANO	gpt-5-nano	openai	GPT-5 Nano
MODEL_CHAT_GPT_5_MINIMAL	gpt-5:minimal	openai	GPT-5 Minimal
MODEL_CHAT_GPT_5_LOW	gpt-5:low	openai	GPT-5 Low
MODEL_CHAT_GPT_5	gpt-5	openai	GPT-5
MODEL_CHAT_GPT_5_HIGH	gpt-5:high	openai	GPT-5 High
MODEL_GLM_4_5	glm-4.5	zhipu	GLM 4.5
MODEL_GOOGLE_GEMINI_2_5_FLASH_LITE	gemini-2.5-flash-lite	google	Gemini 2.5 Flash Lite
MODEL_CLAUDE_CODE	claude-code	anthropic	Claude Code
MODEL_XAI_GROK_CODE_FAST	grok-code-fast	xai	Grok Code Fast
MODEL_CHAT_GPT_5_CODEX	gpt-5-codex	openai	GPT-5-Codex
MODEL_PRIVATE_11	claude-haiku-4.5	anthropic	Claude Haiku 4.5
MODEL_PRIVATE_12	gpt-5.1:none	openai	GPT-5.1 No Thinking
MODEL_PRIVATE_13	gpt-5.1:low	openai	GPT-5.1 Low Thinking
MODEL_PRIVATE_14	gpt-5.1:medium	openai	GPT-5.1 Medium Thinking
MODEL_PRIVATE_15	gpt-5.1:high	openai	GPT-5.1 High Thinking
MODEL_GLM_4_5_FAST	glm-4.5-fast	zhipu	GLM 4.5 Fast
MODEL_CLAUDE_4_5_SONNET	claude-4.5-sonnet	anthropic	Claude Sonnet 4.5
MODEL_CLAUDE_4_5_SONNET_THINKING	claude-4.5-sonnet-thinking	anthropic	Claude Sonnet 4.5 Thinking
MODEL_GLM_4_6	glm-4.6	zhipu	GLM 4.6
MODEL_GLM_4_6_FAST	glm-4.6-fast	zhipu	GLM 4.6 Fast
MODEL_SWE_1_5	swe-1.5	cognition	SWE-1.5
MODEL_PRIVATE_19	gpt-5.1-codex-mini:medium	openai	GPT-5.1-Codex-Mini Medium
MODEL_PRIVATE_20	gpt-5.1:none-priority	openai	GPT-5.1 No Thinking Fast
MODEL_MINIMAX_M2	minimax-m2	minimax	Minimax M2
MODEL_SWE_1_5_THINKING	swe-1.5-thinking	cognition	SWE-1.5 Thinking
MODEL_CLAUDE_4_5_SONNET_1M	claude-4.5-sonnet:1m	anthropic	Claude Sonnet 4.5 (1M)
MODEL_CLAUDE_4_5_SONNET_THINKING_1M	claude-4.5-sonnet:thinking-1m	anthropic	Claude Sonnet 4.5 Thinking (1M)
MODEL_PRIVATE_21	gpt-5.1:low-priority	openai	GPT-5.1 Low Thinking Fast
MODEL_PRIVATE_22	gpt-5.1:medium-priority	openai	GPT-5.1 Medium Thinking Fast
MODEL_PRIVATE_23	gpt-5.1:high-priority	openai	GPT-5.1 High Thinking Fast
MODEL_SWE_1_5_SLOW	swe-1.5-slow	cognition	SWE-1.5 Slow
MODEL_GOOGLE_GEMINI_3_0_PRO_LOW	gemini-3.0-pro:low	google	Gemini 3 Pro Low
MODEL_GOOGLE_GEMINI_3_0_PRO_HIGH	gemini-3.0-pro:high	google	Gemini 3 Pro High
MODEL_GPT_5_1_CODEX_MINI_LOW	gpt-5.1-codex-mini:low	openai	GPT-5.1-Codex-Mini Low
MODEL_GPT_5_1_CODEX_MINI_MEDIUM	gpt-5.1-codex-mini	openai	GPT-5.1-Codex-Mini Medium
MODEL_GPT_5_1_CODEX_MINI_HIGH	gpt-5.1-codex-mini:high	openai	GPT-5.1-Codex-Mini High
MODEL_GPT_5_1_CODEX_LOW	gpt-5.1-codex:low	openai	GPT-5.1-Codex Low
MODEL_GPT_5_1_CODEX_MEDIUM	gpt-5.1-codex	openai	GPT-5.1-Codex Medium
MODEL_GPT_5_1_CODEX_HIGH	gpt-5.1-codex:high	openai	GPT-5.1-Codex High
MODEL_CLAUDE_4_5_OPUS	claude-4.5-opus	anthropic	Claude Opus 4.5
MODEL_CLAUDE_4_5_OPUS_THINKING	claude-4.5-opus-thinking	anthropic	Claude Opus 4.5 Thinking
MODEL_KIMI_K2_THINKING	kimi-k2-thinking	moonshot	Kimi K2 Thinking
MODEL_GPT_5_1_CODEX_MAX_LOW	gpt-5.1-codex-max:low	openai	GPT-5.1-Codex-Max Low
MODEL_GPT_5_1_CODEX_MAX_MEDIUM	gpt-5.1-codex-max	openai	GPT-5.1-Codex-Max Medium
MODEL_GPT_5_1_CODEX_MAX_HIGH	gpt-5.1-codex-max:high	openai	GPT-5.1-Codex-Max High
MODEL_GPT_5_2_NONE	gpt-5.2:none	openai	GPT-5.2 No Thinking
MODEL_GPT_5_2_LOW	gpt-5.2:low	openai	GPT-5.2 Low Thinking
MODEL_GPT_5_2_MEDIUM	gpt-5.2	openai	GPT-5.2 Medium Thinking
MODEL_GPT_5_2_HIGH	gpt-5.2:high	openai	GPT-5.2 High Thinking
MODEL_GPT_5_2_XHIGH	gpt-5.2:xhigh	openai	GPT-5.2 XHigh Thinking
MODEL_GPT_5_2_NONE_PRIORITY	gpt-5.2:none-priority	openai	GPT-5.2 No Thinking Fast
MODEL_GPT_5_2_LOW_PRIORITY	gpt-5.2:low-priority	openai	GPT-5.2 Low Thinking Fast
MODEL_GPT_5_2_MEDIUM_PRIORITY	gpt-5.2:priority	openai	GPT-5.2 Medium Thinking Fast
MODEL_GPT_5_2_HIGH_PRIORITY	gpt-5.2:high-priority	openai	GPT-5.2 High Thinking Fast
MODEL_GPT_5_2_XHIGH_PRIORITY	gpt-5.2:xhigh-priority	openai	GPT-5.2 XHigh Thinking Fast
MODEL_DEEPSEEK_V3_2	deepseek-v3-2	deepseek	DeepSeek V3.2
MODEL_GOOGLE_GEMINI_3_0_PRO_MINIMAL	gemini-3.0-pro:minimal	google	Gemini 3 Pro Minimal
MODEL_GOOGLE_GEMINI_3_0_PRO_MEDIUM	gemini-3.0-pro	google	Gemini 3 Pro Medium
MODEL_GOOGLE_GEMINI_3_0_FLASH_MINIMAL	gemini-3.0-flash:minimal	google	Gemini 3 Flash Minimal
MODEL_GOOGLE_GEMINI_3_0_FLASH_LOW	gemini-3.0-flash:low	google	Gemini 3 Flash Low
MODEL_GOOGLE_GEMINI_3_0_FLASH_MEDIUM	gemini-3.0-flash	google	Gemini 3 Flash Medium
MODEL_GOOGLE_GEMINI_3_0_FLASH_HIGH	gemini-3.0-flash:high	google	Gemini 3 Flash High
MODEL_GLM_4_7	glm-4.7	zhipu	GLM 4.7
MODEL_GLM_4_7_FAST	glm-4.7-fast	zhipu	GLM 4.7 Fast
MODEL_MINIMAX_M2_1	minimax-m2.1	minimax	Minimax M2.1
MODEL_SWE_1_6	swe-1.6	cognition	SWE-1.6
MODEL_SWE_1_6_FAST	swe-1.6:fast	cognition	SWE-1.6 Fast
MODEL_GPT_5_2_CODEX_LOW	gpt-5.2-codex:low	openai	GPT-5.2-Codex Low
MODEL_GPT_5_2_CODEX_MEDIUM	gpt-5.2-codex	openai	GPT-5.2-Codex Medium
MODEL_GPT_5_2_CODEX_HIGH	gpt-5.2-codex:high	openai	GPT-5.2-Codex High
MODEL_GPT_5_2_CODEX_XHIGH	gpt-5.2-codex:xhigh	openai	GPT-5.2-Codex XHigh
MODEL_GPT_5_2_CODEX_LOW_PRIORITY	gpt-5.2-codex:low-priority	openai	GPT-5.2-Codex Low Fast
MODEL_GPT_5_2_CODEX_MEDIUM_PRIORITY	gpt-5.2-codex:medium-priority	openai	GPT-5.2-Codex Medium Fast
MODEL_GPT_5_2_CODEX_HIGH_PRIORITY	gpt-5.2-codex:high-priority	openai	GPT-5.2-Codex High Fast
MODEL_GPT_5_2_CODEX_XHIGH_PRIORITY	gpt-5.2-codex:xhigh-priority	openai	GPT-5.2-Codex XHigh Fast
adaptive	adaptive	cognition	Adaptive
arena-fast	arena-fast	cognition	Arena Fast
arena-smart	arena-smart	cognition	Arena Smart
claude-5-fable-high	claude-5-fable:high	anthropic	Claude Fable 5 High
claude-5-fable-low	claude-5-fable:low	anthropic	Claude Fable 5 Low
claude-5-fable-max	claude-5-fable:max	anthropic	Claude Fable 5 Max
claude-5-fable-medium	claude-5-fable:medium	anthropic	Claude Fable 5 Medium
claude-5-fable-xhigh	claude-5-fable:xhigh	anthropic	Claude Fable 5 XHigh
claude-opus-4-6	claude-opus-4.6	anthropic	Claude Opus 4.6
claude-opus-4-6-1m	claude-opus-4.6:1m	anthropic	Claude Opus 4.6 1M
claude-opus-4-6-fast	claude-opus-4.6:fast	anthropic	Claude Opus 4.6 Fast
claude-opus-4-6-thinking	claude-opus-4.6:thinking	anthropic	Claude Opus 4.6 Thinking
claude-opus-4-6-thinking-1m	claude-opus-4.6:thinking-1m	anthropic	Claude Opus 4.6 Thinking 1M
claude-opus-4-6-thinking-fast	claude-opus-4.6:thinking-fast	anthropic	Claude Opus 4.6 Thinking Fast
claude-opus-4-7-high	claude-opus-4.7:high	anthropic	Claude Opus 4.7 High
claude-opus-4-7-high-fast	claude-opus-4.7:high-fast	anthropic	Claude Opus 4.7 High Fast
claude-opus-4-7-high-thinking	claude-opus-4.7:high-thinking	anthropic	Claude Opus 4.7 High Thinking
claude-opus-4-7-low	claude-opus-4.7:low	anthropic	Claude Opus 4.7 Low
claude-opus-4-7-low-fast	claude-opus-4.7:low-fast	anthropic	Claude Opus 4.7 Low Fast
claude-opus-4-7-max	claude-opus-4.7:max	anthropic	Claude Opus 4.7 Max
claude-opus-4-7-max-fast	claude-opus-4.7:max-fast	anthropic	Claude Opus 4.7 Max Fast
claude-opus-4-7-medium	claude-opus-4.7:medium	anthropic	Claude Opus 4.7 Medium
claude-opus-4-7-medium-fast	claude-opus-4.7:medium-fast	anthropic	Claude Opus 4.7 Medium Fast
claude-opus-4-7-medium-thinking	claude-opus-4.7:medium-thinking	anthropic	Claude Opus 4.7 Medium Thinking
claude-opus-4-7-xhigh	claude-opus-4.7:xhigh	anthropic	Claude Opus 4.7 XHigh
claude-opus-4-7-xhigh-fast	claude-opus-4.7:xhigh-fast	anthropic	Claude Opus 4.7 XHigh Fast
claude-opus-4-7-xhigh-thinking	claude-opus-4.7:xhigh-thinking	anthropic	Claude Opus 4.7 XHigh Thinking
claude-opus-4-8-high	claude-opus-4.8:high	anthropic	Claude Opus 4.8 High
claude-opus-4-8-high-fast	claude-opus-4.8:high-fast	anthropic	Claude Opus 4.8 High Fast
claude-opus-4-8-low	claude-opus-4.8:low	anthropic	Claude Opus 4.8 Low
claude-opus-4-8-low-fast	claude-opus-4.8:low-fast	anthropic	Claude Opus 4.8 Low Fast
claude-opus-4-8-max	claude-opus-4.8:max	anthropic	Claude Opus 4.8 Max
claude-opus-4-8-max-fast	claude-opus-4.8:max-fast	anthropic	Claude Opus 4.8 Max Fast
claude-opus-4-8-medium	claude-opus-4.8:medium	anthropic	Claude Opus 4.8 Medium
claude-opus-4-8-medium-fast	claude-opus-4.8:medium-fast	anthropic	Claude Opus 4.8 Medium Fast
claude-opus-4-8-xhigh	claude-opus-4.8:xhigh	anthropic	Claude Opus 4.8 XHigh
claude-opus-4-8-xhigh-fast	claude-opus-4.8:xhigh-fast	anthropic	Claude Opus 4.8 XHigh Fast
claude-opus-5-high	claude-opus-5:high	anthropic	Claude Opus 5 High
claude-opus-5-high-fast	claude-opus-5:high-fast	anthropic	Claude Opus 5 High Fast
claude-opus-5-low	claude-opus-5:low	anthropic	Claude Opus 5 Low
claude-opus-5-low-fast	claude-opus-5:low-fast	anthropic	Claude Opus 5 Low Fast
claude-opus-5-max	claude-opus-5:max	anthropic	Claude Opus 5 Max
claude-opus-5-max-fast	claude-opus-5:max-fast	anthropic	Claude Opus 5 Max Fast
claude-opus-5-medium	claude-opus-5:medium	anthropic	Claude Opus 5 Medium
claude-opus-5-medium-fast	claude-opus-5:medium-fast	anthropic	Claude Opus 5 Medium Fast
claude-opus-5-xhigh	claude-opus-5:xhigh	anthropic	Claude Opus 5 XHigh
claude-opus-5-xhigh-fast	claude-opus-5:xhigh-fast	anthropic	Claude Opus 5 XHigh Fast
claude-sonnet-4-6	claude-sonnet-4.6	anthropic	Claude Sonnet 4.6
claude-sonnet-4-6-1m	claude-sonnet-4.6:1m	anthropic	Claude Sonnet 4.6 1M
claude-sonnet-4-6-thinking	claude-sonnet-4.6:thinking	anthropic	Claude Sonnet 4.6 Thinking
claude-sonnet-4-6-thinking-1m	claude-sonnet-4.6:thinking-1m	anthropic	Claude Sonnet 4.6 Thinking 1M
claude-sonnet-5-high	claude-sonnet-5:high	anthropic	Claude Sonnet 5 High
claude-sonnet-5-low	claude-sonnet-5:low	anthropic	Claude Sonnet 5 Low
claude-sonnet-5-max	claude-sonnet-5:max	anthropic	Claude Sonnet 5 Max
claude-sonnet-5-medium	claude-sonnet-5:medium	anthropic	Claude Sonnet 5 Medium
claude-sonnet-5-xhigh	claude-sonnet-5:xhigh	anthropic	Claude Sonnet 5 XHigh
deepseek-v4	deepseek-v4	deepseek	DeepSeek V4
gemini-3-1-pro-high	gemini-3.1-pro:high	google	Gemini 3.1 Pro High
gemini-3-1-pro-low	gemini-3.1-pro:low	google	Gemini 3.1 Pro Low
gemini-3-5-flash-high	gemini-3.5-flash:high	google	Gemini 3.5 Flash High
gemini-3-5-flash-low	gemini-3.5-flash:low	google	Gemini 3.5 Flash Low
gemini-3-5-flash-medium	gemini-3.5-flash:medium	google	Gemini 3.5 Flash Medium
gemini-3-5-flash-minimal	gemini-3.5-flash:minimal	google	Gemini 3.5 Flash Minimal
glm-5	glm-5	zhipu	GLM 5
glm-5-1	glm-5.1	zhipu	GLM 5.1
glm-5-2	glm-5.2	zhipu	GLM 5.2
glm-5-2-1m	glm-5.2:1m	zhipu	GLM 5.2 1M
glm-5-2-max	glm-5.2:max	zhipu	GLM 5.2 Max
glm-5-2-max-1m	glm-5.2:max-1m	zhipu	GLM 5.2 Max 1M
glm-5-2-none	glm-5.2:none	zhipu	GLM 5.2 None
glm-5-2-none-1m	glm-5.2:none-1m	zhipu	GLM 5.2 None 1M
gpt-5-3-codex-high	gpt-5.3-codex:high	openai	GPT-5.3-Codex High
gpt-5-3-codex-high-priority	gpt-5.3-codex:high-priority	openai	GPT-5.3-Codex High Fast
gpt-5-3-codex-low	gpt-5.3-codex:low	openai	GPT-5.3-Codex Low
gpt-5-3-codex-low-priority	gpt-5.3-codex:low-priority	openai	GPT-5.3-Codex Low Fast
gpt-5-3-codex-medium	gpt-5.3-codex:medium	openai	GPT-5.3-Codex Medium
gpt-5-3-codex-medium-priority	gpt-5.3-codex:medium-priority	openai	GPT-5.3-Codex Medium Fast
gpt-5-3-codex-xhigh	gpt-5.3-codex:xhigh	openai	GPT-5.3-Codex XHigh
gpt-5-3-codex-xhigh-priority	gpt-5.3-codex:xhigh-priority	openai	GPT-5.3-Codex XHigh Fast
gpt-5-4-high	gpt-5.4:high	openai	GPT-5.4 High Thinking
gpt-5-4-high-priority	gpt-5.4:high-priority	openai	GPT-5.4 High Thinking Fast
gpt-5-4-low	gpt-5.4:low	openai	GPT-5.4 Low Thinking
gpt-5-4-low-priority	gpt-5.4:low-priority	openai	GPT-5.4 Low Thinking Fast
gpt-5-4-medium	gpt-5.4:medium	openai	GPT-5.4 Medium Thinking
gpt-5-4-medium-priority	gpt-5.4:medium-priority	openai	GPT-5.4 Medium Thinking Fast
gpt-5-4-mini-high	gpt-5.4-mini:high	openai	GPT-5.4 Mini High Thinking
gpt-5-4-mini-low	gpt-5.4-mini:low	openai	GPT-5.4 Mini Low Thinking
gpt-5-4-mini-medium	gpt-5.4-mini:medium	openai	GPT-5.4 Mini Medium Thinking
gpt-5-4-mini-xhigh	gpt-5.4-mini:xhigh	openai	GPT-5.4 Mini XHigh Thinking
gpt-5-4-none	gpt-5.4:none	openai	GPT-5.4 No Thinking
gpt-5-4-none-priority	gpt-5.4:none-priority	openai	GPT-5.4 No Thinking Fast
gpt-5-4-xhigh	gpt-5.4:xhigh	openai	GPT-5.4 XHigh Thinking
gpt-5-4-xhigh-priority	gpt-5.4:xhigh-priority	openai	GPT-5.4 XHigh Thinking Fast
gpt-5-5-high	gpt-5.5:high	openai	GPT-5.5 High Thinking
gpt-5-5-high-priority	gpt-5.5:high-priority	openai	GPT-5.5 High Thinking Fast
gpt-5-5-low	gpt-5.5:low	openai	GPT-5.5 Low Thinking
gpt-5-5-low-priority	gpt-5.5:low-priority	openai	GPT-5.5 Low Thinking Fast
gpt-5-5-medium	gpt-5.5:medium	openai	GPT-5.5 Medium Thinking
gpt-5-5-medium-priority	gpt-5.5:medium-priority	openai	GPT-5.5 Medium Thinking Fast
gpt-5-5-none	gpt-5.5:none	openai	GPT-5.5 No Thinking
gpt-5-5-none-priority	gpt-5.5:none-priority	openai	GPT-5.5 No Thinking Fast
gpt-5-5-xhigh	gpt-5.5:xhigh	openai	GPT-5.5 XHigh Thinking
gpt-5-5-xhigh-priority	gpt-5.5:xhigh-priority	openai	GPT-5.5 XHigh Thinking Fast
gpt-5-6-luna-high	gpt-5.6-luna:high	openai	GPT-5.6 Luna High Thinking
gpt-5-6-luna-low	gpt-5.6-luna:low	openai	GPT-5.6 Luna Low Thinking
gpt-5-6-luna-medium	gpt-5.6-luna:medium	openai	GPT-5.6 Luna Medium Thinking
gpt-5-6-luna-none	gpt-5.6-luna:none	openai	GPT-5.6 Luna No Thinking
gpt-5-6-luna-xhigh	gpt-5.6-luna:xhigh	openai	GPT-5.6 Luna XHigh Thinking
kimi-k2-5	kimi-k2.5	moonshot	Kimi K2.5
kimi-k2-6	kimi-k2.6	moonshot	Kimi K2.6
kimi-k2-7	kimi-k2.7	moonshot	Kimi K2.7
minimax-m2-5	minimax-m2.5	minimax	Minimax M2.5
swe-1-6	swe-1.6	cognition	SWE-1.6
swe-1-6-fast	swe-1.6:fast	cognition	SWE-1.6 Fast
swe-1-6-slow	swe-1.6:slow	cognition	SWE-1.6 Slow
swe-1-7	swe-1.7	cognition	SWE-1.7
swe-1-7-lightning	swe-1.7:lightning	cognition	SWE-1.7 Lightning
swe-1-model-id	swe-1	cognition	SWE-1 (older internal id)
cognition-swe-1.5	swe-1.5	cognition	SWE-1.5 (older internal id)
swe-1-lite-model-id	swe-1-lite	cognition	SWE-1 Lite (older internal id)
vista-model-id	vista	cognition	Vista (older internal id)
shamu-model-id	shamu	cognition	Shamu (older internal id)
`;
