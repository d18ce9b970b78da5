"""Whose model is it, by its name."""

import pytest

from envmill.models.families import are_related, family


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("gpt-5.2-mini", "openai"),
        ("openai/gpt-oss-120b", "openai"),
        ("o3-mini", "openai"),
        ("ft:gpt-4o:org::abc", "openai"),
        ("us.anthropic.claude-opus-4-1-v1:0", "anthropic"),
        ("gemini-3-pro", "google"),
        ("Qwen/Qwen3-8B@local", "qwen"),
        ("QwQ-32B", "qwen"),
        ("meta-llama/Llama-3.3-70B-Instruct", "meta"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek+qwen"),
        ("zai-org/GLM-4.6", "zhipu"),
        ("moonshotai/Kimi-K2", "moonshot"),
        ("author/0.2", "author"),
        ("my-own-model", ""),
        ("foo3-mini", ""),
        ("graphite", ""),
    ],
)
def test_a_name_tells_the_family(model: str, named: str) -> None:
    assert family(model) == named


def test_a_distilled_model_is_kin_to_teacher_and_base() -> None:
    distilled = "DeepSeek-R1-Distill-Llama-70B"
    assert are_related(distilled, "deepseek-v3")
    assert are_related(distilled, "Llama-4-Scout")
    assert not are_related(distilled, "gpt-5")


def test_unknown_models_are_kin_only_to_themselves() -> None:
    assert are_related("mine", "mine")
    assert not are_related("mine", "yours")
