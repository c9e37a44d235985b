"""The advisor as Python and the command line offer it: advice on tables, its page, and the building of what somebody names."""
