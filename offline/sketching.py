"""Answers to the prompts of the recipe that begins with sketches: the same domain model, told as
signatures, tables for them, and types."""

from offline.blueprint import write_blueprint
from offline.domain import Domain
from offline.serving import declare_shared
from offline.signing import list_signatures
from offline.tabling import answer_interface, answer_requirements, answer_schema
from schemas.base import Contract, Json
from schemas.typed_prompts import (
    MetadataInput,
    MetadataReply,
    SketchedTool,
    SketchInput,
    SketchReply,
    StateInput,
    TypedTool,
)


def answer_sketch(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    asked = SketchInput.model_validate(inputs)
    told, signatures = (
        answer_requirements({"brief": asked.brief}, domain, seed, sample).model_dump(),
        list_signatures(domain),
    )
    tools = [
        SketchedTool(**tool.model_dump(), **signatures[tool.name].model_dump())
        for tool in write_blueprint(domain).tools
    ]
    return SketchReply(**told, tools=tools, shared=declare_shared(domain))


def answer_state(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    asked = StateInput.model_validate(inputs)
    return answer_schema(asked.model_dump(exclude={"tools", "shared"}), domain, seed, sample)


def answer_metadata(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    asked = MetadataInput.model_validate(inputs)
    planned, signatures = (
        answer_interface(asked.model_dump(exclude={"tools"}), domain, seed, sample).model_dump(),
        list_signatures(domain),
    )
    tools = [
        TypedTool.model_validate(tool | signatures[tool["name"]].model_dump())
        for tool in planned["tools"]
    ]
    return MetadataReply(tools=tools, left_out=planned.get("left_out", {}))
