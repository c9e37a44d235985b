"""Star-trees of more groups than this process should hold: their rows stay in Spark, and their nodes are made here."""
