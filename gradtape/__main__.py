"""`python -m gradtape` is the command `gradtape`."""

from gradtape_cli import main

main()
