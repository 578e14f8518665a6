"""The command `gradtape`."""

from gradtape._src.cli.commands import main as main
