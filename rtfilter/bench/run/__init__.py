"""A whole benchmark's runs: their order, whether their rows are right, and what of them is kept while it goes on."""
