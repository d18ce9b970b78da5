"""Whose model is it: family by name, since a judge is partial to its own kind."""

import re

_FAMILIES: dict[str, str] = {
    "openai": r"gpt|chatgpt|o[1345](?![a-z0-9])|codex|davinci|computer-use",
    "anthropic": r"claude|anthropic",
    "google": r"gemini|gemma|palm(?![a-z])",
    "qwen": r"qwen|qwq|qvq|tongyi",
    "meta": r"llama(?!-?nemotron)|meta-llama",
    "mistral": r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral",
    "deepseek": r"deepseek",
    "zhipu": r"glm|chatglm|zhipu",
    "moonshot": r"kimi|moonshot",
    "minimax": r"minimax|abab",
    "xai": r"grok",
    "microsoft": r"phi(?![a-z])|wizardlm",
    "nvidia": r"nemotron",
    "cohere": r"command-?(?:r|a)(?![a-z])|cohere|aya(?![a-z])",
    "amazon": r"(?:amazon[./-])?nova(?![a-z])",
    "ibm": r"granite",
    "ai2": r"olmo|tulu",
    "stepfun": r"step-?[0-9]|stepfun",
    "bytedance": r"doubao|seed-?oss",
    "tencent": r"hunyuan",
    "baidu": r"ernie",
    "huggingface": r"smollm|zephyr",
    "author": r"author/[0-9.e-]+$",
}
"""Family → how its models' names begin, wherever a word of the name begins."""

_KNOWN = {family: re.compile(rf"(?<![a-z0-9])(?:{names})") for family, names in _FAMILIES.items()}


def families(model: str) -> frozenset[str]:
    """Every family a name tells of: a distilled model belongs to its teacher's and to its base's.
    Empty when unknown."""
    name = model.lower()
    return frozenset(family for family, pattern in _KNOWN.items() if pattern.search(name))


def family(model: str) -> str:
    """The families of a name as one word; empty when unknown."""
    return "+".join(sorted(families(model)))


def are_related(model: str, other: str) -> bool:
    """Whether two models are of one family, or the same model under a name nobody knows."""
    return model == other or bool(families(model) & families(other))
