"""The only code that touches Spark internals: Scala sources, the jar made of them, and the calls into the JVM."""
