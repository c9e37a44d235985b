"""Logs of queries in all their forms: each is read line by line, and made into fingerprints."""
