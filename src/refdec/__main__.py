"""`python -m refdec` is the command `refdec`."""

from refdec.cli.main import main

main()
