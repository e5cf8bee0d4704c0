"""How commands are parsed and how they fail: one line on stderr, exit code 2."""

import re
import shlex
import sys
from typing import Any

import click

AUTO = "auto"  # a model, or a number of components, that is found
OPEN = (AUTO, "search")  # names that leave the model open
COLUMNS = ("target", "id", "drop", "keep", "categorical")  # options that name columns
CALL, DOING, WORDS = "gnomon.call", "gnomon.doing", "gnomon.words"  # what a context knows of its command


class Components(click.ParamType):
    """A number of components, or "auto"."""

    name = "K"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or "auto"."""
        if value == AUTO:
            return AUTO
        try:
            return int(click.IntRange(min=1).convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is neither a whole number from 1 on nor {AUTO}.", param, ctx)


class Shape(click.ParamType):
    """Height and width of an image, such as 32x24."""

    name = "HEIGHTxWIDTH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """The two numbers."""
        found = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", str(value), re.ASCII)
        if found is None:
            self.fail(f"{value!r} is no height and width; 32x24 is wanted of images of 32 lines.", param, ctx)
        return int(found[1]), int(found[2])


class InputError(click.ClickException):
    """Bad input: its message becomes one line on stderr, and the exit code is 2."""

    exit_code = 2


def one_line(error: BaseException) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split())


class OneLineErrors(click.Group):
    """A group whose commands fail with one line, in the shell and in tests alike."""

    def parse_args(self, ctx, args):
        """Keep the words as they were typed."""
        ctx.meta[CALL] = shlex.join(["gnomon", *args])
        return super().parse_args(ctx, args)

    def main(self, *args, standalone_mode=True, **kwargs):
        """Run; turn every error that is the user's to mend into one line and exit code 2."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **kwargs)
        try:
            code = super().main(*args, standalone_mode=False, **kwargs)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "gnomon"
            _say(f"{one_line(error.format_message())} See `{command} --help`.")
            sys.exit(2)
        except click.ClickException as error:
            _say(one_line(error.format_message()))
            sys.exit(error.exit_code)
        except click.Abort:
            _say("stopped.")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _say(message: str) -> None:
    click.echo(f"gnomon: {message}", err=True)


def _of_numbers(names: Any) -> Any:
    """Columns without names, which may be called by their numbers, as the reader of tables calls them."""
    if isinstance(names, str):
        return f"column{int(names)}" if names.isdecimal() else names
    return tuple(_of_numbers(name) for name in names)


class ManyValues(click.Command):
    """A command whose repeatable options also take several values at once: `--target a b`.

    Only words after the arguments and directly after such an option are taken as more values, so the arguments may
    stand before or after the options.
    """

    def parse_args(self, ctx, args):
        """Write `--target a b` as `--target a --target b`, then parse."""
        if ctx.resilient_parsing and args and args[-1].startswith("--"):
            args = args[:-1]  # the shell asks for its value: without it the words before are understood
        ctx.meta[WORDS] = list(args)
        rest = super().parse_args(ctx, self._expanded(args))
        if "no-header" in (ctx.params.get("form") or ()):
            ctx.params |= {name: _of_numbers(ctx.params[name]) for name in COLUMNS if ctx.params.get(name)}
        return rest

    def shell_complete(self, ctx, incomplete):
        """A further value of an option that takes several, or what any command completes."""
        named = [word for word in ctx.meta.get(WORDS, []) if word.startswith("--")]
        option = self._options().get(named[-1]) if named else None
        if option is not None and option.multiple and not incomplete.startswith("-"):
            return option.shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete)

    def _options(self):
        names = ((name, param) for param in self.params for name in (*param.opts, *param.secondary_opts))
        return {name: param for name, param in names if isinstance(param, click.Option)}

    def _expanded(self, args):
        options = self._options()
        missing = sum(param.required for param in self.params if isinstance(param, click.Argument))
        expanded, repeated, waiting = [], None, False
        for word in args:
            option = options.get(word.split("=")[0]) if word.startswith("-") and word != "-" else None
            if waiting:
                waiting = False
            elif option is not None:
                waiting = not option.is_flag and "=" not in word
                repeated = word.split("=")[0] if option.multiple else None
            elif repeated and not missing and not word.startswith("--"):
                expanded.append(repeated)
            else:
                missing = max(0, missing - 1)
            expanded.append(word)
        return expanded
