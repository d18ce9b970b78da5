"""The wire formats, by the path they are asked at."""

from tests.models.vendors.formats import chat, messages, responses
from tests.models.vendors.formats.base import Format

FORMATS: dict[str, Format] = {
    "/v1/chat/completions": Format(chat.read, chat.answer, chat.stream),
    "/v1/responses": Format(responses.read, responses.answer, responses.stream),
    "/v1/messages": Format(messages.read, messages.answer, messages.stream),
}
