"""`python -m rtfilter`: the command line, where the script of the same name is not on the PATH."""

from __future__ import annotations

from rtfilter.cli import main

if __name__ == "__main__":
    main()
