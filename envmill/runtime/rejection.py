"""The anticipated "no": the one exception by which a tool refuses a call on purpose."""


class Rejection(Exception):
    """A tool's refusal, foreseen by its rules; anything else a tool raises counts as a crash."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code, message)
        self.code = str(code)
        self.message = str(message) or self.code
