"""`gradtape completion`: what a shell needs to complete the command line, made from the parser itself."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping

SHELLS = ("bash", "zsh", "fish")

BASH = """\
_gradtape() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
}}
complete -o default -F _gradtape gradtape
"""
CASE = """\
        {command}) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;"""


def completion(commands: Mapping[str, argparse.ArgumentParser], shell: str) -> str:
    """Return the script that completes gradtape's commands and their options in this shell; files complete as ever."""
    words = {name: " ".join(_words(command.format_help())) for name, command in commands.items()}
    if shell == "fish":
        lines = [f"complete -c gradtape -n __fish_use_subcommand -a '{' '.join(words)}'"]
        lines += [f"complete -c gradtape -n '__fish_seen_subcommand_from {name}' -a '{found}'" for name, found in words.items()]
        return "\n".join(lines) + "\n"
    cases = "\n".join([CASE.format(command=name, words=found) for name, found in words.items()])
    script = BASH.format(commands=" ".join([*words, "--help", "--version"]), cases=cases)
    return script if shell == "bash" else f"autoload -Uz compinit bashcompinit && compinit && bashcompinit\n{script}"


def _words(text: str) -> list[str]:
    """Return the options that a help text names, and the values that an argument may have."""
    values = [value for choices in re.findall(r"\{([\w,]+)\}", text) for value in choices.split(",")]
    return list(dict.fromkeys(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text) + values))
