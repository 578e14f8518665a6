"""`gradtape info` and `gradtape completion`, and how commands end."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape
import gradtape_cli
from gradtape._src.cli import info

ROOT = Path(__file__).parents[2]


def lines(capsys, *arguments):
    gradtape_cli.main(arguments)
    return capsys.readouterr().out.splitlines()


def test_info_has_what_a_report_of_a_fault_needs(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADTAPE_CACHE_DIR", str(tmp_path))
    (tmp_path / "gradtape/xla").mkdir(parents=True)
    (tmp_path / "gradtape/xla/program").write_bytes(bytes(2_000_000))
    facts = dict(line.split("  ", 1) for line in lines(capsys, "info"))
    facts = {name: fact.strip() for name, fact in facts.items()}
    assert facts["gradtape"].startswith(gradtape.__version__)
    assert facts["recording in"].split(" ")[0] in ("C", "Python")
    assert facts["Python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert "cpu:0" in facts["devices"]
    assert facts["compiled programs"] == f"{tmp_path / 'gradtape' / 'xla'}: 1 files, 2.0 MB"
    assert facts["extra pictures"] == "installed"
    assert facts["jax"][0].isdigit()


def test_info_knows_the_extras_of_the_page_of_installation():
    page = (ROOT / "docs/start/install.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == info.FOR_USERS


def test_info_lists_the_lowerings(capsys):
    found = lines(capsys, "info", "--lowerings")
    at = found.index("a convolution · cpu · planes.convolved")
    assert found[at + 1].startswith("    three axes")
    assert any(
        line.startswith("compiler options, rounding · other than cpu · xla_allow_excess_precision=False") for line in found
    )


def test_info_says_what_is_missing(capsys, monkeypatch):
    version, missing = info._version, ("matplotlib", "keras", "jax-cuda13-plugin")
    monkeypatch.setattr(info, "_version", lambda package: None if package in missing else version(package))
    monkeypatch.setenv("GRADTAPE_CACHE_DIR", "")
    found = "\n".join(lines(capsys, "info"))
    assert "not installed: matplotlib" in found
    assert "extra gpu          not installed: jax-cuda13-plugin" in found  # the extra of an extra: `jax[cuda13]`
    assert "not kept on disk (GRADTAPE_CACHE_DIR is empty)" in found
    assert next(line for line in found.splitlines() if line.startswith("keras ")).endswith("not installed")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here to complete in")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["wh"], ["why"]),
        (["why", "--h"], ["--html", "--help"]),
        (["completion", ""], ["-h", "--help", "bash", "zsh", "fish"]),
        (["demo", "--e"], ["--epochs"]),
        (["--v"], ["--version"]),
    ],
)
def test_bash_completes(capsys, words, expected):
    script = "\n".join(lines(capsys, "completion", "bash"))
    typed = " ".join(repr(word) for word in ["gradtape", *words])
    asked = f'{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words)}; _gradtape; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(expected)


def test_other_shells_complete_the_same_words(capsys):
    fish = "\n".join(lines(capsys, "completion", "fish"))
    assert "complete -c gradtape -n '__fish_seen_subcommand_from why' -a '-h --html --try-fixes -m --help'" in fish
    assert lines(capsys, "completion", "zsh")[0].startswith("autoload -Uz compinit bashcompinit")


def test_why_ends_with_130_after_ctrl_c(tmp_path, pytestconfig):
    (tmp_path / "script.py").write_text("raise KeyboardInterrupt")
    environment = os.environ | {"PYTHONPATH": str(pytestconfig.rootpath)}
    command = [sys.executable, "-m", "gradtape", "why", "script.py"]
    assert subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120).returncode == 130


@pytest.mark.parametrize("arguments", [["completion", "cmd"], ["why"], ["nothing"], []])
def test_a_wrong_command_line_is_2(arguments, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        gradtape_cli.main(arguments)
    assert "usage: gradtape" in capsys.readouterr().err
