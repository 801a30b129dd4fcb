"""Frozen dataclasses as command-line flags, YAML settings and help texts.

The fields of a dataclass are declared with `argument`: default, help text, choices, range, group.
`add_arguments` adds them to a parser, `parse_flags` reads their values, and
`read_settings_file` reads the same fields from YAML. Unknown names, values of another type, values
outside a range, NaN and infinity are refused with a `DataError` that names the field.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import operator
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from twowiki.errors import DataError, existing_file, nearest

T = TypeVar("T")
Styles = Literal["-", "_"]
Role = Literal["input", "output", "output_folder"]
TYPE_NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
LARGEST_SEED = 2**32 - 1  # numpy's
MOST_RESAMPLES = 1_000_000  # their means fit into memory
_LARGEST_INTEGER = 2**63 - 1
SWITCH = {"true": True, "yes": True, "on": True, "1": True,
          "false": False, "no": False, "off": False, "0": False}  # fmt: skip


def argument(
    default: Any = MISSING,
    help: str = "",
    *,
    choices: Sequence[Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    metavar: str | None = None,
    group: str | None = None,
    positional: bool = False,
    nargs: int | str | None = None,
    flag: str | Sequence[str] | Literal[False] | None = None,
    role: Role | None = None,
    writes: Sequence[str] = (),
    keeps: str | None = None,
) -> Any:
    """Return a dataclass field that is also a command-line argument.

    Args:
        default: the field's default; without one the argument is required.
        help: what it means, without the default, which the help adds.
        choices: the values that are allowed.
        minimum: the least value allowed (also of each element of a list).
        maximum: the largest value allowed.
        above: a bound that the value must exceed.
        below: a bound that the value must stay under.
        metavar: the value's name in the help.
        group: title of the help's section.
        positional: an argument by position instead of a flag.
        nargs: the number of values of a list, as argparse takes it; 1 repeats the flag.
        flag: name of the flag, or several, where it is not the field's; False for no flag.
        role: whether it names files that are read or written (see `twowiki.io.outputs`).
        writes: of an output: what is added to its name for further files that are written.
        keeps: of an output: files with this ending are replaced in input folders too.
    """
    metadata = {name: value for name, value in locals().items() if name != "default"}
    if isinstance(default, list | dict | set):
        return field(default_factory=lambda: copy.deepcopy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def positional(help: str, default: Any = MISSING, **options: Any) -> Any:
    """Return a dataclass field that is an argument by position."""
    return argument(default, help, positional=True, **options)


class CommandParser(argparse.ArgumentParser):
    """A parser without abbreviations whose errors are one sentence, raised as `DataError`."""

    def __init__(self, prog: str | None = None, description: str | None = None) -> None:
        super().__init__(
            prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        raise DataError(message, remedy=f"`{self.prog} --help` lists the arguments")


def add_arguments(parser: argparse.ArgumentParser, cls: type, style: Styles = "-") -> None:
    """Add the fields of a dataclass to a parser, in titled groups; flags are written in a style."""
    hints = get_type_hints(cls)
    groups: dict[str, Any] = {str(group.title): group for group in parser._action_groups}
    positions = [parser.usage or "%(prog)s [options]"]
    for one in fields(cls):
        title = one.metadata.get("group")
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        if one.metadata.get("positional"):
            nargs = _nargs(one, hints[one.name], "+")
            name = str(_metavar(one, hints[one.name]))
            parser.add_argument(
                one.name, nargs=nargs, metavar=name, default=argparse.SUPPRESS, help=_help(one)
            )
            positions.append({"?": f"[{name}]", "+": f"{name} ..."}.get(str(nargs), name))
        elif one.metadata.get("flag") is not False:
            _add_flag(groups[title] if title else parser, one, hints[one.name], style)
    parser.usage = " ".join(positions)


def parse_flags(
    parser: argparse.ArgumentParser,
    cls: type,
    argv: Sequence[str] | None = None,
    *,
    renamed: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the values that a command line sets, by field; those that it leaves out are absent.

    Args:
        parser: a parser with the fields of the class; what else it has is returned as parsed.
        cls: a dataclass.
        argv: the command line (default: that of the process).
        renamed: retired names, each with the new one or with a sentence.
    """
    tokens = _normalized(parser, list(sys.argv[1:] if argv is None else argv), renamed or {})
    parse = parser.parse_args if "--" in tokens else parser.parse_intermixed_args
    values = vars(parse(tokens))
    options = {
        action.dest: (action.option_strings or [action.dest.upper()])[0]
        for action in reversed(parser._actions)
    }
    return values | convert_values(cls, values, text=True, options=options)


def read_settings_file(
    path: str | Path, cls: type, *, renamed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the settings of a YAML file by field; a name that the class has not is refused."""
    import yaml

    existing_file(path, "Name an existing YAML file of settings")
    try:
        text = Path(path).read_text(encoding="utf-8")
        values = yaml.safe_load(text)
        repeated = _repeated_key(yaml.compose(text, Loader=yaml.SafeLoader), set())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"is not valid YAML: {error}", file=path) from error
    if repeated is not None:
        problem = f"the key stands twice, the second time in line {repeated[1]}"
        raise DataError(problem, file=path, field=repeated[0], remedy="Keep one of them")
    if not isinstance(values, dict):
        raise DataError("is not a mapping of settings", file=path, remedy="Write `name: value`")
    check_names(values, cls, path, renamed or {})
    return convert_values(cls, values, file=path)


def _repeated_key(node: Any, passed: set[int]) -> tuple[str, int] | None:
    """Return a key that stands twice in one mapping of a YAML document, and its line."""
    if node is None or id(node) in passed:  # an alias leads to the same node
        return None
    passed.add(id(node))
    inner = []
    keys: set[tuple[str, str]] = set()
    if node.id == "mapping":
        for key, value in node.value:
            if key.id == "scalar" and (key.tag, key.value) in keys:
                return key.value, key.start_mark.line + 1
            keys.add((key.tag, str(key.value)))
            inner += [key, value]
    elif node.id == "sequence":
        inner = node.value
    return next(filter(None, (_repeated_key(one, passed) for one in inner)), None)


def from_values(cls: type[T], values: Mapping[str, Any], *, flags: bool = False) -> T:
    """Return an instance made from values by name; types, choices and ranges are checked."""
    check_names(values, cls)
    for one in fields(cls):  # type: ignore[arg-type]
        if one.name not in values and one.default is one.default_factory is MISSING:
            name = f"--{_names(one, '-')[0]}" if flags else one.name
            raise DataError(f"{name} is required")
    return cls(**convert_values(cls, values))


def convert_values(
    cls: Any,
    values: Mapping[str, Any],
    *,
    text: bool = False,
    file: str | Path | None = None,
    options: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the values of a class's fields, converted and checked; others are left out.

    Args:
        cls: a dataclass.
        values: values by field.
        text: they are text, as on a command line.
        file: the file that they are from.
        options: the flags that they are from, by field.
    """
    result = {}
    hints = get_type_hints(cls)
    for one in fields(cls):
        if one.name in values:
            try:
                result[one.name] = _value(one, hints[one.name], values[one.name], text=text)
            except ValueError as error:
                if options:
                    raise DataError(f"{options[one.name]} {error}") from None
                raise DataError(str(error), file=file, field=one.name) from None
    return result


def check_names(
    values: Mapping[str, Any],
    cls: Any,
    file: str | Path | None = None,
    renamed: Mapping[str, str] | None = None,
) -> None:
    """Raise where a name is a retired one, or the name of no field, with the nearest one."""
    known = [one.name for one in fields(cls)]
    for name in map(str, values):
        if name not in known:
            raise _unknown_name("unknown setting", name, known, renamed or {}, file)


def settings_of(cls: type[T], source: Any, **changes: Any) -> T:
    """Return an instance with the fields of a larger one; a dataclass or a NamedTuple."""
    names = getattr(cls, "_fields", None) or [one.name for one in fields(cls)]  # type: ignore[arg-type]
    return cls(**{name: getattr(source, name) for name in names if name not in changes}, **changes)


def check_values(settings: Any) -> None:
    """Raise where a value of an instance has another type or is not allowed."""
    convert_values(
        type(settings), {one.name: getattr(settings, one.name) for one in fields(settings)}
    )


def to_dict(settings: Any) -> dict[str, Any]:
    """Return the fields of an instance as plain values, which JSON and YAML can hold."""
    return {one.name: _plain(getattr(settings, one.name)) for one in fields(settings)}


def argument_name(one: Field[Any]) -> str:
    """Return an argument as a person knows it: --output, or GOLD for one by position."""
    if one.metadata.get("positional"):
        return str(one.metadata.get("metavar") or one.name.upper())
    flag = one.metadata.get("flag") is not False
    return f"--{_names(one, '-')[0]}" if flag else one.name.upper()


def _names(one: Field[Any], style: str) -> list[str]:
    flag = one.metadata.get("flag") or one.name
    return [name.replace("_", style) for name in ([flag] if isinstance(flag, str) else flag)]


def _add_flag(parser: Any, one: Field[Any], kind: Any, style: str) -> None:
    options = [f"--{name}" for name in _names(one, style)]
    shared = {"dest": one.name, "default": argparse.SUPPRESS, "help": _help(one)}
    if kind is bool:
        opposites = [f"--no{style}{name[2:]}" for name in options]
        hidden = {**shared, "help": argparse.SUPPRESS}
        on, off = (hidden, shared) if one.default is True else (shared, hidden)
        parser.add_argument(*options, action="store_const", const=True, **on)
        parser.add_argument(*opposites, action="store_const", const=False, **off)
    else:
        nargs = _nargs(one, kind, "*")
        action = "store" if nargs is None else "extend"
        name = _metavar(one, kind)
        parser.add_argument(*options, action=action, nargs=nargs, metavar=name, **shared)


def _nargs(one: Field[Any], kind: Any, several: str) -> Any:
    """Return argparse's nargs of a field: several values for lists and mappings."""
    collections = {get_origin(part) or part for part in (kind, *get_args(kind))}
    if one.metadata.get("nargs") is not None:
        return one.metadata["nargs"]
    if collections & {list, tuple, dict}:
        return several
    return "?" if one.metadata.get("positional") and one.default is not MISSING else None


def _metavar(one: Field[Any], kind: Any) -> str | None:
    choices = one.metadata.get("choices") or (get_args(kind) if get_origin(kind) is Literal else ())
    if one.metadata.get("metavar"):
        return str(one.metadata["metavar"])
    if choices:
        return "{" + ",".join(str(choice) for choice in choices if choice != "") + "}"
    usual = {int: "N", float: "X", Path: "FILE"}
    shown = one.name.upper() if one.metadata.get("positional") else None
    return shown or next((usual[part] for part in (kind, *get_args(kind)) if part in usual), None)


def _help(one: Field[Any]) -> str:
    text = one.metadata.get("help", "").replace("%", "%%")
    default = one.default if one.default_factory is MISSING else one.default_factory()
    if default is False or default in (MISSING, None, "", (), [], {}) or "(default" in text:
        return str(text)
    shown = " ".join(map(str, default)) if isinstance(default, tuple | list) else default
    return f"{text} (default: {'on' if default is True else shown})"


def _normalized(
    parser: argparse.ArgumentParser, argv: list[str], renamed: Mapping[str, str]
) -> list[str]:
    """Return a command line with each flag as the parser spells it, and without true and false."""
    known = {_dashed(option): option for option in parser._option_string_actions}
    positional = any(not action.option_strings for action in parser._actions)
    words = {"true": True, "false": False} if positional else SWITCH
    tokens: list[str] = []
    for number, token in enumerate(argv):
        if token == "--":
            return tokens + argv[number:]
        name, equals, value = token.partition("=")
        if not token.startswith("--") or " " in name:
            before = parser._option_string_actions.get(tokens[-1] if tokens else "")
            if before is not None and isinstance(before.const, bool) and token.lower() in words:
                tokens[-1] = _switch(parser, before, words[token.lower()])
            else:
                tokens.append(token)
            continue
        option = known.get(_dashed(name))
        if option is None:
            raise _unknown_name("unknown option", name, known.values(), renamed)
        action = parser._option_string_actions[option]
        if isinstance(action.const, bool) and equals:
            if value.lower() not in SWITCH:
                raise DataError(f"{option} is {value!r}, not true or false")
            option = _switch(parser, action, SWITCH[value.lower()])
        tokens.append(f"{option}={value}" if equals and action.nargs != 0 else option)
    return tokens


def _switch(parser: argparse.ArgumentParser, action: argparse.Action, value: bool) -> str:
    """Return the flag that sets a switch: --name, or --no-name for false."""
    return next(
        other.option_strings[0]
        for other in parser._actions
        if other.dest == action.dest and other.const is (action.const is value)
    )


def _unknown_name(
    what: str,
    name: str,
    known: Iterable[str],
    renamed: Mapping[str, str],
    file: str | Path | None = None,
) -> DataError:
    """Return the error that names the new name of a retired setting, or the nearest one."""
    new = {_dashed(old): new for old, new in renamed.items()}.get(_dashed(name).lstrip("-"))
    if new is not None:
        remedy = new if " " in new else f"It is now {new}"
        return DataError(f"{name} is the former name of a setting", file=file, remedy=remedy)
    spellings = {_dashed(other): other for other in known}
    near = nearest(_dashed(name), spellings)
    remedy = f"Did you mean {spellings[near]}?" if near else "--help lists what there is"
    return DataError(f"{what} {name}", file=file, remedy=remedy)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _value(one: Field[Any], kind: Any, value: Any, *, text: bool = False) -> Any:
    """Return a value in its field's type, or raise ValueError; on a command line it is text."""
    value = _convert(value, kind, text)
    choices = one.metadata.get("choices")
    for item in value if isinstance(value, list | tuple) else [value]:
        if choices is not None and item is not None and item not in choices:
            allowed = ", ".join("empty" if choice == "" else str(choice) for choice in choices)
            raise ValueError(f"is {item!r}, not one of {allowed}")
        if isinstance(item, int | float) and not isinstance(item, bool):
            _check_range(one.metadata, item)
    return value


def _check_range(metadata: Mapping[str, Any], number: float) -> None:
    if isinstance(number, int) and abs(number) > _LARGEST_INTEGER:
        digits = int(number.bit_length() * math.log10(2)) + 1
        raise ValueError(f"has {digits} digits; it must be at most {_LARGEST_INTEGER}")
    bounds = (
        ("at least", "minimum", operator.ge), ("above", "above", operator.gt),
        ("at most", "maximum", operator.le), ("below", "below", operator.lt),
    )  # fmt: skip
    limits = [(word, metadata[name], test) for word, name, test in bounds
              if metadata.get(name) is not None]  # fmt: skip
    finite = isinstance(number, int) or math.isfinite(number)
    if finite and all(test(number, limit) for _, limit, test in limits):
        return
    allowed = " and ".join(f"{word} {limit}" for word, limit, _ in limits)
    if [word for word, *_ in limits] == ["at least", "at most"]:
        allowed = f"from {limits[0][1]} to {limits[1][1]}"
    kind = "" if finite else "a finite number "
    raise ValueError(f"is {number}; it must be {kind}{allowed}".rstrip())


def _convert(value: Any, kind: Any, text: bool) -> Any:
    """Return a value in the type of an annotation, or raise ValueError."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, types.UnionType):
        return _convert_union(value, inner, text)
    if origin is Any:
        return value
    if origin is Literal:
        if value in inner:
            return value
        raise ValueError(f"is {value!r}, not one of {', '.join(map(str, inner))}")
    if origin in (list, tuple):
        items = value if isinstance(value, list | tuple) else [value]
        return origin(_convert(item, (inner or (Any,))[0], text) for item in items)
    if origin is dict:
        return _convert_mapping(value)
    if origin is Path and isinstance(value, str | Path):
        return Path(value)
    if origin is str and value is None:
        return ""
    if text and isinstance(value, str):
        value = _parse(value, origin)
    elif origin is float and isinstance(value, int | str) and not isinstance(value, bool):
        value = _parse(value, float)  # YAML reads 1e-3 as text and 1 as an integer
    if isinstance(value, origin) and isinstance(value, bool) == (origin is bool):
        return value
    raise ValueError(f"is {_shown(value)}, not {TYPE_NAMES.get(origin, origin.__name__)}")


def _convert_union(value: Any, kinds: Sequence[Any], text: bool) -> Any:
    if value is None and type(None) in kinds:
        return None
    problems = []
    for kind in kinds:
        try:
            return _convert(value, kind, text)
        except ValueError as error:
            problems.append(str(error))
    if text and type(None) in kinds and value in ("none", "all"):
        return None
    raise ValueError(problems[0])


def _convert_mapping(value: Any) -> dict[str, Any]:
    """Return a mapping, from one, from JSON, or from name=value pairs."""
    if isinstance(value, Mapping):
        return dict(value)
    import yaml

    pairs: dict[str, Any] = {}
    for part in [value] if isinstance(value, str) else value or ():
        if part.lstrip().startswith("{"):
            try:
                pairs |= json.loads(part)
            except (ValueError, RecursionError):
                raise ValueError(f"is {part!r}, not a JSON object") from None
            continue
        for name, equals, content in (pair.partition("=") for pair in part.split(",")):
            if not equals:
                raise ValueError(f"is {part!r}, not a JSON object or name=value")
            try:
                pairs[name.strip()] = yaml.safe_load(content)
            except (yaml.YAMLError, ValueError):
                raise ValueError(f"is {_shown(part)}, not a JSON object or name=value") from None
    return pairs


def _parse(value: Any, kind: Any) -> Any:
    """Return a text of the command line in a simple type."""
    try:
        return SWITCH[value.lower()] if kind is bool else kind(value)
    except (ValueError, KeyError, TypeError, OverflowError):
        kind_name = TYPE_NAMES.get(kind, kind.__name__)
        raise ValueError(f"is {_shown(value)}, not {kind_name}") from None


def _shown(value: Any) -> str:
    """Return a value as a message has it: on one line, and not at full length."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "an integer of too many digits"
    return text if len(text) <= 80 else f"{text[:80]}..."


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value
