"""Texts that run in the jail around a domain's own toolkits, as a checkout of τ²-bench has them.

The thin class keeps both databases and shows them as one state. The stand-ins do what toolkits and
data models of that benchmark use of it and of other packages; a module that uses more does not load.
"""

from collections.abc import Mapping

from envmill.interop.importers.tau2.checks import WITHOUT_RUNTIME
from schemas.base import canonical_json

AROUND = '''"""Toolkits of a checkout behind the native interface: both databases are the state."""

import json
from importlib import import_module

from envmill.runtime import Rejection, actors, coupling

PLAN = json.loads($PLAN)


def plain(value):
    """A value as JSON."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump())
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if hasattr(value, "value") and hasattr(value, "name"):
        return plain(value.value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def find(place):
    return getattr(import_module(place["module"]), place["name"])


KITS = {side: (find(place), find(PLAN["databases"][side])) for side, place in PLAN["kits"].items()}
AROUND = find(PLAN["environment"]) if PLAN["environment"] else None


class World:
    def __init__(self, state):
        self._kits = {}
        for side, (kit, database) in KITS.items():
            fields = {name: state[name] for name in PLAN["fields"][side] if name in state}
            self._kits[side] = kit(database.model_validate(fields))
        kits = [self._kits.get(side) for side in ("assistant", "user")]
        self._around = AROUND("domain", "", *kits) if AROUND else None
        self._show()

    def _show(self):
        for side, kit in self._kits.items():
            for name, value in plain(kit.db.model_dump()).items():
                setattr(self, name, value)

    def _fill(self):
        return None

    def _call(self, side, name, arguments, writes=True):
        try:
            return plain(getattr(self._kits[side], name)(**arguments))
        except Exception as error:
            raise Rejection("refused", f"{type(error).__name__}: {error}"[:1000]) from None
        finally:
            if writes:
                self._show()

    @coupling
    def _sync(self):
        if self._around is not None:
            self._around.sync_tools()
            self._show()


def make_method(side, name, writes):
    return lambda self, /, **arguments: self._call(side, name, arguments, writes)


for side, name, method, writes in PLAN["methods"]:
    setattr(World, method, make_method(side, name, writes))
'''

_PYDANTIC = '''"""A stand-in for the package: models whose fields have types and defaults."""

import copy
import datetime
import enum
import json
import sys
import types
import typing

MISSING = object()


class ValidationError(ValueError):
    pass


class FieldInfo:
    def __init__(self, default=MISSING, default_factory=None):
        self.default, self.default_factory = default, default_factory


def Field(default=MISSING, *, default_factory=None, **_):
    return FieldInfo(MISSING if default is ... else default, default_factory)


def ConfigDict(**given):
    return given


def keep(*_, **__):
    return lambda function: function


field_validator = model_validator = field_serializer = model_serializer = computed_field = keep


def fail(name, told):
    raise ValidationError(f"{name}: {told}")


def read_any_of(kinds, value, name):
    """The kind that a value is of; else the first that takes it."""
    for kind in kinds:
        if isinstance(kind, type) and type(value) is kind:
            return value
    for kind in kinds:
        try:
            return read(kind, value, name)
        except ValueError:
            continue
    return fail(name, f"{value!r} is of none of its types")


def read_plain(kind, value, name):
    if kind is typing.Any or kind is object:
        return value
    if kind is None or kind is type(None):
        return value if value is None else fail(name, "should be null")
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, float) and value == int(value):
        return int(value)
    if kind is int and isinstance(value, bool):
        return fail(name, "should be a number")
    if kind is datetime.datetime and isinstance(value, str):
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    if kind is datetime.date and isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return value if isinstance(value, kind) else kind(**value) if isinstance(value, dict) else fail(name, "should be an object")
    if isinstance(kind, type):
        return value if isinstance(value, kind) else fail(name, f"should be {kind.__name__}")
    return value


def read(kind, value, name):
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is None:
        return read_plain(kind, value, name)
    if origin is typing.Annotated:
        return read(inner[0], value, name)
    if origin is typing.Union or origin is types.UnionType:
        return read_any_of(inner, value, name)
    if origin is typing.Literal:
        return value if any(type(one) is type(value) and one == value for one in inner) else fail(name, f"should be one of {inner}")
    if origin in (list, set, frozenset):
        if not isinstance(value, (list, tuple, set, frozenset)):
            return fail(name, "should be a list")
        return origin(read(inner[0] if inner else typing.Any, one, name) for one in value)
    if origin is tuple:
        return tuple(value) if isinstance(value, (list, tuple)) else fail(name, "should be a list")
    if origin is dict:
        if not isinstance(value, dict):
            return fail(name, "should be an object")
        return {read(inner[0], key, name): read(inner[1], one, name) for key, one in value.items()}
    return value


def dump(value):
    if isinstance(value, BaseModel):
        return {name: dump(getattr(value, name)) for name in value.model_fields}
    if isinstance(value, dict):
        return {key: dump(one) for key, one in value.items()}
    return [dump(one) for one in value] if isinstance(value, (list, tuple)) else value


class BaseModel:
    model_config = {}
    model_fields = {}

    def __init_subclass__(cls, **_):
        super().__init_subclass__()
        cls.model_fields = dict(cls.model_fields)
        for name in cls.__dict__.get("__annotations__", {}):
            if name.startswith("_") or name == "model_config":
                continue
            given = cls.__dict__.get(name, MISSING)
            cls.model_fields[name] = given if isinstance(given, FieldInfo) else FieldInfo(given)
            if name in cls.__dict__:
                delattr(cls, name)
        cls._kinds = None

    @classmethod
    def find_kinds(cls):
        if cls.__dict__.get("_kinds") is None:
            cls._kinds = typing.get_type_hints(cls, include_extras=True)
        return cls._kinds

    def __init__(self, **given):
        kinds = type(self).find_kinds()
        for name, info in self.model_fields.items():
            if name in given:
                value = read(kinds[name], given[name], name)
            elif info.default_factory is not None:
                value = info.default_factory()
            elif info.default is not MISSING:
                value = copy.deepcopy(info.default)
            else:
                value = find_default(kinds[name], name)
            setattr(self, name, value)
        if self.model_config.get("extra") == "forbid" and (more := sorted(set(given) - set(self.model_fields))):
            fail(more[0], "is no field")

    @classmethod
    def model_validate(cls, value):
        return value if isinstance(value, cls) else cls(**value)

    def model_dump(self, **_):
        return dump(self)

    def model_dump_json(self, **_):
        return json.dumps(dump(self), default=str)

    def model_copy(self, *, deep=False, update=None):
        made = copy.deepcopy(self) if deep else copy.copy(self)
        for name, value in (update or {}).items():
            setattr(made, name, value)
        return made

    def __eq__(self, other):
        return type(self) is type(other) and dump(self) == dump(other)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in dump(self).items())})"


def find_default(kind, name):
    """A default that stands in the annotation."""
    for one in typing.get_args(kind)[1:] if typing.get_origin(kind) is typing.Annotated else ():
        if isinstance(one, FieldInfo) and one.default is not MISSING:
            return copy.deepcopy(one.default)
        if isinstance(one, FieldInfo) and one.default_factory is not None:
            return one.default_factory()
    return fail(name, "is missing")
'''
_TOOLKIT = '''"""A stand-in: tools are marked, and found by their marks."""

import enum


class ToolType(str, enum.Enum):
    READ = "read"
    WRITE = "write"
    THINK = "think"
    GENERIC = "generic"


def is_tool(*_, **__):
    def mark(function):
        function.is_tool = True
        return function

    return mark


is_discoverable_tool = is_tool


class ToolKitBase:
    def __init__(self, db=None):
        self.db = db

    def has_tool(self, name):
        return getattr(getattr(self, name, None), "is_tool", False)

    def use_tool(self, tool_name, **arguments):
        if not self.has_tool(tool_name):
            raise ValueError(f"Tool '{tool_name}' not found.")
        return getattr(self, tool_name)(**arguments)


class GenericToolKit(ToolKitBase):
    pass
'''
_STAND_INS: Mapping[str, str] = {
    "pydantic.py": _PYDANTIC,
    "loguru.py": '"""A stand-in: nobody reads a log here."""\n\n\nclass Silence:\n'
    "    def __getattr__(self, name):\n        return lambda *_, **__: None\n\n\nlogger = Silence()\n",
    "typing_extensions.py": "from typing import *  # noqa: F403\n\n\ndef override(method):\n    return method\n",
    "tau2/__init__.py": "",
    "tau2/data_model/__init__.py": "",
    "tau2/data_model/tasks.py": "class Task:\n    pass\n",
    "tau2/data_model/message.py": "",
    "tau2/domains/__init__.py": "",
    "tau2/environment/__init__.py": "",
    "tau2/environment/toolkit.py": _TOOLKIT,
    "tau2/environment/tool.py": "class Tool:\n    pass\n\n\ndef as_tool(function):\n    return function\n",
    "tau2/environment/db.py": "from tau2.utils.pydantic_utils import BaseModelNoExtra\n\n\nclass DB(BaseModelNoExtra):\n    pass\n",
    "tau2/environment/environment.py": "class Environment:\n"
    "    def __init__(self, domain_name, policy, tools=None, user_tools=None, solo_mode=False):\n"
    "        self.domain_name, self.policy, self.solo_mode = domain_name, policy, solo_mode\n"
    "        self.tools, self.user_tools = tools, user_tools\n\n"
    "    def sync_tools(self):\n        pass\n",
    "tau2/utils/__init__.py": "from tau2.utils.pydantic_utils import *  # noqa: F403\nfrom tau2.utils.utils import *  # noqa: F403\n",
    "tau2/utils/pydantic_utils.py": "from pydantic import BaseModel\n\n\n"
    'class BaseModelNoExtra(BaseModel):\n    model_config = {"extra": "forbid"}\n\n\n'
    "def update_pydantic_model_with_dict(model, given):\n"
    "    def merge(left, right):\n"
    "        if isinstance(left, dict) and isinstance(right, dict):\n"
    "            return {**left, **{key: merge(left.get(key), one) for key, one in right.items()}}\n"
    "        return right\n\n"
    "    return type(model).model_validate(merge(model.model_dump(), given))\n",
    "tau2/utils/utils.py": "import datetime\nimport hashlib\nimport json\nfrom pathlib import PurePosixPath\n\n"
    'DATA_DIR = PurePosixPath("/data")\n\n\n'
    'def load_file(path, **_):\n    raise OSError(f"nothing is read here, and not {path}")\n\n\n'
    "dump_file = load_file\n\n\n"
    "def get_dict_hash(value):\n"
    "    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()\n\n\n"
    "def get_now():\n    return datetime.datetime.now().isoformat()\n",
    "tau2/utils/text_match.py": "import unicodedata\n\n\ndef fold_for_match(text):\n"
    '    plain = unicodedata.normalize("NFKD", text)\n'
    '    return "".join(one for one in plain if not unicodedata.combining(one)).casefold().strip()\n',
}
_ALONE = '''
import json
import sys

FILES = json.loads($FILES)


class Finder:
    """Modules out of texts."""

    def find_spec(self, name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        place = name.replace(".", "/")
        for file in (f"{place}.py", f"{place}/__init__.py"):
            if file in FILES:
                return ModuleSpec(name, self, is_package=file.endswith("__init__.py"))
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        place = module.__name__.replace(".", "/")
        text = FILES.get(f"{place}.py", FILES.get(f"{place}/__init__.py"))
        exec(compile(text, place, "exec"), module.__dict__)


FINDER = Finder()
sys.meta_path.insert(0, FINDER)
from program import World
'''


def list_stand_ins() -> dict[str, str]:
    """Path → text."""
    return dict(_STAND_INS)


def stand_alone_text(files: Mapping[str, str]) -> str:
    """All files of a program as one text that defines `World` and needs no runtime."""
    alone = {path: text for path, text in files.items() if path.endswith(".py")}
    alone["program.py"] = alone["program.py"].replace(
        "from envmill.runtime import Rejection, actors, coupling\n", WITHOUT_RUNTIME
    )
    return _ALONE.replace("$FILES", repr(canonical_json(alone)))
