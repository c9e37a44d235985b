"""What is known of a table's packs without Spark, from footers and from indexes, and which packs that rejects.

`rtfilter.store` reads, keeps and judges files by itself; `rtfilter.index` is what a user calls with a session to put indexes there.
"""
