"""`python -m gradtape` is the command `gradtape`."""

from gradtape._src.cli import main

main()
